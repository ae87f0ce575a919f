"""Bernoulli and Categorical as one thing: a distribution over classes."""

from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution
from torch.nn.functional import logsigmoid

from priorfit.errors import InputError


@singledispatch
def class_probs(distribution: Distribution) -> Float[Tensor, "*batch classes"]:
    """The probabilities of the classes; a Bernoulli has the classes 0 and 1."""
    raise InputError(f"expected a distribution over classes (Categorical or Bernoulli); got {distribution}.")


@class_probs.register(Categorical)
def _categorical_probs(distribution: Categorical) -> Float[Tensor, "*batch classes"]:
    return distribution.probs


@class_probs.register(Bernoulli)
def _bernoulli_probs(distribution: Bernoulli) -> Float[Tensor, "*batch classes"]:
    return torch.stack([1 - distribution.probs, distribution.probs], dim=-1)


@singledispatch
def class_log_probs(distribution: Distribution) -> Float[Tensor, "*batch classes"]:
    """The log probabilities of the classes."""
    raise InputError(f"expected a distribution over classes (Categorical or Bernoulli); got {distribution}.")


@class_log_probs.register(Categorical)
def _categorical_log_probs(distribution: Categorical) -> Float[Tensor, "*batch classes"]:
    return distribution.logits


@class_log_probs.register(Bernoulli)
def _bernoulli_log_probs(distribution: Bernoulli) -> Float[Tensor, "*batch classes"]:
    return torch.stack([logsigmoid(-distribution.logits), logsigmoid(distribution.logits)], dim=-1)
