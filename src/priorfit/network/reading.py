"""How the numbers of a user's datasets are read: flattened to one batch axis, in the model's units, padded."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Real
from priorfit.distributions import affine
from priorfit.distributions.double import in_double
from priorfit.network.context_units import ColumnUnits, SameColumns, column_units, padded, target_units
from priorfit.network.problem import Padding, Problem
from priorfit.network.units import NoUnits, Units


@dataclass(frozen=True)
class Reading:
    """What the context decided: its datasets and columns, and the units of both; ``units`` is None where y has none."""

    batch_shape: torch.Size
    num_columns: int
    num_features: int
    columns: ColumnUnits | SameColumns
    units: Units | None
    padding: Padding = "rescaled"
    num_points: int = 0
    """Points of the context."""

    def inputs(self, x: Num[Tensor, "*batch points columns"]) -> Num[Tensor, "flat points features"]:
        """Inputs as the network sees them."""
        return padded(self.columns.to_model(flattened(x, self.batch_shape)), self.num_features, self.padding)

    def targets(self, y: Num[Tensor, "*batch points"]) -> Num[Tensor, "flat points"]:
        """Targets in the units of the model's training."""
        flat = flattened(y, self.batch_shape)
        return flat if self.units is None else self.units.to_model(flat)

    def to_user(self, ppd: Distribution, network_units: Units | NoUnits) -> Distribution:
        """A distribution over the network's y as one over the user's, in float64 where the context gave the units."""
        if self.units is None or isinstance(network_units, NoUnits):
            return network_units.reshape(*self.batch_shape).to_user(ppd)
        units = self.units.after(network_units).reshape(*self.batch_shape)
        wide = ppd if units.shift.dtype == torch.float32 else in_double(ppd)
        return affine(wide, units.scale, units.shift)


def flattened(numbers: Num[Tensor, "..."], batch_shape: torch.Size) -> Num[Tensor, "flat points *columns"]:
    """All axes of datasets as one."""
    if len(batch_shape) == 1:
        return numbers
    return numbers.reshape(batch_shape.numel(), *numbers.shape[len(batch_shape) :])


def reading_of(x: Num[Tensor, "*batch context columns"], y: Num[Tensor, "*batch context"], problem: Problem) -> Reading:
    """How the datasets of these contexts are read."""
    batch_shape = x.shape[:-2]
    flat_x: Float[Tensor, "flat context columns"] = flattened(x, batch_shape)
    units = target_units(flattened(y, batch_shape), problem) if isinstance(problem.outcome, Real) else None
    columns = column_units(flat_x, problem)
    return Reading(batch_shape, x.shape[-1], problem.num_features, columns, units, problem.padding, y.shape[-1])


def table_reading(
    x: Num[Tensor, "*batch context columns"], y: Num[Tensor, "*batch context"], problem: Problem
) -> Reading:
    """How datasets are read by a network that takes columns as they are, in any units and of any number."""
    batch_shape, columns = x.shape[:-2], x.shape[-1]
    units = target_units(flattened(y, batch_shape), problem) if isinstance(problem.outcome, Real) else None
    return Reading(batch_shape, columns, columns, SameColumns(), units, num_points=y.shape[-1])
