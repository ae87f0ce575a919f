"""What every prior must do."""

import json

import pytest
import torch
from contracts.priors import PRIORS
from scipy.stats import kstest
from torch.distributions import Categorical, Normal

from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import RecipeError
from priorfit.priors import PRIORS as TABLE
from priorfit.priors import FunctionPrior
from priorfit.priors.checks import check_prior
from priorfit.seeding import seeded

SMALL = {"num_points": 8, "batch_size": 16, "num_batches": 16}
"""The smallest check that there is, but for the points."""

every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())


@every_prior
def test_every_draw_has_a_conditional_or_none_has(prior):
    for batch_size in (1, 1, 1, 1, 2, 8):
        assert (prior.sample(batch_size, 3).conditional is not None) == prior.offers_expected


@every_prior
def test_a_sample_has_the_shape_dtype_and_values_it_should(prior):
    with seeded(0):
        datasets = prior.sample(batch_size=5, num_points=7)
    fewest = prior.num_features if prior.fewest_features is None else prior.fewest_features
    assert datasets.x.shape[:2] == datasets.y.shape == (5, 7)
    assert fewest <= datasets.x.shape[2] <= prior.num_features
    assert datasets.y.dtype == datasets.x.dtype == torch.float32
    assert (datasets.x.isfinite() | (datasets.x.isnan() & prior.draws_missing)).all()
    assert datasets.y.isfinite().all()
    if isinstance(prior.outcome, Classes):
        assert set(datasets.y.unique().tolist()) <= set(range(prior.outcome.count))


@every_prior
def test_targets_follow_the_dtype_of_given_inputs(prior):
    x = torch.rand(3, 6, prior.num_features, dtype=torch.float64)
    y = prior.targets(x)
    assert (y.shape, y.dtype) == ((3, 6), torch.float64)


@every_prior
def test_inputs_lie_in_the_range_that_the_prior_says(prior):
    with seeded(1):
        x = prior.sample(batch_size=50, num_points=5).x
    if prior.inputs.range is not None:
        low, high = prior.inputs.range
        assert low <= x.min()
        assert x.max() <= high


@every_prior
def test_one_seed_gives_one_sample_and_another_seed_another(prior):
    samples = []
    for seed in (2, 2, 3):
        with seeded(seed):
            samples.append(prior.sample(batch_size=4, num_points=20))
    assert torch.equal(samples[0].x.nan_to_num(9.0), samples[1].x.nan_to_num(9.0))
    assert torch.equal(samples[0].y, samples[1].y)
    assert not torch.equal(samples[0].y, samples[2].y)


@every_prior
def test_datasets_at_the_same_inputs_differ(prior):
    with seeded(4):
        x = prior.inputs.sample(1, 20, prior.num_features).repeat(8, 1, 1)
        assert len(prior.targets(x).unique(dim=0)) > 1


@every_prior
def test_points_are_exchangeable(prior):
    with seeded(5):
        y = prior.sample(batch_size=2_000, num_points=9).y.double()
    ranks = y.flatten().argsort().argsort().reshape(y.shape).double() / y.numel()  # heavy tails do not matter
    for values in (ranks, (ranks - 0.5).square()):
        difference = values[:, 0] - values[:, -1]
        assert abs(float(difference.mean() / difference.std())) * 2_000**0.5 < 4.5
    near, far = (ranks[:, 0] - ranks[:, 1]).abs(), (ranks[:, 0] - ranks[:, -1]).abs()
    assert abs(float((near - far).mean() / (near - far).std())) * 2_000**0.5 < 4.5


@every_prior
@pytest.mark.parametrize("num_context", [0, 1, 6])
def test_the_conditional_is_the_law_of_the_targets(prior, num_context):
    if not prior.offers_expected:
        pytest.skip("it offers none")
    with seeded(6, num_context):
        batch = prior.sample(batch_size=3_000, num_points=8).split(num_context)
    assert batch.query_law.batch_shape == batch.query_y.shape
    y = batch.query_y[:, -1].double()  # one target a dataset, so that they are independent
    if isinstance(prior.outcome, Real):
        assert isinstance(batch.query_law, Normal)
        check_normal(y, batch.query_law.loc[:, -1].double(), batch.query_law.scale[:, -1].double())
    else:
        assert isinstance(batch.query_law, Categorical)
        check_categorical(y, batch.query_law.probs[:, -1].double())


def check_normal(y, mean, scale):
    known = scale > 0
    assert torch.equal(y[~known], mean[~known]), "a point mass lies at the target"
    z = (y - mean)[known] / scale[known]
    assert kstest(z.numpy(), "norm").pvalue > 1e-3
    slope = z * (mean[known] - mean[known].mean())
    if slope.std() > 0:
        assert abs(float(slope.mean() / slope.std())) * len(slope) ** 0.5 < 4.5


def check_categorical(y, probs):
    assert torch.allclose(probs.sum(-1), torch.ones(1, dtype=torch.float64), atol=1e-6)
    for label in range(probs.shape[-1]):
        p = probs[:, label]
        for weight in (torch.ones_like(p), p - p.mean()):
            error = weight * ((y == label).double() - p)
            deviation = (weight.square() * p * (1 - p)).sum().sqrt()
            assert abs(float(error.sum())) < 4.5 * float(deviation) + 1e-4


@every_prior
def test_a_prior_is_described_and_built_again(prior):
    description = describe(prior)
    assert json.loads(json.dumps(description)) == description
    if any(name in json.dumps(description) for name in ("FunctionPrior", "ProgramPrior", "Empirical")):
        with pytest.raises(RecipeError, match="cannot be built from its description"):
            build(description, TABLE)
    else:
        assert build(description, TABLE) == prior


@every_prior
def test_check_prior_finds_no_fault(prior):
    report = check_prior(prior, **SMALL, seed=0)
    assert report.offers_expected_targets == prior.offers_expected


@pytest.mark.slow
@pytest.mark.timeout(1200)
@every_prior
def test_check_prior_finds_no_fault_in_a_thousand_checks(prior):
    for seed in range(1_000):
        check_prior(prior, **SMALL, seed=seed)


def test_every_prior_of_the_table_is_under_contract():
    tested = json.dumps([describe(prior) for prior in PRIORS.values()])
    assert {name for name in TABLE if f'"{name}"' not in tested} <= {"MixtureInputs", "Real"}
    assert FunctionPrior.__name__ in TABLE
