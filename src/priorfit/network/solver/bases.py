"""A fixed basis for smooth functions of few features: waves over a period longer than the range of the inputs."""

import math
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputRange, to_unit

MOST = 4096
"""Functions that a basis may have."""

SHORTEST_PERIOD = 1.25
"""In ranges of x: the spacing of the highest frequencies. Only rough functions have them, and those forget soon."""


@dataclass(frozen=True)
class Harmonics:
    """A constant, and the cosine and sine of ``order`` frequencies, or of all vectors of them up to that length.

    The low frequencies are spaced as whole numbers over ``period`` times the range of x: since that is longer than the
    range, functions need not be periodic. Towards the high ones the spaces grow, to what the range itself needs.
    """

    order: int = 64
    period: float = 3.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.order < 1 or self.period < SHORTEST_PERIOD:
            raise InputError(
                f"Harmonics need order >= 1 and period >= {SHORTEST_PERIOD}; "
                f"got order={self.order}, period={self.period}."
            )

    def build(self, num_features: int, input_range: InputRange | None) -> "HarmonicLayer":
        """The module; it has no weights."""
        if input_range is None:
            raise InputError(
                "Harmonics need inputs of a known range, and this prior's inputs have none. Use a LinearSolver, or a "
                "prior with UniformInputs."
            )
        return HarmonicLayer(self, num_features, input_range)


class HarmonicLayer(nn.Module):
    """The module of `Harmonics`: from inputs to the functions of the basis."""

    frequencies: Tensor

    def __init__(self, settings: Harmonics, num_features: int, input_range: InputRange) -> None:
        super().__init__()
        self.input_range = input_range
        if num_features > MOST or (2 * settings.order) ** num_features > 16 * MOST:
            raise InputError(too_many(settings, num_features))
        vectors = torch.tensor(waves(settings.order, num_features)).double()
        if 2 * len(vectors) + 1 > MOST:
            raise InputError(too_many(settings, num_features))
        growth = settings.period / SHORTEST_PERIOD - 1
        stretch = 1 + growth * vectors.norm(dim=-1, keepdim=True) / (2 * settings.order)
        frequencies = nn.functional.pad((math.pi / settings.period * stretch * vectors).T.float(), (1, 0))
        self.register_buffer("frequencies", frequencies, persistent=False)  # the first is that of the constant

    @property
    def lengths(self) -> Float[Tensor, " functions"]:
        """The angular frequency of each function, over half of the range of x."""
        waves = self.frequencies.norm(dim=0)
        return torch.cat([waves, waves[1:]])

    def forward(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points functions"]:
        """The functions at inputs."""
        unit = to_unit(x, self.input_range)
        angles = unit @ self.frequencies.to(x.dtype)
        return torch.cat([angles.cos(), angles[..., 1:].sin()], dim=-1)


def waves(order: int, num_features: int) -> list[tuple[int, ...]]:
    """Vectors of whole numbers of length up to ``order``, without 0; of a vector and its opposite only one.

    >>> waves(2, 1), len(waves(2, 2))
    ([(1,), (2,)], 6)
    """
    every = product(range(-order, order + 1), repeat=num_features)
    zero = (0,) * num_features
    return sorted(v for v in every if v > zero and sum(part**2 for part in v) <= order**2)


def too_many(settings: Harmonics, num_features: int) -> str:
    """What to say of a basis that is too large."""
    return (
        f"Harmonics may have at most {MOST} functions; those of {num_features} features up to order "
        f"{settings.order} are more. Lower the order, or use a LinearSolver."
    )
