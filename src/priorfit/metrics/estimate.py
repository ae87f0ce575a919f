"""A mean over datasets with its uncertainty."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Estimate:
    """A mean over datasets and the half-width of its 95 % interval, which is infinite for a single dataset.

    >>> print(Estimate.over(torch.tensor([1.0, 2.0, 3.0])))
    2.000 ± 1.132
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
        """The mean and the half-width: 1.234 ± 0.012."""
        return f"{self.mean:z.3f} ± {self.half_width:.3f}"
