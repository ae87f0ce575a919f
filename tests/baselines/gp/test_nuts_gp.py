import math

import jax
import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.stats import gamma, multivariate_normal

from priorfit.baselines import ExactGP, HyperGPOracle, NutsGP
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gp import numpyro_gp, nuts_gp, pyro_gp
from priorfit.baselines.gp.chain import GPChainSettings, hyper_coordinates
from priorfit.errors import InputError, TimeLimitError
from priorfit.predictor import predict
from priorfit.priors import Gamma, GaussianProcess, HyperGaussianProcess
from priorfit.priors.kernels import distances
from priorfit.seeding import seeded

PAPERS = HyperGaussianProcess()
NOISY = HyperGaussianProcess(noise_prior=Gamma(1.5, 3.0))

every_backend = pytest.mark.parametrize("backend", ["numpyro", "pyro"])


def tasks(prior, batch_size, num_context, num_query=3, seed=0):
    with seeded(seed):
        x = prior.inputs.sample(batch_size, num_context + num_query, prior.num_features).double()
        return prior.draw(x).split(num_context)


def log_joint_of_logarithms(prior, x, y, logarithms):
    """log p(y, logarithms of lengthscale, outputscale and draw), by scipy alone."""
    laws = prior.lengthscale_prior, prior.outputscale_prior, prior.noise_prior
    lengthscale, outputscale, draw = np.exp(logarithms)
    r = cdist(x, x) / lengthscale
    shape = {
        "rbf": np.exp(-(r**2) / 2),
        "matern12": np.exp(-r),
        "matern32": (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r),
        "matern52": (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r),
    }[prior.kernel]
    covariance = outputscale * shape + (prior.noise_floor + draw) * np.eye(len(y))
    about = sum(
        gamma(law.concentration, scale=1 / law.rate).logpdf(math.exp(log)) + log
        for law, log in zip(laws, logarithms, strict=True)
    )
    return multivariate_normal(np.zeros(len(y)), covariance).logpdf(y) + about


@pytest.mark.parametrize("kernel", numpyro_gp.KERNELS)
def test_both_backends_move_in_the_posterior_of_the_hyper_parameters(kernel):
    prior = HyperGaussianProcess(num_features=2, kernel=kernel, noise_prior=Gamma(0.1, 2.0))
    batch = tasks(prior, 1, 5)
    x, y = batch.context_x[0], batch.context_y[0]
    coordinates = hyper_coordinates(prior)
    parts = coordinates.concentration, coordinates.rate, coordinates.centre, coordinates.spread
    constants = numpyro_gp.Prior(*(part.numpy() for part in parts), noise_floor=np.asarray(1e-6))
    data = numpyro_gp._filled_up(constants, distances(x, x).numpy(), y.numpy())
    in_jax = jax.jit(jax.value_and_grad(lambda z: numpyro_gp._log_joint(kernel, z, data)))
    found = {"scipy": [], "pyro": [], "numpyro": []}
    for z in torch.tensor([[0.1, -0.3, 1.2], [-1.0, 0.7, 2.5], [1.4, 1.1, 0.2]], dtype=torch.float64).requires_grad_():
        logarithms = coordinates.draw(z).log()
        (jacobian,) = torch.autograd.grad(logarithms.sum(), z)
        reference = log_joint_of_logarithms(prior, x.numpy(), y.numpy(), logarithms.detach().numpy())
        found["scipy"].append(reference + float(jacobian.log().sum()))
        value = pyro_gp._log_joint(prior, coordinates, z, distances(x, x), y)
        found["pyro"].append(value.item())
        with jax.enable_x64(True):
            value_in_jax, slope = in_jax(z.detach().numpy())
        found["numpyro"].append(float(value_in_jax))
        np.testing.assert_allclose(slope, torch.autograd.grad(value, z)[0].numpy(), rtol=1e-9)
    for backend in ("pyro", "numpyro"):
        np.testing.assert_allclose(np.diff(found[backend]), np.diff(found["scipy"]), rtol=0, atol=1e-9)


@every_backend
def test_pinned_hyper_priors_give_the_exact_process(backend):
    fixed = GaussianProcess(kernel="matern52", lengthscale=0.4, outputscale=2.0, noise=0.1 + 1e-6)
    laws = {"lengthscale_prior": Gamma(4e6, 1e7), "outputscale_prior": Gamma(2e6, 1e6), "noise_prior": Gamma(1e6, 1e7)}
    batch = tasks(fixed, 1, 6)
    nuts = NutsGP(HyperGaussianProcess(**laws), num_samples=24, num_warmup=100, backend=backend)
    posterior = nuts.condition(batch.context_x, batch.context_y)
    density = posterior.predict(batch.query_x).log_prob(batch.query_y)
    exactly = predict(ExactGP(fixed), batch).log_prob(batch.query_y)
    torch.testing.assert_close(density, exactly, rtol=0, atol=5e-3)
    assert posterior.hyperparameters.lengthscale.std() < 1e-3


@pytest.mark.parametrize(
    ("settings", "num_chains"),
    [
        ({"num_samples": 150, "num_warmup": 100}, 8),
        pytest.param(
            {"num_samples": 80, "num_warmup": 60, "backend": "pyro"},
            6,
            marks=[pytest.mark.slow, pytest.mark.timeout(900)],
        ),
    ],
    ids=["numpyro", "pyro"],
)
@pytest.mark.parametrize("prior", [PAPERS, NOISY], ids=["no_noise", "noise"])
def test_the_predictive_is_that_of_the_oracle_within_the_error_of_both(prior, settings, num_chains):
    batch = tasks(prior, 1, 6, num_query=5)
    chains = [
        NutsGP(prior, **settings, seed=seed)
        .condition(batch.context_x, batch.context_y)
        .predict(batch.query_x)
        .log_prob(batch.query_y)
        .exp()
        for seed in range(num_chains)
    ]
    density = torch.stack(chains)  # (chains, batch, query)
    oracle = HyperGPOracle(prior, num_samples=20_000).condition(batch.context_x, batch.context_y)
    truth = oracle.predict(batch.query_x).log_prob(batch.query_y).exp()
    of_oracle = truth * oracle.log_prob_error(batch.query_x, batch.query_y)
    of_chains = density.std(0) / math.sqrt(num_chains)
    assert ((of_chains / truth) < 0.1).all()
    z = (density.mean(0) - truth) / (of_oracle.square() + of_chains.square()).sqrt()
    assert z.abs().max() < 5  # few chains: the deviation follows Student's law


def test_before_any_data_the_samples_are_those_of_the_prior():
    """Of the noise, too, of which 98 % are 0 to any instrument."""
    sampler = numpyro_gp.sampler(PAPERS, GPChainSettings(num_samples=3_000, num_warmup=100, seed=0), num_context=0)
    empty = torch.zeros(0, 0, dtype=torch.float64)
    draws = hyper_coordinates(PAPERS).draw(sampler(empty, empty[:, 0:0].flatten(), Deadline(None)).positions)
    laws = PAPERS.lengthscale_prior, PAPERS.outputscale_prior, PAPERS.noise_prior
    for law, values, levels in zip(laws, draws.T, [(0.1, 0.5, 0.9), (0.1, 0.5, 0.9), (0.98, 0.99)], strict=True):
        reference = gamma(law.concentration, scale=1 / law.rate)
        for level in levels:
            share = float((values < reference.ppf(level)).double().mean())
            assert share == pytest.approx(
                level, abs=0.1 * math.sqrt(level * (1 - level))
            )  # 100 independent draws' worth


def test_a_noise_that_the_prior_hardly_draws_is_found():
    batch = tasks(GaussianProcess(kernel="matern52", lengthscale=3.0, outputscale=4.0, noise=0.1), 3, 8)
    smooth = HyperGaussianProcess(lengthscale_prior=Gamma(300.0, 100.0))
    samples = NutsGP(smooth, num_samples=64, num_warmup=100).condition(batch.context_x, batch.context_y).hyperparameters
    median = samples.noise.median(-1).values
    assert ((median > 0.02) & (median < 0.5)).all()


@every_backend
def test_the_seed_alone_decides_the_chain_and_nothing_global_changes(backend):
    batch = tasks(PAPERS, 1, 4)
    before = torch.random.get_rng_state(), jax.config.jax_enable_x64, torch.get_default_dtype()
    first, again, other = (
        NutsGP(PAPERS, num_samples=8, seed=seed, backend=backend)
        .condition(batch.context_x, batch.context_y)
        .hyperparameters.lengthscale
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (jax.config.jax_enable_x64, torch.get_default_dtype()) == before[1:]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_samples_also_where_gradients_are_turned_off(mode):
    batch = tasks(PAPERS, 1, 4)
    nuts = NutsGP(PAPERS, num_samples=4, backend="pyro")
    expected = nuts.condition(batch.context_x, batch.context_y).hyperparameters.lengthscale
    with mode():
        posterior = nuts.condition(batch.context_x.clone(), batch.context_y.clone())
        assert torch.equal(posterior.hyperparameters.lengthscale, expected)
        assert posterior.predict(batch.query_x.clone()).log_prob(batch.query_y).isfinite().all()


def test_datasets_of_similar_size_share_one_compiled_program():
    for num_context in (3, 8, 1):
        batch = tasks(PAPERS, 2, num_context)
        posterior = NutsGP(PAPERS, num_samples=8).condition(batch.context_x, batch.context_y)
    assert posterior.compile_seconds < 0.5
    before = numpyro_gp._program.cache_info()
    batch = tasks(HyperGaussianProcess(num_features=3, noise_floor=0.1), 2, 5)
    NutsGP(NOISY, num_samples=4, num_warmup=8).condition(batch.context_x, batch.context_y)
    assert numpyro_gp._program.cache_info().misses == before.misses


class Looks(Deadline):
    """A clock that says after so many looks that the time is up."""

    def __init__(self, count):
        super().__init__(1.0)
        object.__setattr__(self, "answers", iter([False] * count + [True]))

    @property
    def is_past(self):
        return next(self.answers)


@pytest.mark.parametrize(("backend", "lengths"), [("numpyro", (8, 20, 16)), ("pyro", (1, 4, 2))])
def test_what_is_cut_short_answers_with_the_samples_so_far(backend, lengths, monkeypatch):
    batch = tasks(PAPERS, 3, 4)
    nuts = NutsGP(PAPERS, num_samples=max(lengths), num_warmup=8, backend=backend)
    whole = nuts.condition(batch.context_x, batch.context_y)
    looks_at_warmup = 1 if backend == "numpyro" else 8
    clocks = iter([Looks(looks_at_warmup), Looks(100), Looks(looks_at_warmup + 1)])
    monkeypatch.setattr(nuts_gp, "Deadline", lambda _: next(clocks))
    cut = nuts.condition(batch.context_x, batch.context_y)
    assert not whole.is_cut_short.any()
    assert cut.is_cut_short.tolist() == [True, False, True]
    assert cut.log_weights.exp().sum(-1).tolist() == list(lengths)
    ppd = cut.predict(batch.query_x)
    for i, length in enumerate(lengths):
        some = whole.hyperparameters[i][:length]
        torch.testing.assert_close(cut.hyperparameters.lengthscale[i, :length], some.lengthscale)
        parts = whole.predict(batch.query_x)
        mean = parts.loc[i, :, :length].mean(-1)
        torch.testing.assert_close(ppd.mean[i], mean)


@every_backend
def test_running_out_of_time_in_the_warm_up_is_an_error(backend):
    batch = tasks(PAPERS, 1, 4)
    nuts = NutsGP(PAPERS, num_samples=4, num_warmup=8, backend=backend, time_limit=1e-6)
    with pytest.raises(TimeLimitError, match="NutsGP was still in its warm-up after time_limit = 1e-06 s"):
        nuts.condition(batch.context_x, batch.context_y)


def test_gradients_flow_to_the_queries():
    batch = tasks(NOISY, 2, 4)
    posterior = NutsGP(NOISY, num_samples=8).condition(batch.context_x, batch.context_y)
    query_x = batch.query_x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: posterior.predict(x).log_prob(batch.query_y), (query_x,))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_samples": 0}, "num_samples must be at least 1; got 0"),
        ({"num_warmup": 0}, "num_warmup must be at least 1; got 0"),
        ({"backend": "stan"}, "backend must be one of pyro, numpyro; got 'stan'"),
        ({"time_limit": -1.0}, "time_limit is a number of seconds above 0"),
    ],
)
def test_wrong_fields_are_refused(fields, message, as_users_run_it):
    with pytest.raises(InputError, match=message):
        NutsGP(PAPERS, **fields)
