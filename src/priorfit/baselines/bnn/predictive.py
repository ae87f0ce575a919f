"""The predictive of a `BayesianNetwork` as the average over sampled weights, computed in float64."""

from collections.abc import Callable, Sequence
from math import log, sqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical

from priorfit.baselines.bnn.weights import layers
from priorfit.data import Classes
from priorfit.distributions import NormalMixture
from priorfit.priors.bayesian_network import BayesianNetwork

UNITS_AT_ONCE = 2**22
"""How many units of sampled networks are held at a time; more would only need more memory."""

Samples = Sequence[Float[Tensor, "_ weights"]]
"""The weights sampled for each dataset; a time limit may have left fewer to some."""


def averaged(
    prior: BayesianNetwork, samples: Samples, query_x: Float[Tensor, "*batch query features"]
) -> Categorical | NormalMixture:
    """The equally weighted mixture of the predictions of the networks sampled for each dataset."""
    x = query_x.double().reshape(len(samples), *query_x.shape[-2:])  # (datasets, query, features)
    if isinstance(prior.outcome, Classes):
        log_probs = _averaged_classes(prior, samples, x).reshape(*query_x.shape[:-1], prior.outcome.count)
        return Categorical(logits=log_probs.to(query_x.dtype), validate_args=False)
    components = _components(prior, samples, x)
    logits, loc = (part.reshape(*query_x.shape[:-1], part.shape[-1]).to(query_x.dtype) for part in components)
    return NormalMixture(logits, loc, loc.new_tensor([sqrt(prior.noise)]), validate_args=False)


def sampled_means(
    prior: BayesianNetwork, weights: Float[Tensor, "samples weights"], x: Float[Tensor, "query features"]
) -> Float[Tensor, "query samples means"]:
    """The mean of y by each sampled network: its output, or its probabilities of all classes but the first."""
    if isinstance(prior.outcome, Classes):
        return _for_each_query(prior, weights, x.double(), lambda outputs: outputs.softmax(-1)[..., 1:].movedim(0, 1))
    return _for_each_query(prior, weights, x.double(), lambda outputs: outputs.movedim(0, 1))


def _averaged_classes(
    prior: BayesianNetwork, samples: Samples, x: Float[Tensor, "datasets query features"]
) -> Float[Tensor, "datasets query classes"]:
    """The logarithms of the averaged probabilities, by logsumexp: small ones are exact."""
    averages = x.new_empty(*x.shape[:2], prior.layer_shapes[-1][1])
    for i, weights in enumerate(samples):
        sums = _for_each_query(prior, weights, x[i], lambda outputs: outputs.log_softmax(-1).logsumexp(0))
        averages[i] = sums - log(len(weights))
    return averages


def _components(
    prior: BayesianNetwork, samples: Samples, x: Float[Tensor, "datasets query features"]
) -> tuple[Float[Tensor, "datasets query components"], Float[Tensor, "datasets query components"]]:
    """The logits and means of the mixtures; a dataset with fewer samples has components without a share."""
    most = max((len(weights) for weights in samples), default=1)
    loc = x.new_zeros(*x.shape[:2], most)
    logits = torch.full_like(loc, -torch.inf)
    for i, weights in enumerate(samples):
        loc[i, :, : len(weights)] = _for_each_query(prior, weights, x[i], lambda outputs: outputs[..., 0].T)
        logits[i, :, : len(weights)] = 0
    return logits, loc


def _for_each_query(
    prior: BayesianNetwork,
    weights: Float[Tensor, "samples weights"],
    x: Float[Tensor, "query features"],
    reduced: Callable[[Float[Tensor, "samples some outputs"]], Float[Tensor, "some ..."]],
) -> Float[Tensor, "query ..."]:
    """``reduced`` of the outputs (samples, query, outputs) of all networks, a few queries at a time."""
    networks = list(layers(prior, weights.double()))
    widest = max(after for _, after in prior.layer_shapes)
    parts = x.split(max(1, UNITS_AT_ONCE // (len(weights) * widest)))
    return torch.cat([reduced(prior.outputs(part.expand(len(weights), *part.shape), networks)) for part in parts])
