"""The negative log likelihood of a predictor, its gap to a reference, and the floor of its head."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Batch
from priorfit.distributions import best_fit, expected_log_prob
from priorfit.metrics.estimate import Estimate
from priorfit.predictor import Predictor, predict

NUM_NODES = 256
"""Quadrature nodes where E over y has no closed form; more than in training, since this is a measurement."""


def nll(predictor: Predictor, tasks: Batch) -> Estimate:
    """The negative log likelihood of the queries, averaged over the queries of a dataset and then over datasets."""
    with torch.no_grad():
        return _over_datasets(-predict(predictor, tasks).log_prob(tasks.query_y))


def gap(predictor: Predictor, reference: Predictor, tasks: Batch) -> Estimate:
    """How much worse than a reference a predictor is: KL(reference || predictor), averaged over queries and datasets.

    The expectation over y is taken exactly (or by quadrature, see ``expected_log_prob``) and not by the drawn queries:
    its error is far smaller than that of a difference between two ``nll``.
    """
    with torch.no_grad():
        ppd, truth = predict(predictor, tasks), predict(reference, tasks)
        return _over_datasets(divergence(truth, ppd))


def floor(predictor: Predictor, reference: Predictor, tasks: Batch) -> Estimate:
    """The gap that the predictor's head cannot avoid: that of its best fit to the reference, with the same borders."""
    with torch.no_grad():
        ppd, truth = predict(predictor, tasks), predict(reference, tasks)
        return _over_datasets(divergence(truth, best_fit(ppd, truth)))


def divergence(truth: Distribution, ppd: Distribution) -> Float[Tensor, "*batch"]:
    """KL(truth || ppd) of each query: E[log truth(y) - log ppd(y)] for y drawn from the truth.

    >>> from torch.distributions import Normal
    >>> divergence(Normal(torch.zeros(3), 1.0), Normal(torch.ones(3), 1.0))
    tensor([0.5000, 0.5000, 0.5000])
    """
    return -truth.entropy() - expected_log_prob(ppd, truth, num_nodes=NUM_NODES)


def _over_datasets(values: Float[Tensor, "*batch query"]) -> Estimate:
    return Estimate.over(values.mean(-1))
