"""Targets as the network for tables sees them: classes one by one against the others, reals in units of the context."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical
from torch.nn import functional

LEAST_SPREAD = 0.25
"""The standard deviation of a coding that a class of 7 % has; codings of rarer classes are divided by this."""


def number_of_classes(labels: Num[Tensor, "batch context"], most: int) -> int:
    """How many classes an answer has: those up to the largest label of the contexts, and two at least."""
    return min(most, max(2, 1 + int(labels.max()))) if labels.numel() else 2


def against_others(labels: Num[Tensor, "batch context"], count: int) -> Float[Tensor, "coded context"]:
    """For each dataset and class, 1 where a row is of that class and 0 elsewhere: ``batch * count`` codings."""
    classes = torch.arange(count, device=labels.device)
    return (labels[:, None] == classes[:, None]).flatten(0, 1).to(torch.get_default_dtype())


def standard_coding(coding: Float[Tensor, "coded context"]) -> Float[Tensor, "coded context"]:
    """A coding with mean 0 and standard deviation 1, or less where a class is so rare that its rows would be outliers.

    >>> standard_coding(torch.tensor([[1.0, 0.0, 1.0, 0.0]]))
    tensor([[ 1., -1.,  1., -1.]])
    """
    if not coding.shape[1]:
        return coding
    spread = coding.std(1, keepdim=True, correction=0).clamp(min=LEAST_SPREAD)
    return (coding - coding.mean(1, keepdim=True)) / spread


def signs_of(coded: Float[Tensor, "coded context"]) -> Float[Tensor, "coded 1"]:
    """1 where some row of a context is of the coding's class, -1 where none is.

    A standardised coding that is constant says the same of a class that all rows have and of one that none has. The
    network is trained on the first, the class of some row against the others; of a class that no row has, it is
    asked about all others together, whose log odds are minus those of the class.
    """
    return 2.0 * (coded > 0).any(1, keepdim=True).to(coded.dtype) - 1.0


def class_probabilities(log_odds: Float[Tensor, "coded query"], count: int) -> Categorical:
    """The classes of each query, whose probabilities are those of each class against the others, made to sum to 1.

    Where the codings of a dataset agree with each other, nothing is changed by this. All codings count alike, so that
    exchanging classes exchanges their probabilities.

    >>> log_odds = torch.tensor([[0.3], [-0.3]])
    >>> torch.allclose(class_probabilities(log_odds, 2).probs[..., 0], torch.sigmoid(torch.tensor(0.3)))
    True
    """
    each = functional.logsigmoid(log_odds.unflatten(0, (-1, count)))  # (batch, classes, query)
    return Categorical(logits=each.transpose(1, 2), validate_args=False)
