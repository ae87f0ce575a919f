"""Units of columns and targets, from the training rows alone."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from priorfit.errors import InputError
from priorfit.estimators.trained_inputs import TrainedInputs

Columns = Float[np.ndarray, "rows features"]
PerColumn = Float[np.ndarray, " features"]
Statistic = Float[np.ndarray, "*columns"]


@dataclass(frozen=True)
class ColumnUnits:
    """``origin + size * (x - shift) / scale``, with a shift and a scale for each column."""

    shift: PerColumn
    scale: PerColumn
    origin: float
    size: float

    def inward(self, x: Columns) -> Columns:
        """Columns in the units of the model's training."""
        return self.origin + self.size * ((x - self.shift) / self.scale)


@np.errstate(over="ignore", invalid="ignore")  # `checked` speaks of it
def column_units(x: Columns, trained: TrainedInputs) -> ColumnUnits:
    """The units that make training rows look like inputs of the model's training.

    Smallest and largest value of a column go to the ends of a range, where the model has one; else its mean and
    standard deviation go to those of the model's inputs. A constant column goes to the middle.
    """
    if trained.reach is None:
        return ColumnUnits(checked(x.mean(0), "X"), spread(x, "X"), trained.mean, trained.scale)
    low, high = trained.reach
    smallest, width = x.min(0), checked(np.ptp(x, axis=0), "X")
    is_constant = width == 0
    return ColumnUnits(smallest - 0.5 * is_constant, np.where(is_constant, 1.0, width), low, high - low)


@np.errstate(over="ignore", invalid="ignore")
def target_units(y: Float[np.ndarray, " rows"]) -> tuple[float, float]:
    """Mean and standard deviation of the targets; as in `Standardized`, a constant is shifted only."""
    return float(checked(np.asarray(y.mean()), "y")), float(spread(y, "y"))


def spread(values: Float[np.ndarray, "rows *columns"], name: str) -> Statistic:
    """The standard deviation of the rows; 1 where it is 0 but for rounding, or where there is one row."""
    if len(values) < 2:
        return np.ones(values.shape[1:])
    deviation = checked(np.asarray(values.std(0, ddof=1)), name)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(values).max(0)
    return np.where(deviation > rounding, deviation, 1.0)


def checked(statistic: Statistic, name: str) -> Statistic:
    """Refuse a statistic that float64 cannot hold."""
    if not np.isfinite(statistic).all():
        raise InputError(f"{name} holds values so large that their spread overflows. Rescale them.")
    return statistic
