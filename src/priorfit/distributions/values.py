"""Tensors from the numbers, lists, arrays and tensors at which a distribution is evaluated."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.errors import InputError, ShapeError

Values = Num[Tensor, "..."] | Num[np.ndarray, "..."] | np.number | float | Sequence
"""One or several real numbers; several broadcast with the batch shape of the distribution."""


def as_values(value: Values, like: Float[Tensor, "..."], batch_shape: torch.Size) -> Float[Tensor, "..."]:
    """Values that broadcast with a batch shape.

    A tensor of several floats stays as it is, and so does its precision; anything else takes the dtype of ``like``.

    >>> as_values(1, torch.zeros(3), torch.Size([3])), as_values([0.5, 2.0], torch.zeros(()), torch.Size([]))
    (tensor(1.), tensor([0.5000, 2.0000]))
    """
    values = value if isinstance(value, Tensor) else torch.from_numpy(_array(value)).to(like.device, like.dtype)
    if values.dtype is torch.bool or values.is_complex():
        raise InputError(f"expected real numbers; got a tensor of {values.dtype}.")
    if values.shape != batch_shape:
        _check_shape(values.shape, batch_shape)
    return values if values.ndim and values.is_floating_point() else values.to(like.dtype)


def as_levels(value: Values, like: Float[Tensor, "..."], batch_shape: torch.Size) -> Float[Tensor, "..."]:
    """Levels of quantiles in float64, in which the small tail above a level keeps its digits.

    >>> 1 - as_levels(0.999999, torch.zeros(3), torch.Size([3]))
    tensor(1.0000e-06, dtype=torch.float64)
    """
    return as_values(value, like.new_empty((), dtype=torch.float64), batch_shape).double()


def as_probability(level: Values, name: str = "level") -> float:
    """One probability from 0 to 1 as a Python float.

    >>> as_probability(np.float32(0.5))
    0.5
    """
    values = as_levels(level, torch.zeros(()), torch.Size([]))
    if values.numel() != 1:
        raise ShapeError(f"{name} must be one number; got shape {tuple(values.shape)}. Ask for one {name} at a time.")
    probability = values.item()
    if not 0 <= probability <= 1:
        raise InputError(f"{name} must be a probability from 0 to 1; got {level}.")
    return probability


def _array(value: Values) -> Float[np.ndarray, "..."]:
    """A copy in float64."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # a list of unequal lists, or of tensors with gradients
        raise InputError(f"expected numbers or one array of them; got {value!r}.") from error
    if array.dtype.kind not in "fiu":
        raise InputError(f"expected real numbers; got {value!r} of type {type(value).__name__}.")
    return np.array(array, dtype=np.float64, order="C")


def _check_shape(shape: torch.Size, batch_shape: torch.Size) -> None:
    try:
        torch.broadcast_shapes(shape, batch_shape)
    except RuntimeError:
        ones = (1,) * len(batch_shape)
        raise ShapeError(
            f"values must broadcast with the batch shape {tuple(batch_shape)} of the distribution; got {tuple(shape)}. "
            f"To ask each of the batch for all values, add axes at the end: shape {(*shape, *ones)}."
        ) from None
