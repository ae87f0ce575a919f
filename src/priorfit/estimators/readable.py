"""What scikit-learn's checks let pass, and no network can read: masks, dates, tensors that are no arrays."""

from typing import Any

import numpy as np
from torch import Tensor

from priorfit.distributions.values import check_unmasked
from priorfit.errors import InputError
from priorfit.values import as_tensor


def plain(values: Any, name: str) -> Any:
    """Tensors as arrays, whatever their device, precision or gradient; anything else as it is, if it is not masked."""
    check_unmasked(values, name)
    if not isinstance(values, Tensor):
        return values
    tensor = as_tensor(values, name).detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def undated(values: Any, name: str) -> Any:
    """Refuse dates and durations, which numpy would read as counts of days or of nanoseconds."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):  # scikit-learn says what is wrong
        return values
    if array.dtype.kind in "mM":
        raise InputError(
            f"{name} holds dates or durations ({array.dtype}), whose numbers depend on their unit. Give numbers, such "
            "as days since the first row."
        )
    return values


def numeric(y: Any, name: str) -> Any:
    """Targets of a regression: objects and text as numbers, if they are."""
    values = undated(plain(y, name), name)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        return values
    if array.dtype.kind not in "OUSV" or array.ndim == 0:
        return values
    try:
        return array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} must hold numbers; got something else ({error}). Drop or encode those rows."
        ) from error
