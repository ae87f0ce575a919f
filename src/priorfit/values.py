"""Numbers as users have them (tensors, arrays, lists, frames) as tensors."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.distributions.values import check_dense, check_unmasked
from priorfit.errors import InputError


@runtime_checkable
class HasArray(Protocol):
    """Objects that numpy can read: arrays, tensors, frames and series of pandas."""

    def __array__(self) -> Any: ...


Values: TypeAlias = HasArray | Sequence[Any]
"""Numbers in any form that `as_tensor` reads."""


def as_tensor(values: object, name: str) -> Num[Tensor, "..."]:
    """Numbers as a tensor: a tensor stays as it is, arrays, frames and lists become float64 or whole numbers.

    Truth values become 0 and 1. ``name`` is what errors call the argument.

    >>> as_tensor([[0, 1], [2, 3.5]], "x").dtype
    torch.float64
    >>> as_tensor([True, False], "context_y")
    tensor([1, 0])
    """
    tensor = values if isinstance(values, Tensor) else _from_array(_array(values, name), name)
    if tensor.is_complex():
        raise InputError(f"{name} must hold real numbers; got {tensor.dtype}. Give its real and imaginary parts apart.")
    check_dense(tensor, name)
    return tensor.long() if tensor.dtype == torch.bool else tensor


def _array(values: object, name: str) -> np.ndarray:
    if not isinstance(values, HasArray | Sequence) or isinstance(values, str | bytes):
        raise InputError(
            f"{name} must hold numbers: a tensor, an array, a list or a frame; got {type(values).__name__}."
        )
    check_unmasked(values, name)
    try:
        array = np.asarray(values)
        return array.astype(np.float64) if array.dtype == object else array
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} must hold numbers in rows of equal length; got something else ({error}). Encode text first, fill "
            "or drop what is missing, or use PFNClassifier and PFNRegressor of priorfit.estimators."
        ) from error


def _from_array(array: np.ndarray, name: str) -> Tensor:
    if array.dtype.kind not in "biufc":
        raise InputError(
            f"{name} must hold numbers; got an array of {array.dtype}. Encode text and dates as numbers first."
        )
    if array.dtype.kind in "bi":
        return torch.tensor(array.astype(np.int64))
    return torch.tensor(array if array.dtype.kind == "c" else array.astype(np.float64))
