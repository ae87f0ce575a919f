"""Moments of a program's law along coordinates of its latents, by Gauss-Hermite quadrature."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.importance.branches import Branches
from priorfit.importance.coordinated import Program

NODES = (-2.8569700138728, -1.3556261799743, 0.0, 1.3556261799743, 2.8569700138728)
WEIGHTS = (0.0112574113277, 0.2220759220056, 0.5333333333333, 0.2220759220056, 0.0112574113277)
"""Gauss-Hermite quadrature of the standard Normal with five nodes."""

CORNER = 1.0
"""How many standard deviations along each of two coordinates a law is looked at for what it misses of both."""

LARGEST_BEND = 10.0
"""Bound of a measured curvature, in units of the noise: beyond, a cell says nothing, whatever its value."""


@dataclass(frozen=True)
class Along:
    """The law along one coordinate of each cell: its mean there, its slope, and the variance of what is not linear."""

    mean: Float[Tensor, "draws nodes curves"]
    slope: Float[Tensor, "draws nodes curves"]
    bend: Float[Tensor, "draws nodes curves"]
    missed: Float[Tensor, "draws nodes curves"]
    variance: Float[Tensor, "draws nodes branches"]
    log_share: Float[Tensor, "draws nodes branches"]
    log_scale_slope: Float[Tensor, "draws nodes branches"]
    log_share_slope: Float[Tensor, "draws nodes branches"]

    @classmethod
    def of(cls, program: Program, middle: Tensor, step: Tensor, x: Tensor, at: Branches) -> "Along":
        """Take the moments of the law along ``step`` by quadrature; ``at`` is the law in the middle."""
        laws = [at if not node else program.branches(middle + node * step, x) for node in NODES]
        mean, slope, missed = moments([law.mean for law in laws])
        bends = zip(WEIGHTS, NODES, laws, strict=True)
        bend = sum_of(weight * (node**2 - 1) * law.mean for weight, node, law in bends)
        variance, _, _ = moments([law.scale.square() for law in laws])
        log_share, log_share_slope, _ = moments([law.log_share for law in laws])
        _, log_scale_slope, _ = moments([law.scale.log() for law in laws])
        return cls(mean, slope, bend, missed, variance, log_share, log_scale_slope, log_share_slope)


def pairs(dimensions: int) -> list[tuple[int, int]]:
    """The coordinates of each second-order term."""
    return [(place, other) for place in range(dimensions) for other in range(place + 1)]


def moments(values: Sequence[Float[Tensor, "*shape"]]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, slope and the variance of what is not linear, of values at the nodes of a quadrature."""
    mean = sum_of(weight * value for weight, value in zip(WEIGHTS, values, strict=True))
    slope = sum_of(weight * node * value for weight, node, value in zip(WEIGHTS, NODES, values, strict=True))
    residuals = (value - mean - node * slope for node, value in zip(NODES, values, strict=True))
    missed = sum_of(weight * rest.square() for weight, rest in zip(WEIGHTS, residuals, strict=True))
    return mean, slope, missed


def sum_of(parts: Iterable[Float[Tensor, "*shape"]]) -> Float[Tensor, "*shape"]:
    """The sum of tensors of one shape."""
    return torch.stack(list(parts)).sum(0)


def twist(
    program: Program, middle: Tensor, steps: tuple[Tensor, Tensor], x: Tensor
) -> Float[Tensor, "draws nodes curves"]:
    """What the means of a law miss by being linear in two coordinates at once, per product of their deviations."""
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    moves = [(a * b, CORNER * (a * steps[0] + b * steps[1])) for a, b in signs]
    return sum_of(sign * program.branches(middle + move, x).mean for sign, move in moves) / (4 * CORNER**2)


def mean_square(numbers: Float[Tensor, "..."]) -> Float[Tensor, ""]:
    """The mean square of bounded numbers."""
    return numbers.clamp(-LARGEST_BEND, LARGEST_BEND).square().mean()
