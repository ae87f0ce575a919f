from dataclasses import replace

import pytest
import torch
from scipy.stats import chi2, ks_2samp

from priorfit.baselines import CollapsedBNN
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.predictor import predict
from priorfit.priors import ArchitecturePrior, BayesianNetwork
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.seeding import seeded


def tasks(prior, batch_size, num_context, num_queries=50, seed=0):
    with seeded(seed):
        x = prior.inputs.sample(batch_size, num_context + num_queries, prior.num_features).double()
        return prior.draw(x).split(num_context)


def logits(prior, x, count):
    """The difference of the two logits at points (points, features) of ``count`` networks, drawn layer by layer."""
    hidden = x @ torch.randn(count, x.shape[-1], prior.hidden[0]).to(x) + torch.randn(count, 1, prior.hidden[0]).to(x)
    outputs = hidden @ torch.randn(count, prior.hidden[0], 2).to(x) + torch.randn(count, 1, 2).to(x)
    return outputs[..., 1] - outputs[..., 0]


@pytest.mark.parametrize("prior", [SMALL, LARGE], ids=["small", "large"])
def test_the_difference_of_the_logits_is_a_line_with_a_random_prior_variance(prior):
    with seeded(0):
        x = torch.randn(3, prior.num_features, dtype=torch.float64)
        drawn = logits(prior, x, 20_000)
        s = 2 * torch.distributions.Chi2(torch.tensor(float(prior.hidden[0]))).sample((20_000, 1)).double()
        w = s.sqrt() * torch.randn(20_000, prior.num_features).double()
        line = w @ x.T + (s + 2).sqrt() * torch.randn(20_000, 1).double()
    for combination in (torch.tensor([1.0, 0, 0]), torch.tensor([1.0, -1, 0]), torch.tensor([1.0, 2, -1])):
        a, b = drawn @ combination.double(), line @ combination.double()
        assert ks_2samp(a.numpy(), b.numpy()).pvalue > 1e-3
        assert ks_2samp(a.abs().numpy(), b.abs().numpy()).pvalue > 1e-3


@pytest.mark.parametrize(("prior", "num_context"), [(SMALL, 0), (SMALL, 4), (LARGE, 0), (LARGE, 3)])
def test_it_agrees_with_networks_drawn_from_the_prior_and_weighted(prior, num_context):
    batch = tasks(prior, 1, num_context, num_queries=6)
    predicted = predict(CollapsedBNN(prior, num_samples=4096), batch)
    with seeded(1):
        x = torch.cat([batch.context_x, batch.query_x], dim=1)[0]
        drawn = torch.cat([logits(prior, x, 20_000) for _ in range(5)])  # (networks, points)
    signs = 2 * batch.context_y - 1
    weights = (signs * drawn[:, :num_context]).sigmoid().prod(-1, keepdim=True)  # (networks, 1)
    probabilities = drawn[:, num_context:].sigmoid()
    average = (weights * probabilities).sum(0) / weights.sum()
    error = (weights * (probabilities - average)).square().sum(0).sqrt() / weights.sum()
    assert ((predicted.probs[0, :, 1] - average).abs() < 4 * error + 0.004).all()


def test_one_feature_agrees_with_quadrature():
    prior = BayesianNetwork(num_features=1, hidden=(4,), outcome=Classes(2))
    batch = tasks(prior, 3, 5, num_queries=20, seed=3)
    grid = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    s = torch.from_numpy(2 * chi2(4).ppf((torch.arange(2_000).double() + 0.5) / 2_000))[:, None]
    slope = (-grid.square() / (2 * s)).exp() / s.sqrt()  # (nodes of s, grid)
    offset = (-grid.square() / (2 * (s + 2))).exp() / (s + 2).sqrt()
    density = slope.T @ offset  # (w, b)
    ppd = predict(CollapsedBNN(prior), batch)
    for i in range(3):
        posterior = density.clone()
        for x, y in zip(batch.context_x[i, :, 0], batch.context_y[i], strict=True):
            posterior *= ((2 * y - 1) * (grid[:, None] * x + grid)).sigmoid()
        posterior /= posterior.sum()
        exact = torch.stack([(posterior * (grid[:, None] * x + grid).sigmoid()).sum() for x in batch.query_x[i, :, 0]])
        torch.testing.assert_close(ppd.probs[i, :, 1], exact, rtol=0, atol=0.003)


@pytest.mark.parametrize("prior", [SMALL, LARGE], ids=["small", "large"])
def test_independent_runs_agree_within_the_stated_error(prior):
    batch = tasks(prior, 8, 100)
    means, errors = [], []
    for seed in (0, 1):
        posterior = CollapsedBNN(prior, num_samples=4096, seed=seed).condition(batch.context_x, batch.context_y)
        means.append(float(posterior.predict(batch.query_x).log_prob(batch.query_y).mean()))
        errors.append(posterior.standard_error(batch.query_x, batch.query_y))
        assert ((posterior.effective_samples > 400) & (posterior.effective_samples < 4096)).all()
    assert max(errors) < 0.001
    assert abs(means[0] - means[1]) < 5 * sum(error**2 for error in errors) ** 0.5
    assert means[0] != means[1]


def test_replicates_are_independent_answers_around_the_pooled_one():
    batch = tasks(SMALL, 2, 10)
    posterior = CollapsedBNN(SMALL, num_samples=1024).condition(batch.context_x, batch.context_y)
    each, pooled = posterior.replicates(batch.query_x).probs, posterior.predict(batch.query_x).probs
    assert each.shape == (8, 2, 50, 2)
    assert (each.std(0) > 0).all()
    torch.testing.assert_close(each.mean(0), pooled, rtol=0, atol=0.02)


def test_probabilities_far_away_are_finite_and_tiny_ones_are_not_rounded_to_0():
    batch = tasks(LARGE, 2, 50)
    posterior = CollapsedBNN(LARGE, num_samples=1024).condition(batch.context_x, batch.context_y)
    for query_x in (1e5 * batch.query_x, batch.query_x.float()):
        ppd = posterior.predict(query_x)
        for label in (0.0, 1.0):
            assert ppd.log_prob(torch.full_like(query_x[..., 0], label)).isfinite().all()


@pytest.mark.parametrize(
    "prior",
    [
        replace(SMALL, activation="tanh"),
        replace(SMALL, outcome=Real()),
        replace(SMALL, outcome=Classes(3)),
        replace(SMALL, hidden=(5, 5)),
        BayesianNetwork(outcome=Classes(2), architecture=ArchitecturePrior()),
    ],
)
def test_a_prior_that_does_not_collapse_is_refused(prior):
    with pytest.raises(InputError, match="CollapsedBNN needs a BayesianNetwork with one hidden layer, two classes"):
        CollapsedBNN(prior)


def test_too_few_samples_are_refused():
    with pytest.raises(InputError, match="num_samples must be at least 512; got 100"):
        CollapsedBNN(SMALL, num_samples=100)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "measured", "width"), [(SMALL, 0.240, 0.020), (LARGE, 0.094, 0.008)])
def test_the_optimum_at_100_points_is_what_was_measured_before(prior, measured, width):
    batch = tasks(prior, 200, 100, num_queries=200)
    posterior = CollapsedBNN(prior).condition(batch.context_x, batch.context_y)
    ppd = posterior.predict(batch.query_x)
    nll = -ppd.log_prob(batch.query_y).mean(-1)  # (batch)
    half_width = 1.96 * float(nll.std()) / len(nll) ** 0.5
    assert posterior.standard_error(batch.query_x, batch.query_y) < 0.001
    assert abs(float(nll.mean()) - measured) < width + half_width
    surprise = nll - ppd.entropy().mean(-1)  # of the true posterior, 0 in the mean
    assert abs(float(surprise.mean())) < 4 * float(surprise.std()) / len(surprise) ** 0.5
