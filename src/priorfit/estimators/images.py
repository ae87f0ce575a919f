"""Images as rows of pixels, and whether they are what a model of images was trained for."""

from typing import Any

import numpy as np
from jaxtyping import Float

from priorfit.errors import InputError, ShapeError
from priorfit.network import (
    ClassRegression,
    ConvolutionEncoder,
    ImageEncoder,
    Model,
    NetworkSettings,
    NormalisedEncoder,
)

ENCODERS = (ImageEncoder, ConvolutionEncoder, NormalisedEncoder)


def pixel_rows(values: Any) -> Any:
    """Images ``(n, height, width)`` as rows ``(n, pixels)``, row by row; bytes from 0 to 255 become 0 to 1."""
    if not isinstance(values, np.ndarray) or values.ndim != 3:
        return values
    if values.dtype.kind not in "buif":
        raise InputError(f"images (n, height, width) must hold numbers; got {values.dtype}.")
    rows = values.reshape(len(values), values.shape[1] * values.shape[2])
    return rows / 255 if values.dtype == np.uint8 else rows


def takes_images(model: Model) -> bool:
    """Whether a model has an encoder of images."""
    settings = model.settings
    if not isinstance(settings, NetworkSettings):
        return False
    solver = settings.solver
    own = solver.encoder if isinstance(solver, ClassRegression) else None
    return isinstance(settings.encoder, ENCODERS) or isinstance(own, ENCODERS)


def check_ways(model: Model, count: int) -> None:
    """Refuse a task of images that has one class only: every image would be of that class."""
    if takes_images(model) and count < 2:
        raise InputError(f"a task of images needs at least 2 classes; got {count} class. Label images of another one.")


def check_images(model: Model, x: Float[np.ndarray, "rows pixels"]) -> None:
    """Refuse images of another size, of another range, or of light ink on a dark ground turned round."""
    if not takes_images(model) or not x.size:
        return
    side = round(model.problem.num_features**0.5)
    if x.shape[1] != side**2:
        raise ShapeError(
            f"{model.card.name!r} takes images of {side} x {side} pixels, (n, {side}, {side}) or (n, {side**2}); got "
            f"{x.shape[1]} pixels each. Resize them."
        )
    low, high = float(x.min()), float(x.max())
    if low < 0 or high > 1:
        raise InputError(f"ink must lie between 0 (none) and 1; got values from {low:g} to {high:g}. Divide by 255?")
    if float(np.median(x)) > 0.5:
        raise InputError("ink must be 1 on a ground of 0; most of these pixels are above 0.5. Give 1 - X.")
