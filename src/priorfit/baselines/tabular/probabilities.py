"""Probabilities of classes that are never 0."""

import numpy as np
from jaxtyping import Float

FLOOR = 1e-6
"""The least probability of a class, so that every negative log likelihood is finite: at most 13.8 nats."""


def floored(probabilities: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """Mix probabilities with the uniform distribution, in float64; unlike clipping, this keeps the order of rows.

    >>> floored(np.array([[1.0, 0.0]]))
    array([[9.99999e-01, 1.00000e-06]])
    """
    double = probabilities.astype(np.float64)
    double = double / double.sum(-1, keepdims=True)
    return (1 - double.shape[-1] * FLOOR) * double + FLOOR
