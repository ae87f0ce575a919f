import pytest
import torch

from priorfit.baselines import ExactBetaBernoulli, ExactGP, ExactLinear, exact
from priorfit.baselines.exact.dispatch import exact_or_none
from priorfit.errors import InputError
from priorfit.predictor import predict
from priorfit.priors import (
    BayesianNetwork,
    BetaBernoulli,
    Binarized,
    GaussianProcess,
    HyperGaussianProcess,
    LinearRegression,
    Mixture,
    Standardized,
)
from priorfit.priors.function import prior
from priorfit.seeding import seeded


@pytest.mark.parametrize(
    ("prior", "predictor"),
    [
        (GaussianProcess(lengthscale=0.2), ExactGP(GaussianProcess(lengthscale=0.2))),
        (LinearRegression(), ExactLinear(LinearRegression())),
        (BetaBernoulli(), ExactBetaBernoulli(BetaBernoulli())),
        (Mixture([GaussianProcess(), LinearRegression()]), None),
        (Mixture([Standardized(GaussianProcess())]), None),
        (Standardized(GaussianProcess()), None),
        (Binarized(GaussianProcess()), None),
        (prior(num_features=1)(lambda x: x[..., 0]), None),
    ],
)
def test_a_prior_has_its_exact_predictor_or_none(prior, predictor):
    assert exact_or_none(prior) == predictor
    if predictor is not None:
        assert exact(prior) == predictor


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Standardized(GaussianProcess()), "known for Standardized.*GaussianProcess, LinearRegression.*verify"),
        (Mixture([GaussianProcess(), LinearRegression()]), "known for Mixture.*share their inputs"),
        (HyperGaussianProcess(), "known for HyperGaussianProcess.*HyperGPOracle"),
        (BayesianNetwork(), "known for BayesianNetwork.*CollapsedBNN.*NutsBNN"),
        (prior(num_features=1, name="ramps")(lambda x: x[..., 0]), "known for ramps"),
    ],
)
def test_a_prior_without_a_closed_form_is_refused_with_what_to_use(prior, message):
    with pytest.raises(InputError, match=message):
        exact(prior)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("wrong", ["gp-rbf-1d", None, GaussianProcess])
def test_what_is_no_prior_has_no_exact_answer(wrong):
    with pytest.raises(InputError, match="exact takes a prior.*got"):
        exact(wrong)


@pytest.mark.parametrize("prior", [GaussianProcess(noise=0.1), LinearRegression(num_features=2), BetaBernoulli()])
def test_the_expected_target_has_the_mean_of_the_exact_predictive(prior):
    """Averaged over the latents, the density of the target is that of the exact predictive (here at n = 0)."""
    with seeded(0):
        batch = prior.sample(batch_size=20_000, num_points=1).split(0)
    ppd = predict(exact(prior), batch)
    for point in (torch.tensor(0.0), torch.tensor(1.0)):
        expected, exactly = batch.query_law.log_prob(point).exp(), ppd.log_prob(point).exp()
        difference = (expected - exactly).double()
        assert abs(float(difference.mean())) < 4.5 * float(difference.std()) / 20_000**0.5 + 1e-7


@pytest.mark.parametrize("prior", [GaussianProcess(noise=0.1), LinearRegression(num_features=2), BetaBernoulli()])
def test_no_shifted_predictor_is_better_than_the_exact_one(prior):
    with seeded(1):
        batch = prior.sample(batch_size=3_000, num_points=6).split(5)
    nll = -predict(exact(prior), batch).log_prob(batch.query_y)
    worse = exact(prior).condition(batch.context_x[:, :2], batch.context_y[:, :2])
    gap = -worse.predict(batch.query_x).log_prob(batch.query_y) - nll
    assert float(gap.mean()) > 2 * float(gap.std()) / 3_000**0.5
