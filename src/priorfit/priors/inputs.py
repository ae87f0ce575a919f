"""Distributions of the inputs x."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import InputError


class Inputs(ABC):
    """Draws inputs, independent of each other and of any function."""

    @property
    @abstractmethod
    def range(self) -> tuple[float, float] | None:
        """The interval that holds every coordinate, or None where there is no such interval."""

    @abstractmethod
    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """Draw ``(batch_size, num_points, num_features)`` inputs."""


@dataclass(frozen=True)
class UniformInputs(Inputs):
    """Every coordinate uniform on [low, high], as in the paper's GP studies.

    >>> UniformInputs(-1.0, 1.0).sample(2, 5, 3).shape
    torch.Size([2, 5, 3])
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if not self.low < self.high:
            raise InputError(f"UniformInputs needs low < high; got low={self.low}, high={self.high}.")

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        return self.low, self.high

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        return self.low + (self.high - self.low) * torch.rand(batch_size, num_points, num_features)


@dataclass(frozen=True)
class NormalInputs(Inputs):
    """Every coordinate from N(mean, scale^2), as in the paper's BNN studies."""

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.scale <= 0:
            raise InputError(f"NormalInputs needs scale > 0; got {self.scale}.")

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        return None

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        return self.mean + self.scale * torch.randn(batch_size, num_points, num_features)
