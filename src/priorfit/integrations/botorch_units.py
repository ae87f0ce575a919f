"""From a user's box and outcomes to a model's own range and units, and the way back."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError, ShapeError
from priorfit.network import Model
from priorfit.network.context_units import spread
from priorfit.network.units import Units

SLACK = 1e-6
"""Share of a box by which points may lie outside: optimisers round."""

Box = Float[Tensor, "2 columns"]
Inputs = Float[Tensor, "*batch points columns"]
Outcomes = Float[Tensor, "*batch points 1"]


@dataclass(frozen=True)
class Scaling:
    """A user's ``bounds`` to the ``low`` and ``high`` end of the trained inputs, and outcomes to their ``units``."""

    bounds: Box
    low: float
    high: float
    units: Units

    def inputs(self, x: Inputs) -> Inputs:
        """Inputs in the model's range; those outside of the box are refused."""
        lower, upper = self.bounds.to(x)
        share = (x - lower) / (upper - lower)
        outside = (share.detach() < -SLACK) | (share.detach() > 1 + SLACK)
        if bool(outside.any()):
            column = int(outside.flatten(0, -2).any(0).nonzero()[0, 0])
            ends = f"[{float(lower[column]):g}, {float(upper[column]):g}]"
            value = float(x[..., column].detach()[outside[..., column]][0])
            raise InputError(
                f"X must lie in the box that the model is asked about; column {column} has bounds {ends} and holds "
                f"{value:g}. Give PFNModel the bounds of your problem: bounds=torch.tensor([[low, ...], [high, ...]])."
            )
        return self.low + (self.high - self.low) * share.clamp(0, 1)

    def outcomes(self, y: Outcomes) -> Float[Tensor, "*batch points"]:
        """Outcomes in the model's units."""
        return self.units.to_model(y[..., 0])


def scaling_of(
    model: Model, x: Inputs, y: Outcomes, bounds: Float[Tensor, "..."] | None, outcome_units: Units | None
) -> Scaling:
    """The scaling for the data of a problem; outcomes are shown with mean 0 and deviation 1 unless units are given."""
    low, high = trained_range(model)
    columns = x.shape[-1]
    if bounds is None:
        bounds = x.new_tensor([[low] * columns, [high] * columns])
    if tuple(bounds.shape) != (2, columns):
        raise ShapeError(f"bounds must have shape (2, columns) = (2, {columns}); got {tuple(bounds.shape)}.")
    check_order(bounds)
    return Scaling(bounds.to(x), low, high, outcome_units or standard_units(y))


def check_order(bounds: Box) -> None:
    """Refuse a box whose upper bounds do not lie above its lower ones."""
    if not bool((bounds[1] > bounds[0]).all() and bounds.isfinite().all()):
        raise InputError(f"bounds must be finite, the upper ones above the lower ones; got {bounds.tolist()}.")


def standard_units(y: Outcomes) -> Units:
    """Mean and standard deviation of each dataset's outcomes; equal ones and a single one are shifted only."""
    if not y.shape[-2]:
        return Units(y.new_zeros(*y.shape[:-2], 1), y.new_ones(*y.shape[:-2], 1))
    flat = y.detach()[..., 0].reshape(-1, y.shape[-2])
    shape = (*y.shape[:-2], 1)
    return Units(flat.mean(1, keepdim=True).reshape(shape), spread(flat, "train_Y").reshape(shape))


def trained_range(model: Model) -> tuple[float, float]:
    """The interval in which every column of training lay, or an error where there is none."""
    problem = model.problem
    found = problem.input_range if problem.columns is None else problem.columns.range
    if found is None:
        raise InputError(
            f"PFNModel needs a model whose inputs lay in a box; those of {model.card.name!r} have no bounds. Use one "
            "of a prior with UniformInputs."
        )
    return found


def check_data(model: Model, x: Float[Tensor, "..."], y: Float[Tensor, "..."]) -> None:
    """Refuse models and data for which there is no answer; each mistake has its sentence."""
    if isinstance(model.problem.outcome, Classes):
        raise InputError(
            f"PFNModel needs a model of real outcomes; {model.card.name!r} answers {model.problem.outcome.count} "
            "classes."
        )
    if x.ndim < 2 or y.ndim != x.ndim or y.shape[-1] != 1 or y.shape[:-1] != x.shape[:-1]:
        raise ShapeError(
            "train_X must have shape (*batch, n, d) and train_Y (*batch, n, 1), one outcome; got "
            f"{tuple(x.shape)} and {tuple(y.shape)}."
        )
    if not model.problem.fewest_features <= x.shape[-1] <= model.problem.num_features:
        raise ShapeError(f"this model takes {model.problem.takes}; train_X has {x.shape[-1]}.")
    if not bool(y.isfinite().all()):
        raise InputError(
            "train_Y holds NaN or infinite outcomes; drop failed evaluations, or give them a value that is bad but "
            "finite."
        )
    if not bool(x.isfinite().all()):
        raise InputError("train_X holds NaN or infinite values.")
    trained = model.card.trained_context
    if trained is not None and x.shape[-2] > trained[1]:
        raise InputError(
            f"this model was trained on at most {trained[1]} points and is given {x.shape[-2]}. Keep the best and the "
            "latest of them, or train a model with a larger num_points."
        )
