import pytest
import torch
from torch.distributions import Distribution, Laplace, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine
from priorfit.distributions.double import in_double
from priorfit.errors import InputError

BORDERS = torch.tensor([-1.0, 0.0, 0.5, 3.0])
LOGITS = torch.tensor([[0.3, -0.2, 1.0], [0.0, 2.0, -1.0]])
SINGLE = {
    "bounded": BoundedRiemann(BORDERS, LOGITS),
    "unbounded": UnboundedRiemann(BORDERS, LOGITS),
    "normal": Normal(torch.tensor([0.25, -1.5]), torch.tensor([0.5, 2.0])),
    "mixture": NormalMixture(LOGITS, torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([0.25, 0.5, 1.0])),
}


@pytest.fixture(params=SINGLE.values(), ids=SINGLE.keys())
def single(request: pytest.FixtureRequest) -> Distribution:
    return request.param


def test_it_is_the_same_density_in_float64(single: Distribution):
    double = in_double(single)
    y = torch.tensor([0.1, 0.3])
    assert type(double) is type(single)
    assert double.mean.dtype == double.log_prob(y.double()).dtype == torch.float64
    torch.testing.assert_close(double.log_prob(y.double()).float(), single.log_prob(y))


def test_a_large_shift_does_not_round_the_density_away(single: Distribution):
    """In float32 the numbers around 1.7e9 are 128 apart."""
    shifted = affine(in_double(single), scale=3.0, shift=1.7e9)
    torch.testing.assert_close(shifted.mean - 1.7e9, 3 * in_double(single).mean, rtol=0, atol=1e-6)
    torch.testing.assert_close(shifted.stddev, 3 * in_double(single).stddev, rtol=1e-6, atol=0)


def test_other_families_are_refused():
    with pytest.raises(
        InputError, match="in_double knows Riemann distributions, Normal and NormalMixture; got Laplace"
    ):
        in_double(Laplace(0.0, 1.0))
