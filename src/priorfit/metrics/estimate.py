"""A mean over datasets with its uncertainty."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = 5e-4
"""Smallest number that three decimals can tell from zero."""
MOST_DECIMALS = 4
"""Most decimals that are printed; smaller numbers are written with an exponent."""


@dataclass(frozen=True)
class Estimate:
    """A mean over datasets and the half-width of its 95 % interval, which is infinite for a single dataset.

    >>> print(Estimate.over(torch.tensor([1.0, 2.0, 3.0])))
    2.000 ± 1.132
    >>> print(Estimate(4.2e-6, 1.1e-6, count=1000), "or", Estimate(0.01234, 0.00021, count=1000))
    4e-06 ± 1e-06 or 0.0123 ± 0.0002
    """

    mean: float
    half_width: float
    count: int

    @classmethod
    def over(cls, values: Float[Tensor, "*datasets"]) -> "Estimate":
        """The estimate from one value of each dataset."""
        values = values.detach().to("cpu", torch.float64)
        count = values.numel()
        half_width = 1.96 * values.std().item() / math.sqrt(count) if count > 1 else math.inf
        return cls(mean=values.mean().item(), half_width=half_width, count=count)

    def __str__(self) -> str:
        """Mean and half-width: 1.234 ± 0.012, with more digits where the half-width needs them: 4e-06 ± 1e-06."""
        if not 0 < self.half_width < SMALLEST:
            return f"{nats(self.mean)} ± {nats(self.half_width)}"
        decimals = -math.floor(math.log10(self.half_width))
        if decimals <= MOST_DECIMALS or abs(self.mean) >= SMALLEST:
            return f"{self.mean:z.{decimals}f} ± {self.half_width:.{decimals}f}"
        digits = decimals + math.floor(math.log10(abs(self.mean))) if self.mean else 0
        return f"{self.mean:.{max(digits, 0)}e} ± {self.half_width:.0e}"


def nats(value: float) -> str:
    """A number with three decimals, or with one digit where these would all be zero.

    >>> nats(0.0123), nats(4.2e-6), nats(-0.0)
    ('0.012', '4e-06', '0.000')
    """
    return f"{value:.0e}" if 0 < abs(value) < SMALLEST else f"{value:z.3f}"
