"""What entropy, mode, scores and expectations of many random distributions at once must do."""

import pytest
import torch
from contracts.distributions import REACH, integral
from contracts.random_distributions import DRAWS, OWN, few_and_many
from torch.distributions import Normal

from priorfit.distributions import NormalMixture, best_fit, expected_log_prob, stratified_log_prob
from priorfit.distributions.bucket_masses import bucket_masses
from priorfit.distributions.double import in_double
from priorfit.metrics import crps, interval
from priorfit.metrics.intervals import half_mean_difference
from priorfit.metrics.partial_means import mean_excess, mean_shortfall
from priorfit.metrics.survival import survival
from priorfit.seeding import seeded

INTEGRALS = 100
all_draws = pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS.keys())
mixtures = pytest.mark.parametrize("name", [name for name in DRAWS if "mixtures" in name])
buckets = pytest.mark.parametrize("name", ["bounded", "unbounded"])


def outcomes(ppd):
    """Quantiles of random levels, and for a fifth of the distributions points up to many deviations away."""
    with seeded(5):
        levels = torch.rand(ppd.batch_shape, dtype=torch.float64)
        away = ppd.mean + 3 * ppd.stddev * torch.randn(ppd.batch_shape, dtype=torch.float64)
        return torch.where(torch.rand(ppd.batch_shape) < 0.2, away, ppd.icdf(levels)).detach()


@all_draws
def test_mass_moments_entropy_and_scores_equal_their_integrals(draws):
    case = draws.case(INTEGRALS)
    ppd = case.distribution()
    y, spread = outcomes(ppd), ppd.stddev
    marks = torch.cat([case.marks, y[None]])

    def expectation(function):
        return integral(lambda x: ppd.log_prob(x).exp() * function(x), marks)

    def distance(found, exact):
        return ((found - exact).abs() / spread).max()

    assert (expectation(torch.ones_like) - 1).abs().max() < 1e-11
    assert distance(expectation(lambda x: x - ppd.mean), torch.zeros(())) < 1e-8
    assert distance(expectation(lambda x: (x - ppd.mean) ** 2).sqrt(), spread) < 1e-8
    surprise = expectation(lambda x: -ppd.log_prob(x).clamp(min=-1e300))
    torch.testing.assert_close(ppd.entropy(), surprise, rtol=0, atol=1e-9)
    assert distance(mean_excess(ppd, y), expectation(lambda x: (x - y).clamp(min=0))) < 1e-10
    exact = integral(lambda x: (ppd.cdf(x) - (x > y).double()) ** 2, marks)
    torch.testing.assert_close(crps(ppd, y), exact, rtol=1e-9, atol=0)


@few_and_many
@all_draws
def test_partial_means_differ_by_the_distance_to_the_mean_and_have_the_tails_as_slopes(draws, count):
    ppd = draws.distribution(count)
    y = outcomes(ppd).requires_grad_()
    shortfall, excess = mean_shortfall(ppd, y), mean_excess(ppd, y)
    (falling,) = torch.autograd.grad(shortfall.sum(), y, retain_graph=True)
    (rising,) = torch.autograd.grad(excess.sum(), y)
    torch.testing.assert_close(falling, ppd.cdf(y), rtol=0, atol=1e-11)
    torch.testing.assert_close(rising, -survival(ppd, y), rtol=0, atol=1e-11)
    unit = ppd.stddev + (y - ppd.mean).abs() + 1e-3 * ppd.mean.abs()  # the mean is rounded in units of itself
    assert (((shortfall - excess) - (y - ppd.mean)).abs() / unit).max() < 1e-11
    assert (shortfall >= 0).all()
    assert (excess >= 0).all()


@few_and_many
@all_draws
def test_float32_scores_agree_with_float64(draws, count):
    ppd = draws.distribution(count, dtype=torch.float32)
    exact = in_double(ppd)
    y = outcomes(exact).float()
    for score in (crps, mean_excess, mean_shortfall):
        found, right = score(ppd, y).double(), score(exact, y.double())
        assert ((found - right).abs() <= 1e-5 * (exact.stddev + right)).all()
    assert (crps(ppd, y) >= 0).all()
    assert ((half_mean_difference(ppd).double() / half_mean_difference(exact) - 1).abs() < 1e-3).all()


@all_draws
def test_float32_moments_and_entropy_agree_with_float64(draws):
    ppd = draws.distribution(1_000, dtype=torch.float32)
    exact = in_double(ppd)
    size = exact.mean.abs() + exact.stddev
    assert ((ppd.mean - exact.mean).abs() <= 1e-5 * exact.stddev + 4e-7 * (size + exact.icdf(0.999).abs())).all()
    assert ((ppd.stddev / exact.stddev - 1).abs() <= 1e-3 + (4e-6 * size / exact.stddev) ** 2).all()
    torch.testing.assert_close(ppd.entropy().double(), exact.entropy(), rtol=0, atol=1e-5)


@all_draws
def test_float32_intervals_leave_equal_tails_that_are_less_than_the_spacing_at_one(draws):
    ppd = draws.distribution(5_000, dtype=torch.float32)
    exact, end = in_double(ppd), torch.tensor(torch.inf)
    for level in (0.5, 0.999, 1 - 1e-7):
        low, high = interval(ppd, level)
        assert low.dtype == high.dtype == torch.float32
        for point, tail in ((low, exact.cdf), (high, lambda y: survival(exact, y))):
            masses = torch.stack([tail(torch.nextafter(point, side).double()) for side in (-end, end)])
            assert (masses.amin(0) <= 1.001 * (1 - level) / 2).all()
            assert (masses.amax(0) >= 0.999 * (1 - level) / 2).all()


@mixtures
def test_no_point_of_a_mixture_is_denser_than_the_mode(name):
    ppd = DRAWS[name].distribution(5_000, seed=7)
    highest = ppd.log_prob(ppd.mode)
    for reach in torch.arange(-3, 3.25, 0.25):
        around = (ppd.loc + reach * ppd.scale).movedim(-1, 0)
        assert (ppd.log_prob(around) <= highest + 1e-9).all()


def narrow_and_wide_targets(ppd):
    """Normals around a random border of each distribution, or on it."""
    count = ppd.batch_shape[0]
    with seeded(6):
        border = ppd.borders.gather(-1, torch.randint(ppd.borders.shape[-1], (count, 1)))[:, 0]
        spread, scale = 10 ** (5 * torch.rand(2, count, dtype=torch.float64) - 4)
        away = spread * torch.randn(count, dtype=torch.float64) * (torch.rand(count) < 0.9)
    return Normal((border + away).to(border.dtype), scale.to(border.dtype))


@few_and_many
@buckets
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_bucket_masses_are_those_of_the_normal(name, dtype, count):
    ppd = OWN[name].distribution(count, dtype=dtype)
    target = narrow_and_wide_targets(ppd)
    masses = bucket_masses(target, ppd.borders[..., 1:-1])
    depth = (ppd.borders[..., 1:-1].double() - target.loc.double()[:, None]) / target.scale.double()[:, None]
    below, above = (torch.special.erfc(side * depth * 0.5**0.5) / 2 for side in (-1, 1))
    ends = torch.zeros_like(below[:, :1])
    below, above = torch.cat([ends, below, ends + 1], -1), torch.cat([ends + 1, above, ends], -1)
    exact = torch.where(below[:, 1:] < 0.5, below.diff(dim=-1), -above.diff(dim=-1))
    assert (masses >= 0).all()
    assert (masses - exact).abs().max() < 4 * torch.finfo(dtype).eps


@buckets
def test_expected_log_densities_equal_their_integrals(name):
    case = OWN[name].case(2_000)
    ppd = case.distribution()
    target = narrow_and_wide_targets(ppd)
    around = target.loc + target.scale * REACH.reshape(-1, 1)
    marks = torch.cat([case.marks.clamp(around[0], around[-1]), around]).sort(0).values
    exact = integral(lambda y: target.log_prob(y).exp() * ppd.log_prob(y).clamp(min=-1e200), marks)
    found = expected_log_prob(ppd, target)
    reached = found > -torch.inf  # else there is mass where the prediction has none
    assert reached.sum() > 100
    assert (exact[reached] > -1e100).all()
    torch.testing.assert_close(found[reached], exact[reached], rtol=1e-9, atol=1e-9)
    missed = bucket_masses(target, ppd.borders if name == "bounded" else ppd.borders[..., 1:-1])
    holes = torch.nn.functional.pad(ppd.probs == 0, (1, 1) if name == "bounded" else (0, 0), value=True)
    assert torch.equal(~reached, (missed * holes).sum(-1) > 0)


@few_and_many
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@buckets
def test_no_fit_is_better_than_the_best_and_none_is_nan(name, dtype, count):
    ppd = OWN[name].distribution(count, dtype=dtype)
    target = narrow_and_wide_targets(ppd)
    best = best_fit(ppd, target)
    assert not best.probs.isnan().any()
    reached, given = expected_log_prob(best, target), expected_log_prob(ppd, target)
    assert not (reached.isnan() | given.isnan() | (given == torch.inf)).any()
    assert (given <= reached + 1e-5 * (1 + reached.abs().nan_to_num(posinf=0))).all()
    truth = target.entropy()
    assert (reached <= -truth + 1e-5 * (1 + truth.abs())).all()


@few_and_many
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_the_lattice_of_a_draw_has_no_bias(dtype, count):
    ppd = NormalMixture(*(part.to(dtype) for part in OWN["usual_mixtures"].parameters(count, seed=0)))
    with seeded(8):
        target = Normal(torch.randn(count, dtype=dtype), torch.rand(count, dtype=dtype) + 0.01)
        drawn = target.sample()
    estimate = stratified_log_prob(ppd, target, drawn).double()
    # 256 nodes for each target, in pieces that fit into memory
    pieces = torch.arange(count).split(10_000)
    exact = torch.cat([_expectation(ppd, target, piece) for piece in pieces])
    difference = estimate - exact
    assert difference.mean().abs() < 4 * difference.std() / count**0.5
    assert difference.std() < 0.5


def _expectation(ppd, target, rows):
    some = NormalMixture(*(part[rows].double() for part in (ppd.logits, ppd.loc, ppd.scale)))
    return expected_log_prob(some, Normal(target.loc[rows].double(), target.scale[rows].double()), num_nodes=64)
