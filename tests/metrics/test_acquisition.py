import pytest
import torch
from contracts.distributions import CASES, integral
from torch.distributions import Laplace, Normal

from priorfit.errors import InputError
from priorfit.metrics import expected_improvement, probability_of_improvement, upper_confidence_bound

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
both_goals = pytest.mark.parametrize("goal", ["minimise", "maximise"])


@every_case
@both_goals
def test_improvements_equal_their_integrals(case, goal):
    ppd = case.distribution()
    sign = 1 if goal == "maximise" else -1
    for share in (-1.0, 0.0, 0.3, 1.4):
        best = ppd.mean + share * ppd.stddev
        marks = torch.cat([case.marks, best[None]])

        def better(y, best=best):
            return (sign * (y - best)).clamp(min=0)

        def density(y):
            return ppd.log_prob(y).exp()

        expected = integral(lambda y: density(y) * better(y), marks)
        probability = integral(lambda y: density(y) * (better(y) > 0), marks)
        torch.testing.assert_close(expected_improvement(ppd, best, goal=goal), expected, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(probability_of_improvement(ppd, best, goal=goal), probability, rtol=0, atol=1e-10)


@both_goals
@pytest.mark.parametrize("name", ["unbounded", "mixture"])
def test_far_tails_keep_their_digits(name, goal):
    ppd = CASES[name].distribution()
    best = ppd.icdf(torch.tensor(1e-12 if goal == "minimise" else 1 - 1e-12, dtype=torch.float64))
    assert probability_of_improvement(ppd, best, goal=goal).item() == pytest.approx(1e-12, rel=1e-3)
    assert 0 < expected_improvement(ppd, best, goal=goal) < 1e-11


def test_the_bound_is_optimistic_for_either_goal():
    ppd = Normal(torch.zeros(3), 2.0)
    torch.testing.assert_close(upper_confidence_bound(ppd, 0.975, goal="maximise"), torch.full((3,), 2 * 1.959964))
    torch.testing.assert_close(upper_confidence_bound(ppd, 0.975, goal="minimise"), torch.full((3,), -2 * 1.959964))


@both_goals
def test_other_distributions_are_taken_by_their_quantiles(goal):
    ppd = Laplace(torch.tensor(0.0), torch.tensor(1.0))
    assert expected_improvement(ppd, torch.tensor(0.0), goal=goal).item() == pytest.approx(0.5, abs=2e-3)
    assert probability_of_improvement(ppd, torch.tensor(0.0), goal=goal).item() == pytest.approx(0.5)


def test_gradients_of_the_improvement_are_those_of_finite_differences():
    case = CASES["unbounded"]
    leaves = [parameter.clone().requires_grad_() for parameter in case.parameters]
    best = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)

    def improvement(best, *parameters):
        return expected_improvement(case.family(*parameters), best, goal="maximise")

    assert torch.autograd.gradcheck(improvement, (best, *leaves))


def test_an_unknown_goal_or_level_is_refused():
    with pytest.raises(InputError, match="level must be a probability"):
        upper_confidence_bound(Normal(0.0, 1.0), 2.0, goal="maximise")
