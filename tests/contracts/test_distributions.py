"""What every distribution of reals must do: all of it agrees with one density."""

import pytest
import torch
from contracts.distributions import CASES, integral
from scipy.stats import kstest
from torch.autograd import gradcheck

from priorfit.distributions import affine
from priorfit.seeding import seeded

ILL_SCALED = {"bounded_narrow", "mixture_far_apart", "unbounded_1000"}  # no step of finite differences suits them

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
well_scaled_case = pytest.mark.parametrize(
    "case",
    [case for name, case in CASES.items() if name not in ILL_SCALED],
    ids=[name for name in CASES if name not in ILL_SCALED],
)
FINITE_DIFFERENCES = {"eps": 1e-7, "atol": 1e-4, "rtol": 1e-4, "fast_mode": True}
LEVELS = torch.tensor([1e-6, 1e-3, 0.07, 0.25, 0.5, 0.777, 0.999, 1 - 1e-6], dtype=torch.float64)


def column(values, ppd):
    return values.reshape(-1, *(1,) * len(ppd.batch_shape))


def differentiable(case):
    """The parameters as leaves, and how to build the distribution from them."""
    leaves = tuple(parameter.clone().requires_grad_() for parameter in case.parameters)
    return leaves, lambda *parameters: case.family(*parameters, validate_args=False)


@every_case
def test_the_density_integrates_to_one(case):
    ppd = case.distribution()
    torch.testing.assert_close(
        integral(lambda y: ppd.log_prob(y).exp(), case.marks),
        torch.ones(ppd.batch_shape, dtype=torch.float64),
        rtol=0,
        atol=1e-11,
    )


@every_case
def test_the_cdf_is_the_integral_of_the_density(case):
    ppd = case.distribution()
    for share in (0.2, 0.5, 0.9):
        end = case.marks[0] + (case.marks[-1] - case.marks[0]) * share
        marks = torch.minimum(case.marks, end)
        marks = torch.cat([marks, end[None]])
        below = integral(lambda y: ppd.log_prob(y).exp(), marks)
        torch.testing.assert_close(ppd.cdf(end), below, rtol=0, atol=1e-10)


@every_case
def test_the_slope_of_the_cdf_is_the_density(case):
    ppd = case.distribution()
    y = ppd.icdf(column(LEVELS, ppd) * 0.98 + 0.01).detach().requires_grad_()
    (slope,) = torch.autograd.grad(ppd.cdf(y).sum(), y)
    torch.testing.assert_close(slope, ppd.log_prob(y).exp(), rtol=1e-9, atol=1e-12)


@every_case
def test_cdf_and_icdf_are_inverse(case):
    ppd = case.distribution()
    levels = column(LEVELS, ppd).expand(-1, *ppd.batch_shape)
    torch.testing.assert_close(ppd.cdf(ppd.icdf(levels)), levels, rtol=0, atol=1e-12)


@every_case
def test_icdf_gives_the_ends_of_the_support_and_nan_beyond(case):
    ppd = case.distribution()
    low, high, beyond = ppd.icdf(column(torch.tensor([0.0, 1.0, 1.5]).double(), ppd))
    lower, upper = getattr(ppd.support, "lower_bound", -torch.inf), getattr(ppd.support, "upper_bound", torch.inf)
    assert (low == lower).all()
    assert (high == upper).all()
    assert beyond.isnan().all()


@every_case
def test_moments_and_entropy_equal_their_integrals(case):
    ppd = case.distribution()

    def expectation(function):
        return integral(lambda y: ppd.log_prob(y).exp() * function(y), case.marks)

    mean = expectation(lambda y: y)
    torch.testing.assert_close(ppd.mean, mean, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(ppd.variance, expectation(lambda y: (y - mean) ** 2), rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(ppd.stddev**2, ppd.variance)
    surprise = expectation(lambda y: -ppd.log_prob(y).clamp(min=-1e300))
    torch.testing.assert_close(ppd.entropy(), surprise, rtol=0, atol=1e-9)


@every_case
def test_no_point_is_denser_than_the_mode(case):
    ppd = case.distribution()
    spread = torch.linspace(0, 1, 37, dtype=torch.float64).reshape(-1, 1, *(1,) * len(ppd.batch_shape))
    points = case.marks[:-1] + case.marks.diff(dim=0) * spread
    beside = 1e-9 * (case.marks[-1] - case.marks[0])  # a tail is highest where it starts, at a border
    highest = torch.stack([ppd.log_prob(ppd.mode + side * beside) for side in (-1, 0, 1)]).amax(0)
    assert (highest >= ppd.log_prob(points).flatten(0, 1).amax(0) - 1e-9).all()


@every_case
def test_half_of_the_probability_is_below_the_median(case):
    ppd = case.distribution()
    torch.testing.assert_close(ppd.cdf(ppd.median), torch.full(ppd.batch_shape, 0.5, dtype=torch.float64))


@every_case
def test_samples_follow_the_cdf(case):
    ppd = case.distribution()
    with seeded(1):
        sample = ppd.sample((2000,))
    assert sample.shape == (2000, *ppd.batch_shape)
    for levels in ppd.cdf(sample).flatten(1).T if ppd.batch_shape else [ppd.cdf(sample)]:
        assert kstest(levels.numpy(), "uniform").pvalue > 1e-4


@well_scaled_case
def test_log_prob_cdf_and_icdf_have_the_gradients_of_finite_differences(case):
    leaves, build = differentiable(case)
    ppd = case.distribution()
    levels = torch.tensor([0.043, 0.41, 0.87], dtype=torch.float64)
    y = ppd.icdf(column(levels, ppd)).detach().requires_grad_()
    level = column(levels, ppd).clone().requires_grad_()
    assert gradcheck(lambda y, *p: build(*p).cdf(y), (y, *leaves), **FINITE_DIFFERENCES)
    assert gradcheck(lambda y, *p: build(*p).log_prob(y), (y, *leaves), **FINITE_DIFFERENCES)
    assert gradcheck(lambda level, *p: build(*p).icdf(level), (level, *leaves), **FINITE_DIFFERENCES)


@well_scaled_case
def test_moments_and_entropy_have_the_gradients_of_finite_differences(case):
    leaves, build = differentiable(case)
    for moment in ("mean", "variance"):
        assert gradcheck(lambda *p, name=moment: getattr(build(*p), name), leaves, **FINITE_DIFFERENCES)
    assert gradcheck(lambda *p: build(*p).entropy(), leaves, **FINITE_DIFFERENCES)


@every_case
def test_reparametrised_samples_move_as_the_quantiles_of_their_levels(case):
    leaves, build = differentiable(case)
    with seeded(2):
        ppd = build(*leaves)
        sample = ppd.rsample((3,))
    level = ppd.cdf(sample).detach()
    of_sample = torch.autograd.grad(sample.sum(), leaves, allow_unused=True)
    of_quantile = torch.autograd.grad(build(*leaves).icdf(level).sum(), leaves, allow_unused=True)
    for sampled, quantile in zip(of_sample, of_quantile, strict=True):
        assert sampled is not None
        torch.testing.assert_close(sampled, quantile, rtol=1e-5, atol=1e-8)


@every_case
def test_float32_agrees_with_float64(case):
    exact, rounded = case.distribution(), case.distribution(torch.float32)
    levels = torch.tensor([0.02, 0.3, 0.5, 0.83, 0.99])
    y = rounded.icdf(column(levels, rounded))
    assert y.dtype == torch.float32
    assert rounded.log_prob(y).dtype == torch.float32
    width = exact.stddev
    steps = rounded.log_prob(y).exp() * y.abs() * torch.finfo(torch.float32).eps  # from one number to the next
    assert ((rounded.cdf(y) - column(levels, rounded)).abs() <= 1e-6 + 4 * steps).all()
    assert ((rounded.mean - exact.mean) / width).abs().max() < 3e-4  # the parameters themselves are rounded
    assert ((rounded.stddev - exact.stddev) / width).abs().max() < 3e-4
    torch.testing.assert_close(rounded.entropy().double(), exact.entropy(), rtol=0, atol=2e-4)


@every_case
def test_expanding_repeats_the_distribution(case):
    ppd = case.distribution()
    expanded = ppd.expand((7, *ppd.batch_shape))
    y = ppd.icdf(torch.tensor(0.3).double())
    assert type(expanded) is type(ppd)
    assert expanded.batch_shape == (7, *ppd.batch_shape)
    torch.testing.assert_close(expanded.log_prob(y), ppd.log_prob(y).expand(7, *ppd.batch_shape))
    torch.testing.assert_close(expanded.mean, ppd.mean.expand(7, *ppd.batch_shape))
    assert expanded.sample((2,)).shape == (2, 7, *ppd.batch_shape)


@every_case
def test_nan_stays_nan(case):
    ppd = case.distribution()
    nan = torch.tensor(torch.nan, dtype=torch.float64)
    for answer in (ppd.log_prob(nan), ppd.cdf(nan), ppd.icdf(nan)):
        assert answer.shape == ppd.batch_shape
        assert answer.isnan().all()


@every_case
def test_infinite_values_have_no_density(case):
    ppd = case.distribution()
    low, high = (torch.tensor(end, dtype=torch.float64) for end in (-torch.inf, torch.inf))
    assert (ppd.log_prob(low) == -torch.inf).all()
    assert (ppd.log_prob(high) == -torch.inf).all()
    assert (ppd.cdf(low) == 0).all()
    torch.testing.assert_close(ppd.cdf(high), torch.ones(ppd.batch_shape, dtype=torch.float64))


@every_case
@pytest.mark.parametrize("scale", [2.5, -0.3])
def test_an_affine_map_changes_variables(case, scale):
    ppd = case.distribution()
    with seeded(3):
        scales = scale * (0.5 + torch.rand(ppd.batch_shape, dtype=torch.float64))
        shifts = torch.randn(ppd.batch_shape, dtype=torch.float64)
    moved = affine(ppd, scales, shifts)
    y = ppd.icdf(column(LEVELS[1:-1], ppd))
    moved_y = scales * y + shifts
    torch.testing.assert_close(moved.log_prob(moved_y), ppd.log_prob(y) - scales.abs().log(), rtol=1e-7, atol=1e-7)
    below = ppd.cdf(y) if scale > 0 else 1 - ppd.cdf(y)
    torch.testing.assert_close(moved.cdf(moved_y), below, rtol=0, atol=1e-8)
    torch.testing.assert_close(moved.mean, scales * ppd.mean + shifts)
    torch.testing.assert_close(moved.stddev, scales.abs() * ppd.stddev, rtol=1e-6, atol=0)
    torch.testing.assert_close(moved.entropy(), ppd.entropy() + scales.abs().log(), rtol=0, atol=1e-8)


@every_case
def test_values_broadcast_along_batch_axes_of_size_one(case):
    ppd = case.distribution()
    single = ppd.expand((1, *ppd.batch_shape))
    values = ppd.icdf(column(LEVELS, ppd))  # (levels, *batch)
    for function in ("log_prob", "cdf"):
        torch.testing.assert_close(getattr(single, function)(values), getattr(ppd, function)(values))
    levels = column(LEVELS, ppd).expand(-1, *ppd.batch_shape)
    torch.testing.assert_close(single.icdf(levels), values)


@every_case
@pytest.mark.parametrize("validate_args", [True, False])
def test_nan_stays_nan_at_its_place_alone_whether_or_not_arguments_are_validated(case, validate_args):
    """torch's own distributions refuse NaN where they validate; a missing target must not cost the others' scores."""
    ppd = case.family(*case.parameters, validate_args=validate_args)
    for each in (ppd, affine(ppd, torch.tensor(2.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64))):
        y, levels = (part.expand(2, *each.batch_shape).clone() for part in (each.mean, torch.full_like(each.mean, 0.3)))
        for method, values in ((each.log_prob, y), (each.cdf, y), (each.icdf, levels)):
            spoilt = values.clone()
            spoilt[0] = torch.nan
            found = method(spoilt)
            assert found[0].isnan().all()
            assert torch.equal(found[1], method(values)[1])
