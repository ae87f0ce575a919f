import math
import warnings

import pytest
import torch
from torch.distributions import Bernoulli, Chi2, Gamma, HalfNormal, LogNormal, Normal, Uniform

import priorfit as pf
from priorfit.baselines import CollapsedBNN, ExactLinear, ProgramOracle
from priorfit.errors import InputError, ShapeError, UncertainTruthWarning
from priorfit.priors.function import prior
from priorfit.seeding import seeded

LINEAR = pf.LinearRegression(num_features=2, noise=0.04)


@prior(num_features=2, inputs=pf.NormalInputs(), weights=Normal(0.0, 1.0).expand([2]))
def lines(x, weights):
    """Linear regression, as `LINEAR`."""
    return Normal((x @ weights[..., None])[..., 0], 0.2)


@prior(num_features=1, frequency=Uniform(2.0, 10.0), decay=Uniform(0.0, 3.0))
def waves(x, frequency, decay):
    return Normal(torch.sin(frequency * x[..., 0]) * torch.exp(-decay * x[..., 0]), 0.05)


@prior(num_features=1, precision=Gamma(2.0, 1.0), mean=lambda precision: Normal(0.0, precision**-0.5))
def normal_gamma(x, precision, mean):
    """A conjugate hierarchy; the law is the same at all points."""
    return Normal(mean, precision**-0.5)


@prior(num_features=1, slope=Normal(0.0, 2.0), offset=Normal(0.0, 1.0))
def logistic(x, slope, offset):
    return Bernoulli(logits=slope * x[..., 0] + offset)


def test_linear_regression_is_as_its_closed_form():
    with seeded(0):
        tasks = LINEAR.sample(6, 25).split(5)
    found = pf.exact(lines).condition(tasks.context_x, tasks.context_y)
    exact = ExactLinear(LINEAR).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    ppd = found.predict(tasks.query_x)
    assert bool(found.is_truth.all()) and float(found.error.max()) < 0.002
    divergence = torch.distributions.kl_divergence(exact, Normal(ppd.mean, ppd.stddev))
    assert float(divergence.mean()) < 0.002
    evidence = ExactLinear(LINEAR).log_evidence(tasks.context_x, tasks.context_y)
    torch.testing.assert_close(found.log_evidence, evidence, atol=0.06, rtol=0)
    drawn = found.latents.sample(50)
    assert drawn["weights"].shape == (50, 6, 2) and found.latents["weights"].mean.shape == (6, 2)


def test_damped_waves_are_as_quadrature():
    with seeded(2):
        tasks = waves.sample(2, 4).split(3)
    levels = (torch.arange(400, dtype=torch.float64) + 0.5) / 400
    frequency, decay = (each.reshape(-1, 1) for each in torch.meshgrid(2 + 8 * levels, 3 * levels, indexing="ij"))
    found = pf.exact(waves).condition(tasks.context_x, tasks.context_y)
    ppd = found.predict(tasks.query_x)
    y = ppd.nodes[::32]  # (nodes, datasets, 1)
    for row in range(2):
        x = tasks.context_x[row, :, 0].double()
        log_likelihood = (
            waves(x[None, :, None], frequency=frequency, decay=decay).log_prob(tasks.context_y[row]).sum(-1)
        )
        law = waves(tasks.query_x[row].double()[None], frequency=frequency, decay=decay)
        log_density = (log_likelihood.log_softmax(0) + law.log_prob(y[:, row, None])[..., 0]).logsumexp(-1)
        assert float((log_density - ppd.log_prob(y)[:, row, 0]).abs().mean()) < 0.02
        evidence = float(log_likelihood.logsumexp(0)) - math.log(400**2)
        assert float(found.log_evidence[row]) == pytest.approx(evidence, abs=0.06)
        mean = float((log_likelihood.softmax(0) * frequency[:, 0]).sum())
        assert float(found.latents["frequency"].mean[row]) == pytest.approx(mean, abs=0.05)


def test_a_conjugate_hierarchy_is_as_its_closed_form():
    with seeded(3):
        tasks = normal_gamma.sample(3, 8).split(7)
    found = ProgramOracle(normal_gamma).condition(tasks.context_x, tasks.context_y)
    y = tasks.context_y.double()
    mean = y.mean(1)
    shape, strength = 2.0 + 7 / 2, 1.0 + 7
    rate = 1.0 + ((y - mean[:, None]) ** 2).sum(1) / 2 + 7 * mean**2 / (2 * strength)
    torch.testing.assert_close(found.latents["precision"].mean, shape / rate, rtol=0.03, atol=0)
    torch.testing.assert_close(found.latents["mean"].mean, 7 * mean / strength, rtol=0.03, atol=0.02)


def test_known_latents_leave_the_others():
    with seeded(4):
        tasks = normal_gamma.sample(2, 6).split(5)
    found = ProgramOracle(normal_gamma).condition(tasks.context_x, tasks.context_y, precision=2.0)
    expected = 5 * tasks.context_y.double().mean(1) / 6  # given the precision: a Normal with five observations
    torch.testing.assert_close(found.latents["mean"].mean, expected, atol=0.02, rtol=0)
    assert found.latents["precision"].sample((4,)).unique().tolist() == [2.0]
    all_known = ProgramOracle(normal_gamma).condition(tasks.context_x, tasks.context_y, precision=2.0, mean=[0.0, 1.0])
    torch.testing.assert_close(all_known.predict(tasks.query_x).mean[:, 0], torch.tensor([0.0, 1.0]))


def test_classes_are_as_quadrature():
    with seeded(5):
        tasks = logistic.sample(2, 12).split(10)
    found = pf.exact(logistic).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    u = torch.linspace(-5, 5, 301, dtype=torch.float64)
    slope, offset = (each.reshape(-1, 1) for each in torch.meshgrid(2 * u, u, indexing="ij"))
    log_prior = -(slope / 2).square()[:, 0] / 2 - offset.square()[:, 0] / 2
    for row in range(2):
        x, y = tasks.context_x[row, :, 0].double(), tasks.context_y[row].double()
        weights = (log_prior + Bernoulli(logits=slope * x + offset).log_prob(y).sum(-1)).softmax(0)
        expected = (weights[:, None] * (slope * tasks.query_x[row, :, 0].double() + offset).sigmoid()).sum(0)
        torch.testing.assert_close(found.probs[row, :, 1].double(), expected, atol=0.005, rtol=0)


def test_draws_without_a_law_have_no_truth():
    simulator = prior(num_features=1, slope=Normal(0.0, 1.0))(lambda x, slope: slope * x[..., 0])
    with pytest.raises(InputError, match="no exact posterior is known"):
        pf.exact(simulator)
    with pytest.raises(InputError, match="returns draws, so the likelihood of its latents is unknown"):
        ProgramOracle(simulator)


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        ({"deacy": 1.0}, InputError, "no latent 'deacy'; the latents are frequency, decay. Did you mean 'decay'"),
        ({"decay": 4.0}, InputError, "'decay' is given outside of the support of Uniform"),
        ({"decay": [1.0, 2.0]}, ShapeError, r"must be one value for all datasets, or have shape \(3,\); got \(2,\)"),
        ({"decay": float("nan")}, InputError, "'decay' is given as NaN"),
    ],
)
def test_known_latents_that_are_none_are_refused(known, error, message):
    tasks = waves.sample(3, 4).split(3)
    with pytest.raises(error, match=message):
        ProgramOracle(waves).condition(tasks.context_x, tasks.context_y, **known)


def test_a_context_that_no_latents_explain_is_refused():
    positive = prior(num_features=1, slope=Normal(0.0, 1.0))(lambda x, slope: LogNormal(slope * x[..., 0], 0.1))
    with pytest.raises(InputError, match="no latents of .* explain this context"):
        pf.exact(positive).condition([[0.5]], [-1.0])


def test_runs_that_differ_are_not_called_the_truth():
    many = prior(num_features=1, w=Normal(0.0, 1.0).expand([30]), scale=HalfNormal(1.0))(
        lambda x, w, scale: Normal((torch.cos(40 * x * torch.arange(30)) * w[:, None]).sum(-1) * scale, 0.001)
    )
    tasks = many.sample(1, 16).split(15)
    with pytest.warns(UncertainTruthWarning, match="not the truth for 1 of 1 datasets: two runs differ by up to"):
        found = ProgramOracle(many, tolerance=1e-6, efforts=(1,)).condition(tasks.context_x, tasks.context_y)
    assert not bool(found.is_truth.any())


def test_the_answer_depends_on_the_seed_alone():
    tasks = waves.sample(1, 4).split(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (pf.exact(waves).condition(tasks.context_x[0], tasks.context_y[0]) for _ in range(2))
    assert torch.equal(one.particles.particles.log_weights, two.particles.particles.log_weights)
    assert one.predict(tasks.query_x[0]).batch_shape == (1,) and one.error.shape == ()


def test_whole_functions_have_the_margins_of_the_prediction():
    with seeded(6):
        tasks = waves.sample(2, 8).split(5)
    found = pf.exact(waves).condition(tasks.context_x, tasks.context_y)
    ppd = found.predict(tasks.query_x)
    with seeded(7):
        functions = found.sample_functions(tasks.query_x, 2000, noise=True)
    assert functions.shape == (2000, 2, 3)
    assert float(((functions.mean(0) - ppd.mean) / ppd.stddev).abs().max()) < 0.1
    quiet = found.sample_functions(tasks.query_x, 2000)
    torch.testing.assert_close(quiet.var(0) + 0.05**2, functions.var(0), rtol=0.15, atol=1e-4)


@prior(
    num_features=3,
    inputs=pf.NormalInputs(),
    chi=Chi2(5.0),
    weights=lambda chi: Normal(0.0, (2 * chi).sqrt().expand(-1, 3)),
    bias=lambda chi: Normal(0.0, (2 * chi + 2).sqrt()),
)
def collapsed_network(x, chi, weights, bias):
    """A Bayesian network without activation, of five hidden units, as `CollapsedBNN` writes it."""
    return Bernoulli(logits=(x @ weights[..., None])[..., 0] + bias)


def test_a_linear_bayesian_network_is_as_its_collapsed_form():
    small = pf.BayesianNetwork(num_features=3, hidden=(5,), outcome=pf.Classes(2))
    with seeded(8):
        tasks = small.sample(3, 25).split(20)
    found = pf.exact(collapsed_network).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    exact = CollapsedBNN(small).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    torch.testing.assert_close(found.probs[..., 1], exact.probs[..., 1], atol=0.02, rtol=0)


@pytest.mark.slow
def test_damped_waves_are_as_a_long_chain_of_numpyro():
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    with seeded(11):
        tasks = waves.sample(1, 21).split(20)
    x, y = tasks.context_x[0, :, 0].numpy(), tasks.context_y[0].numpy()

    def model():
        frequency = numpyro.sample("frequency", numpyro.distributions.Uniform(2.0, 10.0))
        decay = numpyro.sample("decay", numpyro.distributions.Uniform(0.0, 3.0))
        mean = jax.numpy.sin(frequency * x) * jax.numpy.exp(-decay * x)
        numpyro.sample("y", numpyro.distributions.Normal(mean, 0.05), obs=y)

    chain = MCMC(NUTS(model), num_warmup=1000, num_samples=8000, progress_bar=False)
    chain.run(jax.random.PRNGKey(0))
    found = pf.exact(waves).condition(tasks.context_x[0], tasks.context_y[0])
    for name, draws in chain.get_samples().items():
        law, draws = found.latents[name], torch.tensor(draws.tolist(), dtype=torch.float64)
        assert float(law.mean) == pytest.approx(float(draws.mean()), abs=0.1 * float(draws.std()))
        assert float(law.stddev) == pytest.approx(float(draws.std()), rel=0.1)
