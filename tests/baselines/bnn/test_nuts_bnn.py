from dataclasses import replace

import jax
import pytest
import torch
from pyro.infer import NUTS

from priorfit.baselines import CollapsedBNN, ExactLinear
from priorfit.baselines.bnn import numpyro_bnn, pyro_bnn
from priorfit.baselines.bnn.chains import Chains
from priorfit.baselines.bnn.nuts_bnn import NutsBNN, NutsBNNPosterior
from priorfit.baselines.deadline import Deadline
from priorfit.data import Classes
from priorfit.distributions.class_probabilities import class_log_probs
from priorfit.errors import InputError, TimeLimitError
from priorfit.predictor import predict
from priorfit.priors import ArchitecturePrior, BayesianNetwork, LinearRegression
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.seeding import seeded

TINY = BayesianNetwork(num_features=1, hidden=(2,), outcome=Classes(2))
LINE = BayesianNetwork(num_features=1, hidden=(), noise=0.5)
both_backends = pytest.mark.parametrize("backend", ["numpyro", "pyro"])


def nuts(num_samples, prior=LINE, backend="numpyro", **settings):
    """With one length of the warm-up for each backend: NumPyro compiles for seconds where it is another one."""
    return NutsBNN(prior, num_samples, num_warmup=100 if backend == "numpyro" else 8, backend=backend, **settings)


def tasks(prior, batch_size, num_context, num_queries=30, dtype=torch.float32):
    with seeded(0):
        x = prior.inputs.sample(batch_size, num_context + num_queries, prior.num_features).to(dtype)
        return prior.draw(x).split(num_context)


def mean_kl(prior, batch, posterior, num_samples=2048):
    """From the truth, of each dataset, in nats for a query."""
    truth = CollapsedBNN(prior, num_samples).condition(batch.context_x, batch.context_y)
    truth, answer = (class_log_probs(each.predict(batch.query_x.double())) for each in (truth, posterior))
    return (truth.exp() * (truth - answer)).sum(-1).mean(-1)  # (batch)


def exact_line(batch):
    """A network without hidden layer is linear regression on x and a constant."""
    context_x, query_x = (torch.cat([x, torch.ones_like(x[..., :1])], dim=-1) for x in (batch.context_x, batch.query_x))
    exact = ExactLinear(LinearRegression(num_features=2, noise=LINE.noise))
    return exact.condition(context_x, batch.context_y).predict(query_x)


@pytest.mark.parametrize(
    ("backend", "num_samples", "num_context", "most"),
    [("numpyro", 1000, 6, 0.002), ("numpyro", 1000, 0, 0.002), ("pyro", 40, 6, 0.05)],
)
def test_networks_without_activation_agree_with_the_collapsed_reference(backend, num_samples, num_context, most):
    batch = tasks(TINY, 3 if backend == "numpyro" else 1, num_context)
    predictor = NutsBNN(TINY, num_samples, num_warmup=min(100, num_samples), backend=backend)
    assert (mean_kl(TINY, batch, predictor.condition(batch.context_x, batch.context_y)) < most).all()


@pytest.mark.parametrize(
    ("backend", "num_samples", "num_context", "error"),
    [("numpyro", 1000, 8, 0.15), ("numpyro", 1000, 0, 0.15), ("pyro", 60, 8, 0.5)],
)
def test_a_network_without_hidden_layer_agrees_with_linear_regression(backend, num_samples, num_context, error):
    batch = tasks(LINE, 1, num_context)
    exact = exact_line(batch)
    predictor = NutsBNN(LINE, num_samples, num_warmup=min(100, num_samples), backend=backend)
    ppd = predict(predictor, batch)
    spread = (exact.variance - LINE.noise).sqrt()  # of the line itself
    assert ((ppd.mean - exact.mean).abs() < error * spread).all()
    torch.testing.assert_close((ppd.variance - LINE.noise).sqrt(), spread, rtol=error, atol=0)


def test_three_classes_and_an_activation_agree_with_networks_drawn_from_the_prior_and_weighted():
    prior = replace(TINY, activation="tanh", outcome=Classes(3))
    batch = tasks(prior, 1, 4, num_queries=5)
    ppd = predict(nuts(1000, prior), batch)
    with seeded(1):
        points = torch.cat([batch.context_x, batch.query_x], dim=1).expand(20_000, -1, -1)
        probs = prior.draw(points).conditional(0).probs  # (networks, points, classes)
    likelihood = probs[:, range(4), batch.context_y[0].long()].prod(-1)  # (networks)
    expected = (likelihood[:, None, None] * probs[:, 4:]).sum(0) / likelihood.sum()
    torch.testing.assert_close(ppd.probs[0], expected, rtol=0, atol=0.04)


@both_backends
def test_the_same_seed_gives_the_same_samples_and_another_seed_others(backend):
    batch = tasks(LINE, 1, 5)
    samples = [
        nuts(4, backend=backend, seed=seed).condition(batch.context_x, batch.context_y).chains[0].samples
        for seed in (0, 0, 1)
    ]
    assert torch.equal(samples[0], samples[1])
    assert not torch.equal(samples[0], samples[2])


@both_backends
def test_it_runs_where_gradients_are_off_and_leaves_all_as_it_was(backend):
    batch = tasks(LINE, 1, 5, dtype=torch.float64)
    state = torch.get_rng_state()
    expected = nuts(4, backend=backend).condition(batch.context_x, batch.context_y).chains[0].samples
    assert expected.dtype == torch.float64
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            chains = nuts(4, backend=backend).condition(batch.context_x.clone(), batch.context_y.clone()).chains
            assert torch.equal(chains[0].samples, expected)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_dtype() == torch.float32
    assert not jax.config.jax_enable_x64
    assert torch.distributions.Distribution._validate_args


def test_datasets_of_similar_size_share_one_compiled_program():
    batch = tasks(LINE, 2, 5)
    nuts(4).condition(batch.context_x, batch.context_y)
    compiled = numpyro_bnn._program.cache_info().misses
    for num_context, num_samples in ((0, 4), (5, 6), (8, 4)):
        batch = tasks(LINE, 2, num_context)
        assert nuts(num_samples).condition(batch.context_x, batch.context_y).compile_seconds < 0.1
    assert numpyro_bnn._program.cache_info().misses == compiled


def test_chains_differ_and_the_first_is_that_of_a_single_chain():
    batch = tasks(LINE, 1, 5)
    one, three = (
        nuts(4, num_chains=num_chains).condition(batch.context_x, batch.context_y).chains[0].samples
        for num_chains in (1, 3)
    )
    assert three.shape == (3, 4, 2)
    assert torch.equal(one[0], three[0])
    assert not torch.equal(three[0], three[1])


def test_r_hat_is_near_1_for_chains_that_agree_and_large_for_those_that_do_not():
    prior = replace(LINE, noise=0.5)
    with seeded(0):
        weights, query_x = torch.randn(4, 500, 2), torch.randn(2, 3, 1)
    apart = weights + torch.tensor([0.0, 0.0, 0.0, 5.0])[:, None, None]
    chains = [Chains(samples, 0, False) for samples in (weights, apart)]
    r_hat = NutsBNNPosterior(prior, (2,), chains).r_hat(query_x)
    assert r_hat.shape == (2, 3)
    assert (r_hat[0] < 1.01).all()
    assert (r_hat[1] > 1.5).all()


def test_r_hat_is_1_where_all_samples_are_certain():
    chains = [Chains(torch.full((2, 4, 10), 100.0).double(), 0, False)]
    r_hat = NutsBNNPosterior(TINY, (1,), chains).r_hat(torch.ones(1, 3, 1))
    assert torch.equal(r_hat, torch.ones(1, 3).double())


@both_backends
def test_out_of_time_in_the_warm_up_is_an_error(backend):
    batch = tasks(LINE, 1, 5)
    with pytest.raises(TimeLimitError, match="NutsBNN was still in its warm-up after time_limit = 1e-06 s"):
        nuts(4, backend=backend, time_limit=1e-6).condition(batch.context_x, batch.context_y)


@pytest.mark.parametrize(("backend", "turns", "steps"), [("numpyro", 13, 8), ("pyro", 8, 1)])
def test_out_of_time_after_the_warm_up_gives_the_samples_so_far(backend, turns, steps, monkeypatch):
    batch = tasks(LINE, 1, 5)
    whole = nuts(20, backend=backend).condition(batch.context_x, batch.context_y)
    clock = iter([False] * turns + [False, True])  # the warm-up, then two turns
    monkeypatch.setattr(Deadline, "is_past", property(lambda _: next(clock)))
    cut = nuts(20, backend=backend).condition(batch.context_x, batch.context_y)
    assert (whole.is_cut_short.tolist(), cut.is_cut_short.tolist()) == ([False], [True])
    assert torch.equal(cut.chains[0].samples, whole.chains[0].samples[:, : 2 * steps])
    assert cut.predict(batch.query_x).batch_shape == (1, 30)


def test_no_datasets_have_no_answers():
    posterior = nuts(4).condition(torch.zeros(0, 5, 1), torch.zeros(0, 5))
    assert posterior.predict(torch.zeros(0, 3, 1)).batch_shape == (0, 3)
    assert posterior.num_divergences.shape == posterior.is_cut_short.shape == (0,)


def test_pyros_divergences_are_counted(monkeypatch):
    def diverging(model):
        kernel = NUTS(model)
        kernel._max_sliced_energy = -1e9  # every step is said to lose too much energy
        return kernel

    batch = tasks(LINE, 2, 5)
    monkeypatch.setattr(pyro_bnn, "NUTS", diverging)
    assert nuts(3, backend="pyro").condition(batch.context_x, batch.context_y).num_divergences.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_samples": 0}, "num_samples must be at least 1; got 0"),
        ({"num_warmup": 0}, "num_warmup must be at least 1; got 0"),
        ({"num_chains": 0}, "num_chains must be at least 1; got 0"),
        ({"backend": "pyro", "num_chains": 2}, "Pyro runs one chain here; got num_chains = 2. Use backend='numpyro'"),
        ({"time_limit": 0.0}, "time_limit is a number of seconds above 0"),
        ({"prior": BayesianNetwork(architecture=ArchitecturePrior())}, "samples the weights of one architecture"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        NutsBNN(**{"prior": TINY} | fields)


@pytest.mark.usefixtures("as_users_run_it")
def test_an_unknown_backend_is_refused():
    with pytest.raises(InputError, match="backend must be one of pyro, numpyro; got 'stan'"):
        NutsBNN(TINY, backend="stan")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("prior", "batch_size"), [(SMALL, 3), (LARGE, 1)], ids=["small", "large"])
def test_a_long_run_converges_to_the_collapsed_reference(prior, batch_size):
    batch = tasks(prior, batch_size, 30, num_queries=100)
    posterior = NutsBNN(prior, num_samples=500, num_chains=4).condition(batch.context_x, batch.context_y)
    assert (mean_kl(prior, batch, posterior, num_samples=8192) < 0.001).all()
    assert (posterior.r_hat(batch.query_x) < 1.03).all()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_long_run_of_pyro_converges_to_the_collapsed_reference():
    batch = tasks(SMALL, 1, 10, num_queries=100)
    posterior = NutsBNN(SMALL, num_samples=100, backend="pyro").condition(batch.context_x, batch.context_y)
    assert (mean_kl(SMALL, batch, posterior) < 0.005).all()
