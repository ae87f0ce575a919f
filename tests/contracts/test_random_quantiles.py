"""What the cdf, the quantiles and the samples of many random distributions at once must do."""

import math

import pytest
import torch
from contracts.random_distributions import DRAWS, few_and_many
from scipy.stats import kstest

from priorfit.distributions import NormalMixture
from priorfit.distributions.double import in_double
from priorfit.metrics.survival import survival
from priorfit.seeding import seeded

all_draws = pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS.keys())
both_precisions = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


def random_levels(dtype, count):
    """From 1e-4 to 1 - 1e-4, as many in each decade of either tail."""
    with seeded(1):
        tail = 10 ** (-4 + (4 + math.log10(0.5)) * torch.rand(count, dtype=torch.float64))
        return torch.where(torch.rand(count) < 0.5, tail, 1 - tail).to(dtype)


@few_and_many
@all_draws
@both_precisions
def test_the_cdf_of_every_quantile_is_its_level_and_none_lies_where_there_is_no_density(draws, dtype, count):
    ppd, levels = draws.distribution(count, dtype=dtype), random_levels(dtype, count)
    quantiles = ppd.icdf(levels)
    assert quantiles.dtype == dtype
    assert (ppd.log_prob(quantiles) > -torch.inf).all()
    # The level lies between the cdf of the next smaller and of the next larger number: where the density jumps, that
    # is what "the density times the spacing of floats" must mean. The cdf is that of the same parameters in float64.
    exact, levels = in_double(ppd), levels.double()
    end = torch.tensor(torch.inf, dtype=dtype)
    below, above = (exact.cdf(torch.nextafter(quantiles, side).double()) for side in (-end, end))
    tolerance = 1e-8 if dtype == torch.float64 else 1e-3 * torch.minimum(levels, 1 - levels)
    assert (below <= levels + tolerance).all()
    assert (above >= levels - tolerance).all()


@few_and_many
@all_draws
def test_float32_rounds_the_cdf_and_keeps_the_digits_of_either_tail(draws, count):
    ppd = draws.distribution(count, dtype=torch.float32)
    exact, y = in_double(ppd), ppd.icdf(random_levels(torch.float32, count))
    below, above = exact.cdf(y.double()), survival(exact, y.double())
    torch.testing.assert_close(ppd.cdf(y).double(), below, rtol=2e-5, atol=0)
    torch.testing.assert_close(survival(ppd, y).double(), above, rtol=2e-5, atol=0)
    torch.testing.assert_close(above, 1 - below, rtol=0, atol=1e-14)


@few_and_many
@all_draws
@both_precisions
def test_samples_follow_the_cdf(draws, dtype, count):
    ppd = draws.distribution(count, dtype=dtype)
    with seeded(2):
        sample = ppd.sample()
    assert (ppd.log_prob(sample) > -torch.inf).all()
    # A narrow bucket or component holds few floats of its own; the level is taken from a random place in the spacing.
    spacing = torch.nextafter(sample, torch.tensor(torch.inf, dtype=dtype)).double() - sample.double()
    with seeded(3):
        place = sample.double() + spacing * (torch.rand(count, dtype=torch.float64) - 0.5)
    assert kstest(in_double(ppd).cdf(place).numpy(), "uniform").pvalue > 1e-3


@few_and_many
@both_precisions
def test_mixtures_have_the_right_tail_quantile(dtype, count):
    with seeded(0):
        logits, loc, log_scale = torch.randn(3, 2 * count, 5, dtype=dtype)
    ppd = NormalMixture(2 * logits, loc, log_scale.exp())
    below = in_double(ppd).cdf(ppd.icdf(0.025).double())
    assert ((below / 0.025 - 1).abs() < (1e-12 if dtype == torch.float64 else 1e-5)).all()
