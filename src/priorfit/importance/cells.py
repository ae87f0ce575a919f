"""A program near each part of its prior: cells of the latents, in each of which the law is linear in the latents.

Coordinates u of the latents are standard Normal. They are split by an identity: if c ~ N(0, 1 - h^2) and u | c ~ N(c,
h^2), then u ~ N(0, 1). A cell is one centre c, at a Sobol point, with a weight, since centres are spread wider than
that: posteriors near the bound of a latent lie in the tails of its coordinate. Widths h are small along coordinates
in which the law is curved, and 1 (one cell) along those in which it is linear. Within a cell the means of the law are
linearised by Gauss-Hermite quadrature of five nodes along each coordinate, and what is not linear is added to the
noise: statistical linearisation, as in a Gaussian sum filter. Second-order terms are kept beside it, so that a cell
can be linearised again around the posterior of a dataset.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.quasirandom import SobolEngine

from priorfit.importance.branches import Branches
from priorfit.importance.coordinated import Program
from priorfit.importance.coordinates import standard_normals
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded

Encoder = Callable[[Mapping[str, Num[Tensor, "draws size"]]], Float[Tensor, "draws numbers"]]
"""From latents to the coordinates that a network has of them."""

NODES = (-2.8569700138728, -1.3556261799743, 0.0, 1.3556261799743, 2.8569700138728)
WEIGHTS = (0.0112574113277, 0.2220759220056, 0.5333333333333, 0.2220759220056, 0.0112574113277)
"""Gauss-Hermite quadrature of the standard Normal with five nodes."""

CORNER = 1.0
"""How many standard deviations along each of two coordinates a law is looked at for what it misses of both."""

NARROWER = 2**0.5
"""The factor by which a width shrinks at a time."""

WIDER = 1.4
"""How much wider than under the prior the centres of cells are spread."""

PROBES, PROBED_POINTS = 256, 32
"""Centres and inputs at which the curvature of a law is measured."""

LARGEST_BEND = 10.0
"""Bound of a measured curvature, in units of the noise: beyond, a cell says nothing, whatever its value."""

MIXED_UP = 0.05
"""Weight of how far the means of a law's branches move apart over a cell: which of them a target came from is found by
iteration, which wants a start on the right side, and no more."""

OVERLAP, ROUGH_OVERLAP = 16, 4
"""Cells for each product of inverse widths. Few that overlap make a lumpy prior, which biases posteriors as narrow as a
cell; many are wide, and the law is more curved in each."""

SMOOTH, ROUGH = 0.35, 0.6
"""What a linear law misses over a cell, root mean square in units of the noise, up to which a law is smooth (cells are
linearised anew for each dataset), and from which on it is rough."""


@dataclass(frozen=True)
class Cells:
    """Centres of cells, their log weights, which sum to 1, and their widths, the same for all cells.

    ``bend`` is the curvature that is left in them.
    """

    centres: Float[Tensor, "cells dimensions"]
    log_weights: Float[Tensor, " cells"]
    widths: Float[Tensor, " dimensions"]
    bend: float


@dataclass(frozen=True)
class LocalLaws:
    """The law in every cell at some inputs, in w, the coordinates from the centre in units of the widths.

    ``curves`` are the mean over the cell, its slopes, and its ``bends``: second-order terms of Hermite's polynomials,
    ``w_i w_j - (i = j)``, in the order of `pairs`, the diagonal ones halved. ``log_variance`` is that of the noise and
    of what is not linear; ``log_rest`` that of the noise and of what is not quadratic. ``numbers`` are the coordinates
    that a network has of the latents, linear in w.
    """

    log_weights: Float[Tensor, " cells"]
    curves: Float[Tensor, "cells curves terms nodes"]
    log_variance: Float[Tensor, "cells branches nodes"]
    log_rest: Float[Tensor, "cells branches nodes"]
    log_share: Float[Tensor, "cells branches nodes"]
    numbers: Float[Tensor, "cells numbers linear"]
    number_variance: Float[Tensor, "cells numbers"]


def sobol_normals(count: int, dimensions: int, seed: int) -> Float[Tensor, "count dimensions"]:
    """Standard Normals at scrambled Sobol points."""
    return standard_normals(SobolEngine(dimensions, scramble=True, seed=seed).draw(count, dtype=torch.float64))


def cells_of(prior: ProgramPrior, counts: tuple[int, ...]) -> Cells:
    """The fewest cells of some counts in which the law is smooth; the most of them where it is in none.

    Widths shrink one after the other, each time along the coordinate in which the law is farthest from linear. Where
    even the most cells leave the law rough, they overlap less.
    """
    probe = Probe.of(Program(prior))
    widths = torch.ones(probe.program.dimensions, dtype=torch.float64)
    bend = math.inf
    for count in counts:
        widths, bend = probe.narrowed(widths, count / OVERLAP)
        if bend <= SMOOTH:
            return laid(count, widths, bend)
    if bend > ROUGH:
        widths, bend = probe.narrowed(widths, counts[-1] / ROUGH_OVERLAP)
    return laid(counts[-1], widths, bend)


def laid(count: int, widths: Float[Tensor, " dimensions"], bend: float = math.nan) -> Cells:
    """Cells at standard Normal points: spread wider than the prior along coordinates that are split, and weighted."""
    standard = sobol_normals(count, len(widths), 0)
    spread = torch.where(widths < 1, WIDER, 1.0)
    log_ratio = -0.5 * (spread.square() - 1) * standard.square() + spread.log()
    centres = spread * standard * (1 - widths.square()).clamp_min(0).sqrt()
    return Cells(centres, log_ratio.sum(1).log_softmax(0), widths, bend)


@dataclass(frozen=True)
class Probe:
    """Centres and inputs at which a law is compared with a linear one."""

    program: Program
    centres: Float[Tensor, "probes dimensions"]
    x: Float[Tensor, "points features"]

    @classmethod
    def of(cls, program: Program) -> "Probe":
        """Fewer of them for more latents, whose pairs are all looked at."""
        share = max(1, program.dimensions // 4)
        with seeded(0):
            x = program.prior.inputs.sample(1, PROBED_POINTS, program.prior.num_features)[0]
        return cls(program, sobol_normals(PROBES // share, program.dimensions, 1), x)

    def narrowed(self, widths: Float[Tensor, " dimensions"], most: float) -> tuple[Float[Tensor, " dimensions"], float]:
        """Widths whose inverses have a product of at most ``most``, and what a law misses over such cells."""
        widths, missed = widths.clone(), self.missed(widths)
        while NARROWER * float((1 / widths).prod()) <= most:
            widths[missed.argmax()] /= NARROWER
            missed = self.missed(widths)
        return widths, float(missed.sum().sqrt())

    def missed(self, widths: Float[Tensor, " dimensions"]) -> Float[Tensor, " dimensions"]:
        """Mean square of what a linear law misses over a cell along each coordinate, in units of the noise.

        Half of what two coordinates miss together belongs to each.
        """
        middle = self.centres * (1 - widths.square()).clamp_min(0).sqrt()
        at, found = self.program.branches(middle, self.x), torch.zeros_like(widths)
        noise = at.scale.amin(-1, keepdim=True)
        for place, step in enumerate(torch.diag(widths)):
            along = Along.of(self.program, middle, step, self.x, at)
            apart = along.slope / noise
            parts = (
                along.missed.sqrt() / noise,
                along.log_scale_slope,
                along.log_share_slope,
                MIXED_UP * (apart - apart.mean(-1, keepdim=True)),  # 0 where the law has one mean
            )
            found[place] += torch.stack([mean_square(part) for part in parts]).sum()
            for other in range(place):
                both = twist(self.program, middle, (step, torch.diag(widths)[other]), self.x) / noise
                found[[place, other]] += mean_square(both) / 2
        return found


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


def linearised(program: Program, cells: Cells, x: Float[Tensor, "nodes features"], encode: Encoder) -> LocalLaws:
    """The law in every cell, linear in the latents, and the numbers that a network has of these."""
    at, steps = program.branches(cells.centres, x), torch.diag(cells.widths)
    mean, variance, log_share = at.mean, at.scale.square(), at.log_share
    missed, rest, slopes, bends = torch.zeros_like(mean), torch.zeros_like(mean), [], []
    for place, step in enumerate(steps):
        along = Along.of(program, cells.centres, step, x, at)
        mean, missed = mean + along.mean - at.mean, missed + along.missed
        rest = rest + (along.missed - along.bend.square() / 2).clamp_min(0)
        variance = variance + along.variance - at.scale.square()
        log_share = log_share + along.log_share - at.log_share
        slopes.append(along.slope)
        for other in range(place):
            bends.append(twist(program, cells.centres, (step, steps[other]), x))
            missed = missed + bends[-1].square()
        bends.append(along.bend / 2)
    noise = variance.clamp_min(1e-2 * at.scale.square())
    curves = torch.stack([mean, *slopes, *bends], dim=-1).permute(0, 2, 3, 1)  # (cells, curves, terms, nodes)
    spreads = ((noise + missed).log().mT, (noise + rest).log().mT, log_share.mT)
    return LocalLaws(cells.log_weights, curves, *spreads, *numbers_in(program, cells, encode))


def numbers_in(program: Program, cells: Cells, encode: Encoder) -> tuple[Tensor, Tensor]:
    """The coordinates that a network has of the latents in every cell: linear in w, and the variance of the rest."""
    at = encode(program.latents(cells.centres)).double()
    mean, missed, slopes = at, torch.zeros_like(at), []
    for step in torch.diag(cells.widths):
        along = moments([encode(program.latents(cells.centres + node * step)).double() for node in NODES])
        mean, missed = mean + along[0] - at, missed + along[2]
        slopes.append(along[1])
    return torch.stack([mean, *slopes], dim=-1), missed
