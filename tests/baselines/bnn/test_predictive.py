from math import log

import pytest
import torch
from torch.distributions import Categorical, Normal

from priorfit.baselines.bnn import predictive
from priorfit.baselines.bnn.predictive import averaged, sampled_means
from priorfit.baselines.bnn.weights import layers, num_weights
from priorfit.data import Classes
from priorfit.distributions import NormalMixture
from priorfit.priors import BayesianNetwork
from priorfit.seeding import seeded

TWO = BayesianNetwork(num_features=2, hidden=(3,), activation="tanh", outcome=Classes(2))
THREE = BayesianNetwork(num_features=2, hidden=(3,), activation="relu", outcome=Classes(3))
REAL = BayesianNetwork(num_features=2, hidden=(3,), activation="tanh", noise=0.3)


def sampled(prior, counts=(5, 5), num_queries=4, dtype=torch.float64):
    with seeded(0):
        samples = [torch.randn(count, num_weights(prior), dtype=dtype) for count in counts]
        return samples, torch.randn(len(counts), num_queries, prior.num_features, dtype=dtype)


def outputs(prior, weights, x):
    """Network by network: (samples, query, outputs)."""
    return torch.stack([prior.outputs(x[None], list(layers(prior, one[None])))[0] for one in weights])


@pytest.mark.parametrize("prior", [TWO, THREE])
def test_probabilities_of_classes_are_averaged(prior):
    samples, query_x = sampled(prior, counts=(5, 2))
    ppd = averaged(prior, samples, query_x)
    assert type(ppd) is Categorical
    assert ppd.batch_shape == (2, 4)
    expected = torch.stack([outputs(prior, *each).softmax(-1).mean(0) for each in zip(samples, query_x, strict=True)])
    torch.testing.assert_close(ppd.probs, expected)


def test_real_targets_have_a_mixture_over_the_samples_also_where_some_are_missing():
    samples, query_x = sampled(REAL, counts=(5, 2))
    ppd = averaged(REAL, samples, query_x)
    assert type(ppd) is NormalMixture
    y = torch.linspace(-1, 1, 4).double().expand(2, 4)
    for i in range(2):
        law = Normal(outputs(REAL, samples[i], query_x[i])[..., 0], 0.3**0.5)  # (samples, query)
        expected = law.log_prob(y[i]).logsumexp(0) - log(len(samples[i]))
        torch.testing.assert_close(ppd.log_prob(y)[i], expected)
        torch.testing.assert_close(ppd.mean[i], law.mean.mean(0))


@pytest.mark.parametrize("prior", [TWO, THREE])
def test_tiny_probabilities_are_not_rounded_to_0(prior):
    samples, query_x = sampled(prior, counts=(1, 1), dtype=torch.float32)
    ppd = averaged(prior, [300 * weights for weights in samples], query_x)
    labels = torch.arange(prior.outcome.count, dtype=torch.float32)[:, None, None].expand(-1, 2, 4)
    log_prob = ppd.log_prob(labels)
    assert log_prob.isfinite().all()
    assert log_prob.dtype == torch.float32
    assert (log_prob < -120).any()  # below the smallest number of float32


@pytest.mark.parametrize("prior", [TWO, THREE, REAL])
def test_few_queries_at_a_time_are_answered_as_all_at_once(prior, monkeypatch):
    samples, query_x = sampled(prior)
    y = torch.zeros(2, 4).double()
    whole = averaged(prior, samples, query_x).log_prob(y)
    sizes = []
    networks = BayesianNetwork.outputs
    monkeypatch.setattr(
        BayesianNetwork, "outputs", lambda self, x, of: sizes.append(x.shape[1]) or networks(self, x, of)
    )
    monkeypatch.setattr(predictive, "UNITS_AT_ONCE", 5 * 3 * 3)
    torch.testing.assert_close(averaged(prior, samples, query_x).log_prob(y), whole)
    assert sizes == [3, 1, 3, 1]


@pytest.mark.parametrize("prior", [TWO, THREE, REAL])
def test_no_datasets_and_no_queries_have_no_answers(prior):
    samples, query_x = sampled(prior)
    assert averaged(prior, [], query_x[:0]).batch_shape == (0, 4)
    assert averaged(prior, samples, query_x[:, :0]).batch_shape == (2, 0)


@pytest.mark.parametrize(("prior", "num_means"), [(TWO, 1), (THREE, 2), (REAL, 1)])
def test_the_means_of_samples_average_to_the_mean_of_the_predictive(prior, num_means):
    samples, query_x = sampled(prior)
    means = sampled_means(prior, samples[0], query_x[0])
    assert means.shape == (4, 5, num_means)
    ppd = averaged(prior, samples, query_x)
    expected = ppd.probs[0, :, 1:] if prior is not REAL else ppd.mean[0, :, None]
    torch.testing.assert_close(means.mean(1), expected)
