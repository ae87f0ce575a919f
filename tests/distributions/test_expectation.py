import pytest
import torch
from contracts.distributions import CASES, REACH, integral
from torch.distributions import Categorical, Laplace, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, best_fit, expected_log_prob
from priorfit.distributions.class_probabilities import two_classes
from priorfit.errors import InputError, ShapeError
from priorfit.seeding import seeded

BORDERS = torch.tensor([-2.0, -1.0, -0.2, 0.5, 2.0, 5.0], dtype=torch.float64)
unbounded_cases = pytest.mark.parametrize(
    "name", [name for name in CASES if name.startswith("unbounded") and "empty" not in name]
)


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def by_integral(case, ppd, target, reach=12.0):
    marks = (target.mean + target.stddev * REACH.reshape(-1, *(1,) * target.mean.ndim)).expand(-1, *ppd.batch_shape)
    ends = target.mean - reach * target.stddev, target.mean + reach * target.stddev
    marks = torch.cat([marks, case.marks]).clamp(*ends)
    return integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y), marks)


@unbounded_cases
@pytest.mark.parametrize(("loc", "scale"), [(0.3, 0.5), (-4.0, 2.0), (3.0, 1e-3), (0.0, 10.0), (50.0, 0.1)])
def test_an_unbounded_riemann_against_a_normal_equals_the_integral(name, loc, scale):
    ppd = CASES[name].distribution()
    target = Normal(number(loc), number(scale)).expand(ppd.batch_shape)
    exact = by_integral(CASES[name], ppd, target)
    torch.testing.assert_close(expected_log_prob(ppd, target), exact, rtol=1e-11, atol=1e-10)


def test_an_unbounded_riemann_against_a_mixture_equals_the_integral():
    case = CASES["unbounded_batch"]
    ppd = case.distribution()
    with seeded(0):
        target = NormalMixture(*torch.randn(2, 2, 3, 4, dtype=torch.float64), torch.rand(2, 3, 4).double() + 0.1)
    torch.testing.assert_close(
        expected_log_prob(ppd, target), by_integral(case, ppd, target, reach=30), rtol=0, atol=1e-8
    )


def test_a_bounded_riemann_against_a_normal_within_it_equals_the_integral():
    ppd = BoundedRiemann(BORDERS, torch.randn(5, dtype=torch.float64))
    target = Normal(number(1.0), number(0.05))
    marks = torch.cat([BORDERS, 1 + 0.05 * REACH[REACH.abs() < 13]]).clamp(0.4, 1.6)
    exact = integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y), marks)
    torch.testing.assert_close(expected_log_prob(ppd, target), exact, rtol=0, atol=1e-10)


def test_mass_outside_a_bounded_support_costs_everything():
    ppd = BoundedRiemann(BORDERS, torch.zeros(5).double())
    assert expected_log_prob(ppd, Normal(number(4.0), number(1.0))) == -torch.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [0.0, 1e-40, 1e-30])
@pytest.mark.parametrize("family", [BoundedRiemann, UnboundedRiemann, "mixture"])
def test_a_target_of_almost_no_scale_is_a_point(family, scale, dtype):
    with seeded(0):
        logits = torch.randn(5, dtype=dtype, requires_grad=True)
    loc = torch.tensor([-1.5, 0.1, 1.0, 4.9], dtype=dtype)
    if family == "mixture":
        ppd = NormalMixture(logits, torch.linspace(-2, 2, 5, dtype=dtype), torch.ones(5, dtype=dtype))
    else:
        ppd = family(BORDERS.to(dtype), logits)
    target = Normal(loc, torch.full_like(loc, scale), validate_args=False)
    expected = expected_log_prob(ppd, target)
    torch.testing.assert_close(expected, ppd.log_prob(loc))
    of_expected, of_point = (
        torch.autograd.grad(loss.sum(), logits, retain_graph=True)[0] for loss in (expected, ppd.log_prob(loc))
    )
    torch.testing.assert_close(of_expected, of_point)


@pytest.mark.parametrize("family", [BoundedRiemann, UnboundedRiemann])
def test_a_point_on_a_border_or_beyond_has_its_log_prob(family):
    ppd = family(BORDERS, torch.randn(5).double())
    loc = torch.cat([BORDERS, number([-30.0, 30.0])])
    target = Normal(loc, torch.zeros_like(loc), validate_args=False)
    torch.testing.assert_close(expected_log_prob(ppd, target), ppd.log_prob(loc), rtol=0, atol=0)


def test_an_empty_bucket_counts_only_where_the_target_has_mass():
    logits = number([0.0, 0.0, 0.0, 0.0, -torch.inf]).requires_grad_()
    expected = expected_log_prob(UnboundedRiemann(BORDERS, logits), Normal(number([-1.0, 2.0]), number([0.01, 1.0])))
    assert expected[0].isfinite()
    assert expected[1] == -torch.inf
    (gradient,) = torch.autograd.grad(expected[0], logits)
    assert gradient.isfinite().all()


def test_the_expected_loss_has_the_gradients_of_finite_differences():
    with seeded(0):
        logits = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    borders = BORDERS.clone().requires_grad_()
    loc, scale = number([-2.5, 0.1, 6.0]).requires_grad_(), number([0.3, 0.2, 2.0]).requires_grad_()

    def loss(borders, logits, loc, scale):
        return expected_log_prob(UnboundedRiemann(borders, logits), Normal(loc, scale))

    assert torch.autograd.gradcheck(loss, (borders, logits, loc, scale))


def test_borders_of_each_dataset_give_the_same_as_shared_ones():
    ppd = UnboundedRiemann(BORDERS, torch.randn(2, 3, 5).double())
    own = UnboundedRiemann(BORDERS.expand(2, 1, 6), ppd.logits)
    target = Normal(torch.randn(2, 3).double(), torch.rand(2, 3).double())
    torch.testing.assert_close(expected_log_prob(own, target), expected_log_prob(ppd, target))


@pytest.mark.parametrize("name", ["bounded", "unbounded_batch", "mixture_batch"])
def test_prediction_and_target_may_differ_in_precision(name):
    exact, rounded = CASES[name].distribution(), CASES[name].distribution(torch.float32)
    target = Normal(exact.mean, 1e-2)
    for ppd, other in ((rounded, target), (exact, Normal(target.loc.float(), target.scale.float()))):
        torch.testing.assert_close(
            expected_log_prob(ppd, other).double(), expected_log_prob(exact, target), rtol=0, atol=1e-3
        )
        torch.testing.assert_close(best_fit(ppd, other).mean.double(), best_fit(exact, target).mean, rtol=0, atol=1e-5)


def test_float32_with_1000_buckets_is_exact_to_its_rounding():
    borders = Normal(0.0, 1.0).icdf(torch.linspace(0.0005, 0.9995, 1001))
    with seeded(0):
        logits, loc, scale = torch.randn(50, 1000), torch.randn(50), torch.rand(50)
    rounded = expected_log_prob(UnboundedRiemann(borders, logits), Normal(loc, scale))
    exact = expected_log_prob(UnboundedRiemann(borders.double(), logits.double()), Normal(loc.double(), scale.double()))
    assert (rounded - exact).abs().max() < 2e-5


def test_a_normal_against_any_target_needs_its_two_moments():
    ppd, target = Normal(number(0.3), number(2.0)), Normal(number(-1.0), number(0.5))
    exact = integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y), -1 + 0.5 * REACH[REACH.abs() < 13])
    torch.testing.assert_close(expected_log_prob(ppd, target), exact)
    laplace = Laplace(number(0.3), number(0.5))
    torch.testing.assert_close(expected_log_prob(ppd, laplace), -0.5 / 8 - number(2 * torch.pi * 4.0).log() / 2)


def test_a_mixture_against_a_normal_is_good_to_a_millionth():
    case = CASES["mixture_batch"]
    ppd = case.distribution()
    target = Normal(torch.zeros(2, 3).double(), 0.2)
    error = expected_log_prob(ppd, target) - by_integral(case, ppd, target)
    assert error.abs().max() < 1e-6


def test_more_nodes_see_peaks_narrower_than_the_target():
    ppd = NormalMixture(number([0.0, 0.0]), number([0.1, 0.5]), number([1.0, 0.05]))
    target = Normal(number(0.0), number(0.5))
    marks = torch.cat([0.5 * REACH, 0.5 + 0.05 * REACH]).clamp(-6, 6)
    exact = integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y), marks)
    torch.testing.assert_close(expected_log_prob(ppd, target, num_nodes=256), exact, rtol=0, atol=1e-6)
    assert 1e-3 < (expected_log_prob(ppd, target) - exact).abs() < 0.05  # the limit that the docstring states


def test_other_targets_are_taken_by_their_quantiles():
    ppd = CASES["unbounded"].distribution()
    target = Laplace(number(0.2), number(0.7))
    marks = torch.cat([CASES["unbounded"].marks, 0.2 + REACH]).clamp(-25, 25)
    exact = integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y), marks)
    assert expected_log_prob(ppd, target).item() == pytest.approx(exact.item(), abs=1e-2)


def test_classes_are_summed_over():
    probs = torch.tensor([[0.2, 0.8], [1.0, 0.0]])
    prediction = torch.tensor([[0.4, 0.6], [1.0, 0.0]])
    exact = torch.tensor([0.2, 0.8]) @ torch.tensor([0.4, 0.6]).log()
    expected = expected_log_prob(Categorical(prediction), Categorical(probs))
    torch.testing.assert_close(expected, torch.tensor([exact.item(), 0.0]), rtol=1e-5, atol=1e-6)


def test_two_classes_of_extreme_log_odds_keeps_finite_gradients():
    logits = torch.tensor([-200.0, 200.0], requires_grad=True)
    target = Categorical(torch.tensor([[0.5, 0.5], [0.5, 0.5]]))
    expected = expected_log_prob(two_classes(logits), target)
    torch.testing.assert_close(expected, torch.tensor([-100.0, -100.0]))
    expected.sum().backward()
    torch.testing.assert_close(logits.grad, torch.tensor([0.5, -0.5]))


def test_targets_that_are_no_classes_or_too_many_are_refused():
    with pytest.raises(ShapeError, match="the 2 classes of the prediction; got 3"):
        expected_log_prob(Categorical(torch.ones(2)), Categorical(torch.ones(3)))
    with pytest.raises(InputError, match="a distribution over classes"):
        expected_log_prob(Categorical(torch.ones(2)), Normal(0.0, 1.0))


def test_no_other_buckets_are_closer_than_the_best_fit():
    ppd = UnboundedRiemann(BORDERS, torch.zeros(5).double())
    target = Normal(number(0.3), number(1.0))
    best = best_fit(ppd, target)
    with seeded(0):
        others = UnboundedRiemann(BORDERS, best.log_probs + 0.1 * torch.randn(100, 5).double())
    assert (expected_log_prob(others, target) <= expected_log_prob(best, target)).all()


def test_the_best_fit_of_a_family_without_borders_is_the_target():
    target = Normal(0.0, 1.0)
    assert best_fit(Normal(1.0, 1.0), target) is target
