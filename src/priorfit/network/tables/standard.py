"""Columns in units of the context, where values may be missing."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.network.context_units import checked, precise


@dataclass(frozen=True)
class StandardColumns:
    """``(x - shift) / scale`` for each column of each dataset, in float64, then in the network's ``dtype``."""

    shift: Float[Tensor, "batch 1 columns"]
    scale: Float[Tensor, "batch 1 columns"]
    dtype: torch.dtype

    def to_model(self, x: Num[Tensor, "batch rows columns"]) -> Float[Tensor, "batch rows columns"]:
        """Columns with mean 0 and standard deviation 1 over the context; NaN stays NaN."""
        return ((x.to(self.shift) - self.shift) / self.scale).to(self.dtype)


def standard_columns(x: Num[Tensor, "batch context columns"], dtype: torch.dtype) -> StandardColumns:
    """The units of a context's columns; a column that is constant, or has no value, keeps its scale.

    >>> standard_columns(torch.tensor([[[1.0], [float("nan")], [3.0]]]), torch.float32).shift
    tensor([[[2.]]], dtype=torch.float64)
    """
    wide = x.to(precise(x))
    known = ~wide.isnan()
    count = known.sum(1, keepdim=True).clamp(min=1)
    filled = wide.masked_fill(~known, 0.0)
    shift = checked(filled.sum(1, keepdim=True) / count, "context_x")
    deviations = (filled - shift).masked_fill(~known, 0.0)
    scale = checked((deviations.square().sum(1, keepdim=True) / count).sqrt(), "context_x")
    largest = filled.abs().amax(1, keepdim=True) if x.shape[1] else torch.zeros_like(scale)
    rounding = 8 * torch.finfo(wide.dtype).eps * largest
    return StandardColumns(shift, torch.where(scale > rounding, scale, 1.0), dtype)
