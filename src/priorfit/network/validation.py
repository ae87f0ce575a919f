"""Are context and queries what the model expects? Each mistake gets its own sentence."""

import math

import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError, ShapeError
from priorfit.network.problem import Problem
from priorfit.values import as_tensor


def checked_context(
    context_x: object, context_y: object, problem: Problem
) -> tuple[Num[Tensor, "*batch context columns"], Num[Tensor, "*batch context"]]:
    """A context as tensors; refuse wrong shapes, and values that no network can read."""
    x, y = as_tensor(context_x, "context_x"), as_tensor(context_y, "context_y")
    check_inputs(x, problem, "context_x", "context")
    if y.shape != x.shape[:-1]:
        raise ShapeError(
            f"context_y must have shape (*batch, context) = {tuple(x.shape[:-1])} to match context_x of shape "
            f"{tuple(x.shape)}; got {tuple(y.shape)}. Put the batch first."
        )
    if not is_finite(y):
        raise InputError("context_y holds NaN or infinite values; drop those points from the context.")
    if isinstance(problem.outcome, Classes) and y.numel():
        check_labels(y, problem.outcome)
    return x, y


def check_labels(y: Num[Tensor, "..."], outcome: Classes) -> None:
    """Refuse labels other than 0 ... count - 1."""
    whole = bool((y == y.round()).all()) if y.is_floating_point() else True
    if not whole or y.min() < 0 or y.max() >= outcome.count:
        raise InputError(
            f"context_y must hold the classes 0 ... {outcome.count - 1}; got values from "
            f"{y.min():g} to {y.max():g}{'' if whole else ', not all whole'}."
        )


def check_inputs(x: Num[Tensor, "..."], problem: Problem, name: str, axis: str) -> None:
    """Refuse inputs of wrong shape or with values that are not finite; NaN is a missing value where models know it."""
    if x.ndim < 2 or not problem.fewest_features <= x.shape[-1] <= problem.num_features:
        raise ShapeError(
            f"{name} must have shape (*batch, {axis}, columns) with {problem.takes}; "
            f"got {tuple(x.shape)}." + (" Add the axis of columns: x[..., None]." if x.ndim == 1 else "")
        )
    if problem.missing and bool(x.isinf().any()):
        raise InputError(f"{name} holds infinite values; a missing value is NaN.")
    if not problem.missing and not is_finite(x):
        raise InputError(f"{name} holds NaN or infinite values; this model has no token for missing inputs.")


def is_finite(numbers: Num[Tensor, "..."]) -> bool:
    """Check that all values are finite.

    One sum is four times as fast as ``isfinite().all()``; only a sum that is not finite needs the slow check.
    """
    return math.isfinite(numbers.sum().item()) or bool(numbers.isfinite().all())


def checked_queries(
    query_x: object, batch_shape: tuple[int, ...], num_columns: int, problem: Problem, name: str = "query_x"
) -> Num[Tensor, "*batch query columns"]:
    """Queries as a tensor; refuse those whose datasets or columns are not those of the context."""
    x = as_tensor(query_x, name)
    check_inputs(x, problem, name, "query")
    if x.shape[-1] != num_columns:
        raise ShapeError(
            f"{name} must have the {num_columns} column(s) of the context; got {tuple(x.shape)} with {x.shape[-1]}."
        )
    if x.shape[:-2] != batch_shape:
        raise ShapeError(
            f"{name} must have the batch shape of the context, {tuple(batch_shape)}: expected "
            f"({', '.join([*map(str, batch_shape), 'query', str(num_columns)])}), got {tuple(x.shape)}."
        )
    return x


def readable(numbers: Num[Tensor, "..."], like: Num[Tensor, "..."], name: str) -> Num[Tensor, "..."]:
    """Numbers in the dtype and on the device of the weights, or an error where they do not fit; NaN stays NaN."""
    narrowed = numbers.to(like)
    if numbers.dtype != like.dtype and not is_finite(narrowed) and bool(narrowed.isinf().any()):
        raise InputError(
            f"{name} holds values beyond {torch.finfo(like.dtype).max:.2g}, the largest that this model can read. "
            "Rescale them."
        )
    return narrowed


def require_precision(dtype: torch.dtype) -> None:
    """Refuse weights of 16 bits in a network with a solver: gains and noise are exponentials of them, and then wrong.

    >>> require_precision(torch.bfloat16)
    Traceback (most recent call last):
    priorfit.errors.InputError: a network with a solver needs weights of float32 or float64; got torch.bfloat16. ...
    """
    if dtype.itemsize < 4:
        raise InputError(
            f"a network with a solver needs weights of float32 or float64; got {dtype}. Cast it: model.float(). (A "
            "file may hold 16 bits: save(path, dtype=torch.float16); it is loaded as float32.)"
        )
