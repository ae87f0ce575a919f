"""Units that a context itself gives: how columns and targets of a user's table are shown to a scale-free model."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.nn.functional import pad

from priorfit.errors import InputError
from priorfit.network.problem import Columns, Padding, Problem
from priorfit.network.units import Units

Table = Num[Tensor, "batch points columns"]
PerColumn = Float[Tensor, "batch 1 columns"]


@dataclass(frozen=True)
class ColumnUnits:
    """``origin + size * (x - shift) / scale``, with a shift and a scale for each column of each dataset."""

    shift: PerColumn
    scale: PerColumn
    origin: float
    size: float

    def to_model(self, x: Table) -> Float[Tensor, "batch points columns"]:
        """Columns in the units of the model's training, in the precision of the units."""
        return self.origin + self.size * ((x.to(self.shift) - self.shift) / self.scale)


@dataclass(frozen=True)
class SameColumns:
    """The columns of a model with fixed units: the numbers as they are."""

    def to_model(self, x: Table) -> Table:
        """See `ColumnUnits.to_model`."""
        return x


def column_units(x: Table, problem: Problem) -> ColumnUnits | SameColumns:
    """The units that make a context look like inputs of the model's training.

    Smallest and largest value of a column go to the ends of the trained range, where there is one; else mean and
    standard deviation go to those of training. A constant column goes to the middle, and so does a column of one row.
    Without rows nothing is known of the units, and the numbers are taken as they are.
    """
    if problem.units == "fixed" or x.shape[1] == 0:
        return SameColumns()
    x, trained = x.to(precise(x)), problem.columns or Columns()
    if trained.range is None:
        return ColumnUnits(checked(x.mean(1, keepdim=True), "context_x"), spread(x, "context_x"), *around(trained))
    low, high = trained.range
    smallest = x.amin(1, keepdim=True)
    width = checked(x.amax(1, keepdim=True) - smallest, "context_x")
    is_constant = width == 0
    return ColumnUnits(smallest - 0.5 * is_constant, torch.where(is_constant, 1.0, width), low, high - low)


def target_units(y: Num[Tensor, "batch points"], problem: Problem) -> Units | None:
    """Mean and standard deviation of a context's targets; None where the model's units are fixed.

    A constant target and a single one are shifted only; without any, the model's own units are the user's.
    """
    if problem.units == "fixed":
        return None
    y = y.to(precise(y))
    if y.shape[1] == 0:
        return Units(y.new_zeros(len(y), 1), y.new_ones(len(y), 1))
    return Units(checked(y.mean(1, keepdim=True), "context_y"), spread(y, "context_y"))


def around(columns: Columns) -> tuple[float, float]:
    """Mean and standard deviation of the columns of training."""
    return columns.mean, columns.scale


def spread(values: Float[Tensor, "batch points *columns"], name: str) -> Float[Tensor, "batch 1 *columns"]:
    """The standard deviation over points; 1 where it is 0 but for rounding, or where there is one point."""
    if values.shape[1] < 2:
        return torch.ones_like(values)
    deviation = checked(values.std(1, keepdim=True), name)
    rounding = 8 * torch.finfo(values.dtype).eps * values.abs().amax(1, keepdim=True)
    return torch.where(deviation > rounding, deviation, 1.0)


def checked(statistic: Float[Tensor, "..."], name: str) -> Float[Tensor, "..."]:
    """Refuse a statistic that the floating-point numbers cannot hold."""
    if not bool(statistic.isfinite().all()):
        raise InputError(f"{name} holds values so large that their spread overflows. Rescale them.")
    return statistic


def precise(values: Num[Tensor, "..."]) -> torch.dtype:
    """The precision of statistics: float64, but for devices that have none."""
    return torch.float32 if values.device.type == "mps" else torch.float64


def padded(
    x: Float[Tensor, "batch points columns"], num_features: int, padding: Padding = "rescaled"
) -> Float[Tensor, "batch points features"]:
    """A table as the prior shows it, with zeros in the columns that are left; see `Problem.padding`."""
    used = x.shape[-1]
    if used == num_features:
        return x
    return pad(x * (num_features / used if padding == "rescaled" else 1.0), (0, num_features - used))
