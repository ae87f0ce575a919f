"""Cubic curves on images, many at once, as the trace of a soft round pen.

A pen with a Gaussian profile is a product of one function of the row and one of the column, so that all points of a
curve together are one matrix product for each image: much less work than a distance for each pixel and point.
"""

import torch
from jaxtyping import Float
from torch import Tensor

POINTS = 28
"""Points on each curve: at most two widths of a thin pen apart, so that no line looks dotted."""
DENSITY = 4.0
"""Ink in the middle of a stroke before it saturates."""


def bernstein(places: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape 4"]:
    """The weights of the four control points at places from 0 to 1.

    >>> bernstein(torch.tensor([0.0, 0.5, 1.0]))[1]
    tensor([0.1250, 0.3750, 0.3750, 0.1250])
    """
    rest = 1 - places
    return torch.stack([rest**3, 3 * rest**2 * places, 3 * rest * places**2, places**3], dim=-1)


def curves_drawn(
    controls: Float[Tensor, "images strokes 4 2"],
    weights: Float[Tensor, "images strokes"],
    pen: Float[Tensor, " images"],
    size: int,
) -> Float[Tensor, "images {size} {size}"]:
    """Ink from 0 to 1 on images of ``size`` x ``size`` pixels.

    Control points are ``(across, down)`` from the middle in units of the side; ``weights`` are 0 for strokes that are
    not drawn; ``pen`` is the standard deviation of the profile in units of the side. The ink of a point is the length
    that it stands for, so that slow and fast parts of a curve are equally dark; where strokes cross it saturates.
    """
    middles = (torch.arange(POINTS, dtype=controls.dtype) + 0.5) / POINTS
    edges = bernstein(torch.linspace(0, 1, POINTS + 1, dtype=controls.dtype)) @ controls
    lengths = (edges[:, :, 1:] - edges[:, :, :-1]).norm(dim=-1)  # (images, strokes, points)
    points = (bernstein(middles) @ controls).flatten(1, 2)  # (images, all points, 2)
    ink = ((lengths + pen[:, None, None] / POINTS) * weights[..., None]).flatten(1)  # a dot leaves ink too
    pixels = (torch.arange(size, dtype=controls.dtype) - (size - 1) / 2) / size
    distances = (points[..., None] - pixels).div_(pen[:, None, None, None])  # (images, all points, 2, size)
    across, down = distances.square_().mul_(-0.5).exp_().unbind(2)
    profile = down.mul_((ink / pen[:, None] * (DENSITY / (2 * torch.pi) ** 0.5))[..., None])
    return (profile.mT @ across).neg_().expm1_().neg_()
