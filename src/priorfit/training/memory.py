"""Whether a recipe fits into the memory of this machine, checked before anything is allocated."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import torch

from priorfit.errors import TrainingError
from priorfit.network.allowance import Allowance, TooLarge
from priorfit.training.recipe import Recipe

Built = TypeVar("Built")

CGROUP = Path("/sys/fs/cgroup/memory.max")
"""The file in which Linux states the memory limit of a container."""

COPIES = 4
"""Tensors of the size of the weights during training: weights, gradients, and two moments of Adam."""

NUMBER_BYTES = 4
MOST_TENSORS = 10_000


def memory() -> float:
    """Bytes of this machine, or of its container; infinity where the system does not say.

    >>> memory() > 1e8
    True
    """
    if os.name != "posix":
        return float("inf")
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit
        return whole


def batch_bytes(recipe: Recipe) -> int:
    """A lower bound of the memory of a micro-batch: its tokens in the forward and the backward pass."""
    data, network = recipe.data, recipe.network
    points = data.batch_size * (recipe.num_points if data.num_queries is None else data.num_queries)
    return NUMBER_BYTES * points * (recipe.prior.num_features + 2 + network.width * (2 * network.layers + 1))


def check_batch(recipe: Recipe) -> None:
    """Refuse a recipe whose batches cannot fit."""
    needed = max(batch_bytes(recipe), 8 * recipe.num_points)  # the weights of context sizes are in float64
    if needed > memory():
        raise TrainingError(
            f"a batch of this recipe takes at least {needed / 1e9:,.0f} GB, and this machine has "
            f"{memory() / 1e9:,.0f} GB. Lower num_points ({recipe.num_points:,}), data.batch_size "
            f"({recipe.data.batch_size:,}) or network.width ({recipe.network.width:,})."
        )


def built_within_memory(build: Callable[[], Built]) -> Built:
    """Build a network, or refuse before allocating it where its weights cannot be trained on this machine."""
    try:
        with Allowance(memory() / NUMBER_BYTES / COPIES, MOST_TENSORS):
            return build()
    except TooLarge as error:
        raise TrainingError(
            f"this recipe's network is too large for the {memory() / 1e9:,.0f} GB of this machine ({error}). Lower "
            "network.width, network.layers or the sizes of its parts."
        ) from error


@contextmanager
def readable_memory_errors() -> Iterator[None]:
    """Turn torch's errors of exhausted memory into a `TrainingError` that says what to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            f"out of memory ({str(error).splitlines()[0]}). Lower num_points, data.batch_size (raise "
            "data.micro_batches instead) or network.width."
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error of torch or Python means that memory ran out."""
    kinds = (MemoryError, torch.OutOfMemoryError)
    return isinstance(error, kinds) or "allocate memory" in str(error) or "enough memory" in str(error)
