"""Are context and queries what the model expects? Each mistake gets its own sentence."""

from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError, ShapeError
from priorfit.network.settings import Task


def checked_context(context_x: Num[Tensor, "..."], context_y: Num[Tensor, "..."], task: Task) -> None:
    """Refuse contexts of wrong shape, or with values that no network can read."""
    check_inputs(context_x, task, "context_x", "context")
    if context_y.shape != context_x.shape[:-1]:
        raise ShapeError(
            f"context_y must have shape (*batch, context) = {tuple(context_x.shape[:-1])} to match context_x of shape "
            f"{tuple(context_x.shape)}; got {tuple(context_y.shape)}. Put the batch first."
        )
    if not is_finite(context_y):
        raise InputError("context_y holds NaN or infinite values; drop those points from the context.")
    if isinstance(task.outcome, Classes) and context_y.numel():
        whole = bool((context_y == context_y.round()).all())
        if not whole or context_y.min() < 0 or context_y.max() >= task.outcome.count:
            raise InputError(
                f"context_y must hold the classes 0 ... {task.outcome.count - 1}; got values from "
                f"{context_y.min():g} to {context_y.max():g}{'' if whole else ', not all whole'}."
            )


def check_inputs(x: Num[Tensor, "..."], task: Task, name: str, axis: str) -> None:
    """Refuse inputs of wrong shape or with values that are not finite."""
    if x.ndim < 2 or x.shape[-1] != task.num_features:
        raise ShapeError(
            f"{name} must have shape (*batch, {axis}, features) with {task.num_features} feature(s); "
            f"got {tuple(x.shape)}." + (" Add the axis of features: x[..., None]." if x.ndim == 1 else "")
        )
    if not is_finite(x):
        raise InputError(f"{name} holds NaN or infinite values; this model has no token for missing inputs.")


def is_finite(numbers: Num[Tensor, "..."]) -> bool:
    """Whether all are; a sum tells it four times as fast, unless it is too large itself."""
    return bool(numbers.sum().isfinite()) or bool(numbers.isfinite().all())


def check_queries(query_x: Num[Tensor, "..."], batch_shape: tuple[int, ...], task: Task) -> None:
    """Refuse queries whose datasets are not those of the context."""
    check_inputs(query_x, task, "query_x", "query")
    if query_x.shape[:-2] != batch_shape:
        raise ShapeError(
            f"query_x must have the batch shape of the context, {tuple(batch_shape)}: expected "
            f"({', '.join([*map(str, batch_shape), 'query', str(task.num_features)])}), got {tuple(query_x.shape)}."
        )
