import pytest
import torch
from contracts.distributions import CASES, REACH, Case, integral
from torch.distributions import Laplace, Normal

from priorfit.errors import InputError
from priorfit.metrics import crps, interval

NORMAL = Case(Normal, (torch.tensor([0.5, -1.0]).double(), torch.tensor([2.0, 0.01]).double()), torch.empty(0))
NORMAL = Case(Normal, NORMAL.parameters, NORMAL.parameters[0] + NORMAL.parameters[1] * REACH[:, None])
SCORED = {**CASES, "normal": NORMAL}
every_case = pytest.mark.parametrize("case", SCORED.values(), ids=SCORED.keys())


@every_case
def test_crps_is_the_integral_of_the_squared_distance_to_the_step(case):
    ppd = case.distribution()
    for share in (-0.1, 0.2, 0.55, 1.05):
        y = ppd.mean + (share - 0.5) * 4 * ppd.stddev
        marks = torch.cat([case.marks, y[None]])
        exact = integral(lambda x, y=y: (ppd.cdf(x) - (x > y).double()) ** 2, marks)
        torch.testing.assert_close(crps(ppd, y), exact, rtol=1e-9, atol=1e-12)


def test_crps_takes_any_shape_of_outcomes():
    ppd = CASES["unbounded_own_borders"].distribution()
    y = torch.randn(7, *ppd.batch_shape).double()
    together = crps(ppd, y)
    assert together.shape == y.shape
    torch.testing.assert_close(together, torch.stack([crps(ppd, one) for one in y]))


def test_crps_of_a_point_like_prediction_is_the_absolute_error():
    assert crps(Normal(0.0, 1e-6), torch.tensor(3.0)).item() == pytest.approx(3.0, abs=1e-5)


def test_crps_of_other_distributions_is_taken_by_their_quantiles():
    ppd = Laplace(torch.zeros(2).double(), 1.0)
    y = torch.tensor([0.3, -2.0], dtype=torch.float64)
    exact = y.abs() + (-y.abs()).exp() - 0.75  # closed form for the standard Laplace
    torch.testing.assert_close(crps(ppd, y), exact, rtol=0, atol=2e-3)


@every_case
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_an_interval_holds_its_level_and_leaves_equal_tails(case, level):
    ppd = case.distribution()
    low, high = interval(ppd, level)
    assert low.shape == high.shape == ppd.batch_shape
    tails = torch.full_like(low, (1 - level) / 2)
    torch.testing.assert_close(ppd.cdf(low), tails, rtol=0, atol=1e-10)
    torch.testing.assert_close(1 - ppd.cdf(high), tails, rtol=0, atol=1e-10)


def test_a_level_beyond_one_is_refused():
    with pytest.raises(InputError, match="level must be a probability from 0 to 1; got 95"):
        interval(Normal(0.0, 1.0), 95)
