"""How many points a training dataset has and reveals: distributions of n on 0 ... N - 1, and how N grows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import RecipeError
from priorfit.fields import check_fields


class ContextSizes(ABC):
    """A distribution of n, independent of how many queries follow."""

    @abstractmethod
    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """Unnormalised weights of n = 0 ... ``num_points - 1``."""

    def draw(self, num_points: int) -> int:
        """Draw one context size."""
        return int(torch.multinomial(self.weights(num_points), 1))

    def range(self, num_points: int) -> tuple[int, int]:
        """The smallest and the largest n of positive weight."""
        possible = self.weights(num_points).nonzero()[:, 0]
        return int(possible[0]), int(possible[-1])


@dataclass(frozen=True)
class UniformSizes(ContextSizes):
    """Uniform over all n from ``smallest`` on.

    >>> UniformSizes().range(24)
    (0, 23)
    """

    smallest: int = 0

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        if not 0 <= self.smallest < num_points:
            raise RecipeError(
                f"the smallest context must be at least 0 and below num_points = {num_points}; got {self.smallest}."
            )
        return (torch.arange(num_points) >= self.smallest).double()


@dataclass(frozen=True)
class PaperSizes(ContextSizes):
    """Weight 1 / (N - n), as in the paper: with N - n queries each, every n has equally many queries in expectation."""

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return 1 / (num_points - torch.arange(num_points).double())


@dataclass(frozen=True)
class LogUniformSizes(ContextSizes):
    """Weight 1 / (n + offset): about as many small contexts as large ones, where N is large."""

    offset: float = 10.0

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return 1 / (self.offset + torch.arange(num_points).double())


@dataclass(frozen=True)
class PowerSizes(ContextSizes):
    """Weight (n + offset) ** -power from ``smallest`` on: large contexts, whose steps take long, are rare.

    >>> PowerSizes(offset=30.0, power=2.0, smallest=2).range(501)
    (2, 500)
    """

    offset: float = 30.0
    power: float = 2.0
    smallest: int = 0

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if self.offset <= 0 or self.smallest < 0:
            raise RecipeError(f"an offset must be positive and the smallest context at least 0; got {self}.")

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return (
            UniformSizes(self.smallest).weights(num_points)
            / (self.offset + torch.arange(num_points).double()) ** self.power
        )


@dataclass(frozen=True)
class Growth:
    """A curriculum: N grows in equal strides from ``first`` to its full value, which it has from step ``steps`` on.

    >>> [Growth(first=10, steps=100).num_points(50, step) for step in (0, 50, 100, 1000)]
    [10, 30, 50, 50]
    """

    first: int
    steps: int

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if self.first < 1 or self.steps < 1:
            raise RecipeError(f"a growth needs first and steps of at least 1; got {self}.")

    def num_points(self, full: int, step: int) -> int:
        """N at a step, where it ends at ``full``."""
        return min(full, self.first + (full - self.first) * min(step, self.steps) // self.steps)
