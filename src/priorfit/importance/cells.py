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
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.quasirandom import SobolEngine

from priorfit.importance.coordinated import Program
from priorfit.importance.coordinates import standard_normals
from priorfit.importance.moments import NODES, Along, mean_square, moments, twist
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded

Measure = Callable[[Float[Tensor, " dimensions"]], Float[Tensor, " dimensions"]]
"""From the widths of cells to the mean square of what is missed along each coordinate."""

Encoder = Callable[[Mapping[str, Num[Tensor, "draws size"]]], Float[Tensor, "draws numbers"]]
"""From latents to the coordinates that a network has of them."""

NARROWER = 2**0.5
"""The factor by which a width shrinks at a time."""

WIDER = 1.4
"""How much wider than under the prior the centres of cells are spread."""

PROBES, PROBED_POINTS = 256, 32
"""Centres and inputs at which the curvature of a law is measured."""

MIXED_UP = 0.05
"""Weight of how far the means of a law's branches move apart over a cell: which of them a target came from is found by
iteration, which wants a start on the right side, and no more."""

SCALES = 3.0
"""Weight of how far log scales and shares move over a cell: regressions say nothing of them, so that their posteriors
are no narrower than a cell, and thirty points tell a log scale to an eighth."""

OVERLAP, ROUGH_OVERLAP = 16, 4
"""Cells for each product of inverse widths. Few that overlap make a lumpy prior, which biases posteriors as narrow as a
cell; many are wide, and the law is more curved in each."""

SMOOTH, ROUGH = 0.35, 0.6
"""What a linear law misses over a cell, root mean square in units of the noise, up to which a law is smooth (cells are
linearised anew for each dataset), and from which on it is rough."""

LINEAR = 0.01
"""The same, up to which one cell is enough: it is all of the prior, as wide as that, and nothing else bends it."""

LEAST_JUMP, JUMPING = 1e-3, 0.3
"""What a line misses, mean square in units of the noise, from which on a jump is looked for; and the share of it that
half of a width keeps where the law jumps."""


@dataclass(frozen=True)
class Cells:
    """Centres of cells, their log weights, which sum to 1, and their widths, the same for all cells.

    ``bend`` is the curvature that is left in them; ``jumps`` are the coordinates along which the law jumps.
    """

    centres: Float[Tensor, "cells dimensions"]
    log_weights: Float[Tensor, " cells"]
    widths: Float[Tensor, " dimensions"]
    bend: float
    jumps: Bool[Tensor, " dimensions"]

    @property
    def steps(self) -> Float[Tensor, " dimensions"]:
        """The widths over which a law is linearised; where it jumps no line is near, and it is taken at the centre."""
        return torch.where(self.jumps, 0.0, self.widths)


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
        if bend <= (SMOOTH if count > 1 else LINEAR):
            return laid(probe, count, widths, bend)
    if bend > ROUGH:
        widths, bend = probe.narrowed(widths, counts[-1] / ROUGH_OVERLAP)
    return laid(probe, counts[-1], widths, bend)


def cells_of_widths(prior: ProgramPrior, count: int, widths: Float[Tensor, " dimensions"]) -> Cells:
    """Cells whose widths are known."""
    return laid(Probe.of(Program(prior)), count, widths, math.nan)


def laid(probe: "Probe", count: int, widths: Float[Tensor, " dimensions"], bend: float) -> Cells:
    """Cells at standard Normal points: spread wider than the prior along coordinates that are split, and weighted."""
    standard = sobol_normals(count, len(widths), 0)
    spread = torch.where(widths < 1, WIDER, 1.0)
    log_ratio = -0.5 * (spread.square() - 1) * standard.square() + spread.log()
    centres = spread * standard * (1 - widths.square()).clamp_min(0).sqrt()
    return Cells(centres, log_ratio.sum(1).log_softmax(0), widths, bend, probe.jumps(widths))


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

    def narrowed(
        self, widths: Float[Tensor, " dimensions"], most: float, measure: "Measure | None" = None
    ) -> tuple[Float[Tensor, " dimensions"], float]:
        """Widths whose inverses have a product of at most ``most``, and what a law misses over such cells.

        What it misses by being linear in each cell, or by ``measure``.
        """
        measure = measure or self.missed
        widths, missed = widths.clone(), measure(widths)
        while NARROWER * float((1 / widths).prod()) <= most:
            widths[missed.argmax()] /= NARROWER
            missed = measure(widths)
        return widths, float(missed.sum().sqrt())

    def missed(self, widths: Float[Tensor, " dimensions"]) -> Float[Tensor, " dimensions"]:
        """Mean square of what a linear law misses over a cell along each coordinate, in units of the noise.

        Half of what two coordinates miss together belongs to each.
        """
        middle = self.centres * (1 - widths.square()).clamp_min(0).sqrt()
        at, found = self.program.branches(middle, self.x), torch.zeros_like(widths)
        unit, mixed_up = at.unit, 0.0 if at.is_odds else MIXED_UP
        for place, step in enumerate(torch.diag(widths)):
            along = Along.of(self.program, middle, step, self.x, at)
            apart = along.slope / unit
            parts = (
                along.missed.sqrt() / unit,
                SCALES * along.log_scale_slope,
                SCALES * along.log_share_slope,
                mixed_up * (apart - apart.mean(-1, keepdim=True)),  # 0 where the law has one mean
            )
            found[place] += torch.stack([mean_square(part) for part in parts]).sum()
            for other in range(place):
                both = twist(self.program, middle, (step, torch.diag(widths)[other]), self.x) / unit
                found[[place, other]] += mean_square(both) / 2
        return found

    def varied(self, widths: Float[Tensor, " dimensions"]) -> Float[Tensor, " dimensions"]:
        """Mean square, in units of the noise, of what a law that is constant in each cell misses along each coordinate.

        As `missed` says of a law that is linear there.
        """
        middle = self.centres * (1 - widths.square()).clamp_min(0).sqrt()
        at = self.program.branches(middle, self.x)
        alongs = (Along.of(self.program, middle, step, self.x, at) for step in torch.diag(widths))
        return torch.stack([mean_square((each.missed + each.slope.square()).sqrt() / at.unit) for each in alongs])

    def jumps(self, widths: Float[Tensor, " dimensions"]) -> Bool[Tensor, " dimensions"]:
        """The split coordinates along which the law jumps.

        What a line misses over half of a width has a sixteenth of the mean square where a law is smooth, an eighth
        where it has a kink, and a half where it jumps, since half as many cells hold the jump. Centres are draws of the
        prior here: in the middle of coordinates that are not split, two levels may be the same.
        """
        at, found = self.program.branches(self.centres, self.x), torch.zeros_like(widths, dtype=torch.bool)
        unit = at.unit
        for place, step in enumerate(torch.diag(widths)):
            if widths[place] < 1:
                along = (Along.of(self.program, self.centres, part * step, self.x, at) for part in (1.0, 0.5))
                whole, half = (mean_square(each.missed.sqrt() / unit) for each in along)
                found[place] = (whole > LEAST_JUMP) & (half > JUMPING * whole)
        return found


def linearised(program: Program, cells: Cells, x: Float[Tensor, "nodes features"], encode: Encoder) -> LocalLaws:
    """The law in every cell, linear in the latents, and the numbers that a network has of these."""
    at, steps = program.branches(cells.centres, x), torch.diag(cells.steps)
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
