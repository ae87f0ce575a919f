"""Tensors from the numbers, lists, arrays and tensors at which a distribution is evaluated."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float, Num, Shaped
from torch import Tensor

from priorfit.distributions.shapes import broadcast_shapes
from priorfit.errors import InputError, ShapeError

Values = Num[Tensor, "..."] | Num[np.ndarray, "..."] | np.number | float | Sequence
"""One or several real numbers; several broadcast with the batch shape of the distribution."""


def as_values(value: Values, like: Float[Tensor, "..."], batch_shape: torch.Size) -> Float[Tensor, "..."]:
    """Values that broadcast with a batch shape.

    A tensor of several floats stays as it is, and so does its precision; anything else takes the dtype of ``like``.

    >>> as_values(1, torch.zeros(3), torch.Size([3])), as_values([0.5, 2.0], torch.zeros(()), torch.Size([]))
    (tensor(1.), tensor([0.5000, 2.0000]))
    """
    if isinstance(value, Tensor):
        check_dense(value, "values")
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
    check_unmasked(value, "values")
    try:
        array = np.asarray(value)
        array = array.astype(np.float64) if is_of_numbers(array) else array
    except (TypeError, ValueError, RuntimeError) as error:  # a list of unequal lists, or of tensors with gradients
        raise InputError(f"expected numbers or one array of them; got {value!r}.") from error
    if array.dtype.kind not in "fiu":
        raise InputError(f"expected real numbers; got {value!r} of type {type(value).__name__}.")
    return np.array(array, dtype=np.float64, order="C")


def is_of_numbers(array: Shaped[np.ndarray, "..."]) -> bool:
    """Whether an array of objects holds real numbers alone: no text that looks like one, no truth values."""
    kinds = (float, int, np.floating, np.integer)
    return array.dtype == object and all(isinstance(e, kinds) and not isinstance(e, bool) for e in array.flat)


def check_dense(tensor: Shaped[Tensor, "..."], name: str) -> None:
    """Refuse tensors that hold no numbers, or not all of them: on ``meta``, sparse, nested or quantised."""
    if tensor.is_meta:
        raise InputError(f"{name} is a tensor on the device meta, which holds no numbers. Give one with values.")
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized:
        raise InputError(
            f"{name} must be a plain tensor; got one that is sparse, nested or quantised ({tensor.layout}, "
            f"{tensor.dtype}). Make it dense: x.to_dense(), or x.dequantize()."
        )


def check_unmasked(array: object, name: str) -> None:
    """Refuse arrays with masked entries: numpy would show what lies below the mask."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InputError(
            f"{name} has {int(np.ma.count_masked(array))} masked value(s); what is missing cannot be read. Drop those "
            "points, or fill them: x.filled(...)."
        )


def _check_shape(shape: torch.Size, batch_shape: torch.Size) -> None:
    try:
        broadcast_shapes(shape, batch_shape)
    except ShapeError:
        ones = (1,) * len(batch_shape)
        raise ShapeError(
            f"values must broadcast with the batch shape {tuple(batch_shape)} of the distribution; got {tuple(shape)}. "
            f"To ask each of the batch for all values, add axes at the end: shape {(*shape, *ones)}."
        ) from None


def check_parameters(**parameters: object) -> None:
    """Refuse parameters of a distribution that are no tensors of floats."""
    for name, value in parameters.items():
        if not (isinstance(value, Tensor) and value.is_floating_point()):
            found = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise InputError(f"{name} must be a tensor of floating-point numbers; got {found}. Use torch.tensor(...).")


def broadcast_shape(*shapes: torch.Size) -> torch.Size:
    """The shape that parameters of a distribution have together, or an error of ours.

    >>> broadcast_shape(torch.Size([3, 1]), torch.Size([2]))
    torch.Size([3, 2])
    """
    try:
        return broadcast_shapes(*shapes)
    except ShapeError:
        listed = ", ".join(str(tuple(shape)) for shape in shapes)
        raise ShapeError(f"the parameters of a distribution must broadcast; got the shapes {listed}.") from None


@contextmanager
def readable_constraints() -> Iterator[None]:
    """What torch says of parameters that do not obey their constraints, as an error of ours."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from None
