import math
import warnings
from itertools import product

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import gamma

from priorfit.baselines import MLE2GP, ExactGP
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gp import botorch_gp
from priorfit.errors import FitError, InputError
from priorfit.predictor import predict
from priorfit.priors import Gamma, GaussianProcess, HyperGaussianProcess
from priorfit.priors.gaussian_process import draw_gaussian
from priorfit.priors.hyper_gaussian_process import Hyperparameters
from priorfit.seeding import seeded

PAPERS = HyperGaussianProcess()
NOISY = HyperGaussianProcess(num_features=2, kernel="matern32", noise_prior=Gamma(1.5, 3.0))
STARTS = list(product((-2.5, -0.5), (0.0, 2.5), (-14.0, -3.0)))
"""Logarithms of lengthscale, outputscale and draw."""
SMALL = 1e-30
"""A draw that changes no covariance in floating point."""


def tasks(prior, batch_size, num_context, num_query=3, seed=0):
    with seeded(seed):
        x = prior.inputs.sample(batch_size, num_context + num_query, prior.num_features).double()
        return prior.draw(x).split(num_context)


def noisy_tasks(noise, batch_size, num_context, num_query=3):
    """Datasets of the paper's prior, but all with a noise that it hardly ever draws."""
    with seeded(1):
        drawn = PAPERS.hyperparameters(batch_size)
        drawn = Hyperparameters(drawn.lengthscale, drawn.outputscale, torch.full_like(drawn.noise, noise))
        x = torch.rand(batch_size, num_context + num_query, 1, dtype=torch.float64)
        return draw_gaussian(x, drawn.noisy_covariance("matern52", x)).split(num_context)


def log_density(law, value):
    a, rate = law.concentration, law.rate
    return a * math.log(rate) - math.lgamma(a) + (a - 1) * math.log(value) - rate * value


def log_posterior(prior, x, y, lengthscale, outputscale, draw):
    """The objective, written with numpy and scipy alone; a draw of 0 is the hypothesis that there is none."""
    s = math.sqrt({"matern32": 3, "matern52": 5}[prior.kernel]) * cdist(x, x) / lengthscale
    shape = (1 + s + (s**2 / 3 if prior.kernel == "matern52" else 0)) * np.exp(-s)
    covariance = outputscale * shape + (prior.noise_floor + draw) * np.eye(len(y))
    quadratic, log_determinant = y @ np.linalg.solve(covariance, y), np.linalg.slogdet(covariance)[1]
    law = prior.noise_prior
    if draw == 0:
        about_noise = gamma(law.concentration, scale=1 / law.rate).logcdf(prior.noise_floor / 100)
    else:
        about_noise = log_density(law, draw) + math.log(draw)
    return (
        -(quadratic + log_determinant + len(y) * math.log(2 * math.pi)) / 2
        + log_density(prior.lengthscale_prior, lengthscale)
        + log_density(prior.outputscale_prior, outputscale)
        + about_noise
    )


def best_of_many_starts(prior, x, y):
    """The highest point that a search without gradients finds from many starts, under both hypotheses."""
    lowest = math.log(prior.noise_floor / 100)
    found = []
    for start in STARTS:
        result = minimize(
            lambda p: -log_posterior(prior, x, y, *np.exp(np.maximum(p, (-9, -9, lowest)))), start, method="Nelder-Mead"
        )
        found.append((-result.fun, *np.exp(result.x[:2]), prior.noise_floor + math.exp(max(result.x[2], lowest))))
    about_none = log_posterior(prior, x, y, 1.0, 1.0, 0.0) - log_posterior(prior, x, y, 1.0, 1.0, SMALL)
    for start in sorted({start[:2] for start in STARTS}):
        result = minimize(
            lambda p: -log_posterior(prior, x, y, *np.exp(np.maximum(p, -9)), SMALL), start, method="Nelder-Mead"
        )
        found.append((about_none - result.fun, *np.exp(result.x), prior.noise_floor))
    return max(found)


@pytest.mark.parametrize(
    ("prior", "batch"),
    [(PAPERS, tasks(PAPERS, 2, 12)), (NOISY, tasks(NOISY, 2, 12)), (PAPERS, noisy_tasks(0.1, 2, 12))],
    ids=["no_noise", "noise", "noise_that_is_rare"],
)
def test_the_fit_is_the_best_that_a_search_from_many_starts_finds(prior, batch):
    for x, y in zip(batch.context_x, batch.context_y, strict=True):
        fit = botorch_gp.most_probable(prior, x, y, Deadline(None))
        best, *values = best_of_many_starts(prior, x.numpy(), y.numpy())
        assert fit.log_posterior == pytest.approx(best, abs=2e-3)
        assert [fit.lengthscale, fit.outputscale, fit.noise] == pytest.approx(values, rel=0.03)
        draw = 0.0 if fit.noise == prior.noise_floor else fit.noise - prior.noise_floor
        own = log_posterior(prior, x.numpy(), y.numpy(), fit.lengthscale, fit.outputscale, draw)
        assert fit.log_posterior == pytest.approx(own, abs=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52"])
def test_the_predictive_is_that_of_the_process_of_the_fitted_hyper_parameters(kernel):
    prior = HyperGaussianProcess(num_features=2, kernel=kernel, noise_prior=Gamma(2.0, 20.0))
    batch = tasks(prior, 2, 9)
    posterior = MLE2GP(prior).condition(batch.context_x, batch.context_y)
    ppd = posterior.predict(batch.query_x)
    for i in range(2):
        found = posterior.hyperparameters[i]
        parts = (float(part) for part in (found.lengthscale, found.outputscale, found.noise))
        fixed = ExactGP(GaussianProcess(2, kernel, *parts)).condition(batch.context_x[i], batch.context_y[i])
        torch.testing.assert_close(ppd.mean[i], fixed.predict(batch.query_x[i]).mean, rtol=0, atol=1e-8)
        torch.testing.assert_close(ppd.stddev[i], fixed.predict(batch.query_x[i]).stddev, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", botorch_gp.KERNELS)
def test_the_covariance_of_botorchs_model_is_the_priors(kernel):
    prior = HyperGaussianProcess(num_features=2, kernel=kernel)
    batch = tasks(prior, 1, 9)
    model = botorch_gp._without_draw(prior, batch.context_x[0], batch.context_y[0])
    own = Hyperparameters(*torch.tensor([2 / 6, 1 / 0.15, 1e-6], dtype=torch.float64))
    with torch.no_grad():
        model.train()
        theirs = model.likelihood(model(batch.context_x[0])).covariance_matrix
    torch.testing.assert_close(theirs, own.noisy_covariance(kernel, batch.context_x[0]), rtol=0, atol=1e-10)


def test_datasets_without_noise_get_exactly_the_floor_and_others_about_their_noise():
    quiet, noisy = tasks(PAPERS, 3, 12), noisy_tasks(0.1, 3, 30)
    for batch, low, high in ((quiet, 1e-6, 1e-6), (noisy, 0.03, 0.3)):
        noise = MLE2GP(PAPERS).condition(batch.context_x, batch.context_y).hyperparameters.noise
        assert float(noise.min()) >= low
        assert float(noise.max()) <= high


@pytest.mark.parametrize(("law", "noise"), [(Gamma(1e-4, 1.0), 1e-6), (Gamma(2.0, 20.0), 0.1 + 1e-6)])
def test_an_empty_context_is_answered_by_the_modes_of_the_priors(law, noise):
    prior = HyperGaussianProcess(noise_prior=law)
    posterior = MLE2GP(prior).condition(torch.zeros(2, 0, 1), torch.zeros(2, 0))
    assert posterior.hyperparameters.lengthscale.tolist() == pytest.approx([2 / 6] * 2)
    ppd = posterior.predict(torch.rand(2, 4, 1))
    assert torch.equal(ppd.mean, torch.zeros(2, 4))
    torch.testing.assert_close(ppd.variance, torch.full((2, 4), 1 / 0.15 + noise))


def test_pinned_hyper_priors_give_the_exact_process():
    fixed = GaussianProcess(num_features=2, kernel="matern32", lengthscale=0.4, outputscale=2.0, noise=0.1 + 1e-6)
    laws = {"lengthscale_prior": Gamma(4e6, 1e7), "outputscale_prior": Gamma(2e6, 1e6), "noise_prior": Gamma(1e6, 1e7)}
    pinned = HyperGaussianProcess(num_features=2, kernel="matern32", **laws)
    batch = tasks(fixed, 3, 8)
    density = predict(MLE2GP(pinned), batch).log_prob(batch.query_y)
    exactly = predict(ExactGP(fixed), batch).log_prob(batch.query_y)
    torch.testing.assert_close(density, exactly, rtol=0, atol=1e-4)


def failing(times, fit=botorch_gp.fit_gpytorch_mll_scipy):
    """An optimiser that first fails so many times, in the way that BoTorch tells of it."""
    calls = []

    def optimise(objective, **kwargs):
        calls.append(float(objective.model.covar_module.outputscale.detach()))
        if len(calls) <= times:
            warnings.warn("as if", botorch_gp.OptimizationWarning, stacklevel=1)
            return None
        return fit(objective, **kwargs)

    return optimise, calls


def test_a_fit_that_fails_is_tried_again_from_a_start_that_the_seed_decides(monkeypatch):
    batch = tasks(PAPERS, 1, 6)
    starts = []
    for seed in (0, 0, 1):
        optimise, calls = failing(times=1)
        monkeypatch.setattr(botorch_gp, "fit_gpytorch_mll_scipy", optimise)
        before = torch.random.get_rng_state()
        posterior = MLE2GP(PAPERS, seed=seed).condition(batch.context_x, batch.context_y)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert posterior.predict(batch.query_x).log_prob(batch.query_y).isfinite().all()
        starts.append(calls[1])
    assert starts[0] == starts[1] != starts[2]


def test_a_fit_that_fails_for_good_is_an_error(monkeypatch):
    optimise, calls = failing(times=10**6)
    monkeypatch.setattr(botorch_gp, "fit_gpytorch_mll_scipy", optimise)
    batch = tasks(PAPERS, 1, 6)
    with pytest.raises(FitError, match=r"MLE2GP could not fit a dataset of 6 points.*larger noise_floor"):
        MLE2GP(PAPERS).condition(batch.context_x, batch.context_y)
    assert len(calls) == 5


def test_when_the_time_is_up_the_best_so_far_answers():
    batch = tasks(PAPERS, 2, 12)
    cut, whole = (
        MLE2GP(PAPERS, time_limit=limit).condition(batch.context_x, batch.context_y) for limit in (1e-6, 60.0)
    )
    assert cut.is_cut_short.all()
    assert not whole.is_cut_short.any()
    assert (cut.hyperparameters.lengthscale != whole.hyperparameters.lengthscale).all()
    assert cut.predict(batch.query_x).log_prob(batch.query_y).isfinite().all()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_fits_also_where_gradients_are_turned_off(mode):
    batch = tasks(PAPERS, 1, 6)
    expected = MLE2GP(PAPERS).condition(batch.context_x, batch.context_y).hyperparameters.lengthscale
    with mode():
        found = MLE2GP(PAPERS).condition(batch.context_x.clone(), batch.context_y.clone()).hyperparameters.lengthscale
    assert torch.equal(found, expected)


def test_gradients_flow_to_the_queries():
    batch = tasks(NOISY, 2, 5)
    posterior = MLE2GP(NOISY).condition(batch.context_x, batch.context_y)
    query_x = batch.query_x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: posterior.predict(x).log_prob(batch.query_y), (query_x,))


@pytest.mark.parametrize(
    ("prior", "fields", "message"),
    [
        (PAPERS, {"time_limit": 0.0}, "time_limit is a number of seconds above 0"),
        (
            HyperGaussianProcess(lengthscale_prior=Gamma(1.0, 1.0)),
            {},
            "needs the concentration of lengthscale_prior above 1",
        ),
        (
            HyperGaussianProcess(outputscale_prior=Gamma(0.5, 1.0)),
            {},
            "needs the concentration of outputscale_prior above",
        ),
    ],
)
def test_wrong_fields_are_refused(prior, fields, message):
    with pytest.raises(InputError, match=message):
        MLE2GP(prior, **fields)
