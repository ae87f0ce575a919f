"""Baselines that work on one dataset at a time, behind a protocol that speaks of batches."""

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Float, Num
from torch import Tensor

Answer = TypeVar("Answer")


def one_by_one(
    context_x: Float[Tensor, "*batch context features"],
    context_y: Num[Tensor, "*batch context"],
    answer: Callable[[Float[Tensor, "context features"], Num[Tensor, " context"]], Answer],
) -> list[Answer]:
    """Call ``answer`` for each dataset of a batch of any shape, the last axis of the batch fastest."""
    count = context_y.shape[:-1].numel()
    x = context_x.reshape(count, *context_x.shape[-2:])
    y = context_y.reshape(count, context_y.shape[-1])
    return [answer(x[i], y[i]) for i in range(count)]
