"""Distributions of the inputs x."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.errors import InputError
from priorfit.fields import check_fields


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
        check_fields(self)
        if not (self.low < self.high and isfinite(self.low) and isfinite(self.high)):
            raise InputError(f"UniformInputs needs finite low < high; got low={self.low}, high={self.high}.")

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        return self.low, self.high

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        return self.low + (self.high - self.low) * torch.rand(batch_size, num_points, num_features)


@dataclass(frozen=True)
class NormalInputs(Inputs):
    """Every coordinate from N(mean, scale^2), as in the paper's BNN studies.

    >>> NormalInputs().sample(2, 5, 3).shape
    torch.Size([2, 5, 3])
    """

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if not (self.scale > 0 and isfinite(self.scale) and isfinite(self.mean)):
            raise InputError(f"NormalInputs needs a finite mean and scale > 0; got {self.mean} and {self.scale}.")

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        return None

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        return self.mean + self.scale * torch.randn(batch_size, num_points, num_features)


@dataclass(frozen=True)
class ClusteredInputs(Inputs):
    """Points in one to ``most`` clusters within [low, high]; each coordinate is uniform on an interval of a cluster.

    The width of a dataset's clusters is log-uniform between a hundredth of ``width`` and ``width`` itself, as a share
    of high - low, so that some points nearly coincide.

    >>> ClusteredInputs(most=2, width=0.1).sample(2, 5, 3).shape
    torch.Size([2, 5, 3])
    """

    low: float = 0.0
    high: float = 1.0
    most: int = 3
    width: float = 0.2

    def __post_init__(self) -> None:
        """Check the fields."""
        if not (self.low < self.high and isfinite(self.low) and isfinite(self.high)):
            raise InputError(f"ClusteredInputs needs finite low < high; got low={self.low}, high={self.high}.")
        if self.most < 1 or not 0 < self.width <= 1:
            raise InputError(
                "ClusteredInputs needs at least one cluster and a width in (0, 1], as a share of the range; "
                f"got most={self.most}, width={self.width}."
            )

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        return self.low, self.high

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        width = self.width * 0.01 ** torch.rand(batch_size, 1, 1)
        starts = torch.rand(batch_size, self.most, num_features) * (1 - width)
        clusters = torch.randint(1, self.most + 1, (batch_size, 1))
        chosen = (torch.rand(batch_size, num_points) * clusters).long()  # (batch, points)
        start = starts.gather(1, chosen[..., None].expand(-1, -1, num_features))
        share = start + width * torch.rand(batch_size, num_points, num_features)
        return self.low + (self.high - self.low) * share


@dataclass(frozen=True)
class MixtureInputs(Inputs):
    """All points of a dataset from one of several distributions, chosen with the given weights.

    >>> MixtureInputs([UniformInputs(), NormalInputs()]).sample(2, 5, 3).shape
    torch.Size([2, 5, 3])
    """

    parts: Sequence[Inputs]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "weights", None if self.weights is None else tuple(self.weights))
        check_weights(self.weights, len(self.parts))

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`."""
        ranges = [part.range for part in self.parts]
        known = [each for each in ranges if each is not None]
        if len(known) < len(ranges):
            return None
        return min(low for low, _ in known), max(high for _, high in known)

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        choice = choices(self.weights, len(self.parts), batch_size)
        drawn = torch.stack([part.sample(batch_size, num_points, num_features) for part in self.parts])
        return drawn[choice, torch.arange(batch_size)]


@dataclass(frozen=True)
class RescaledInputs(Inputs):
    """Inputs that their prior multiplies, after drawing its function, by a factor from [1, largest_factor]."""

    inner: Inputs
    largest_factor: float

    @property
    def range(self) -> tuple[float, float] | None:
        """See `Inputs.range`; it holds what is 0 and what is multiplied."""
        if self.inner.range is None:
            return None
        low, high = self.inner.range
        return min(0.0, self.largest_factor * low), max(0.0, self.largest_factor * high)

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`; not yet multiplied."""
        return self.inner.sample(batch_size, num_points, num_features)


def choices(weights: Sequence[float] | None, count: int, batch_size: int) -> Int[Tensor, " batch"]:
    """For each dataset, the index of one of ``count`` options."""
    share = torch.ones(count) if weights is None else torch.tensor(weights, dtype=torch.float64)
    return torch.multinomial(share, batch_size, replacement=True)


def check_weights(weights: Sequence[float] | None, count: int) -> None:
    """Refuse weights that do not fit ``count`` options."""
    if count < 1:
        raise InputError("a mixture needs at least one part; got none.")
    if weights is None:
        return
    if len(weights) != count:
        raise InputError(f"a mixture needs one weight for each of its {count} parts; got {len(weights)} weights.")
    if not all(isfinite(weight) and weight >= 0 for weight in weights) or sum(weights) <= 0:
        raise InputError(f"weights must be finite, at least 0, and not all 0; got {list(weights)}.")
