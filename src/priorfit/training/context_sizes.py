"""How many points a training dataset reveals: distributions of n on 0 ... N - 1."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import RecipeError


class ContextSizes(ABC):
    """A distribution of n, independent of how many queries follow."""

    @abstractmethod
    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """Unnormalised weights of n = 0 ... ``num_points - 1``."""

    def draw(self, num_points: int) -> int:
        """One n."""
        return int(torch.multinomial(self.weights(num_points), 1))

    def range(self, num_points: int) -> tuple[int, int]:
        """The smallest and the largest n of positive weight."""
        possible = self.weights(num_points).nonzero()[:, 0]
        return int(possible[0]), int(possible[-1])


@dataclass(frozen=True)
class UniformSizes(ContextSizes):
    """Every n from ``smallest`` on equally often.

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
    """Weight 1 / (N - n), as in the paper: with N - n queries each, every n is asked about equally often."""

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return 1 / (num_points - torch.arange(num_points).double())


@dataclass(frozen=True)
class LogUniformSizes(ContextSizes):
    """Weight 1 / (n + offset): small and large contexts alike, for a large N."""

    offset: float = 10.0

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return 1 / (self.offset + torch.arange(num_points).double())
