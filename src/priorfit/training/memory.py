"""Whether a run can fit into memory at all, before anything is allocated or written."""

import os
from math import inf

from priorfit.errors import RecipeError
from priorfit.network import NetworkSettings
from priorfit.training.recipe import Recipe

BYTES = 4
"""Of a float32."""
COPIES = 4
"""Weights, their gradients, their moving average, and at least one buffer of the optimiser."""


def check_memory(recipe: Recipe) -> None:
    """Refuse sizes that no step can fit; what is counted is a lower bound, so no run that fits is refused."""
    available = physical_memory()
    for words, needed in (
        (f"a step's points (batch_size={recipe.data.batch_size}, num_points={recipe.num_points})", point_bytes(recipe)),
        (f"the weights of a network of width={recipe.network.width}", weight_bytes(recipe)),
    ):
        if needed > available:
            raise RecipeError(
                f"{words} need at least {gigabytes(needed)} of memory; this machine has {gigabytes(available)}. "
                "Choose smaller sizes."
            )


def point_bytes(recipe: Recipe) -> int:
    """The bytes of the inputs and targets of one micro-batch."""
    return BYTES * recipe.data.batch_size * recipe.num_points * (recipe.prior.num_features + 1)


def weight_bytes(recipe: Recipe) -> int:
    """The bytes of the attention and feedforward matrices, in all copies that training holds."""
    network = recipe.network
    per_layer = 4 * network.width**2
    if isinstance(network, NetworkSettings):
        per_layer += 2 * network.width * network.feedforward
    return BYTES * COPIES * network.layers * per_layer


def physical_memory() -> float:
    """The bytes of this machine's memory; infinite where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system has them
        return inf


def gigabytes(count: float) -> str:
    """Bytes in words.

    >>> gigabytes(14_400_000_000)
    '14 GB'
    """
    return (
        f"{count / 1e9:.2g} GB" if count < 1e11 else f"{count / 1e9:.0f} GB" if count < 1e13 else f"{count:.0e} bytes"
    )
