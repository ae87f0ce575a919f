"""Distributions over classes: always a Categorical, so that ``probs`` has one shape whatever the number of classes."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.errors import InputError


def class_probs(distribution: Distribution) -> Float[Tensor, "*batch classes"]:
    """The probabilities of the classes."""
    return require_categorical(distribution).probs


def class_log_probs(distribution: Distribution) -> Float[Tensor, "*batch classes"]:
    """The log probabilities of the classes."""
    return require_categorical(distribution).logits


def require_categorical(distribution: Distribution) -> Categorical:
    """The distribution itself, or an error where it is not over classes."""
    if not isinstance(distribution, Categorical):
        raise InputError(f"expected a distribution over classes (a Categorical); got {distribution}.")
    return distribution


def log_odds(distribution: Distribution) -> Float[Tensor, "*batch"]:
    """The log odds of class 1 of two: the opposite of `two_classes`.

    >>> log_odds(two_classes(torch.tensor([0.7])))
    tensor([0.7000])
    """
    zero, one = torch.unbind(class_log_probs(distribution), dim=-1)
    return one - zero


def two_classes(log_odds: Float[Tensor, "*batch"]) -> Categorical:
    """The distribution over the classes 0 and 1 with given log odds of class 1.

    >>> two_classes(torch.tensor([0.0])).probs
    tensor([[0.5000, 0.5000]])
    """
    return Categorical(logits=torch.stack([torch.zeros_like(log_odds), log_odds], dim=-1), validate_args=False)
