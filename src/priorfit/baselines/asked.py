"""Contexts and queries as the network takes them, in any form, for predictors that compute in tensors."""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.network.problem import Problem
from priorfit.network.validation import checked_context, checked_queries
from priorfit.priors import Prior
from priorfit.values import Values


def asked_context(
    context_x: Values, context_y: Values, prior: Prior
) -> tuple[Float[Tensor, "*batch context features"], Num[Tensor, "*batch context"]]:
    """A context as tensors, or an error of ours where it is none for this prior.

    >>> from priorfit.priors import GaussianProcess
    >>> x, y = asked_context([[0], [1]], [0.5, 1.5], GaussianProcess())
    >>> x.dtype, y.shape
    (torch.float64, torch.Size([2]))
    """
    x, y = checked_context(context_x, context_y, Problem(prior.num_features, prior.outcome))
    return floating(x), y


def asked_queries(query_x: Values, batch_shape: torch.Size, prior: Prior) -> Float[Tensor, "*batch query features"]:
    """Queries as a tensor, or an error of ours where they do not belong to the context."""
    problem = Problem(prior.num_features, prior.outcome)
    return floating(checked_queries(query_x, tuple(batch_shape), prior.num_features, problem))


def floating(x: Num[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Single and double precision as they are; whole and half-precision numbers in double, which holds them all."""
    return x if x.dtype in (torch.float32, torch.float64) else x.double()
