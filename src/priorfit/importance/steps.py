"""A program whose law of classes jumps: in each of many cells of its latents the law is taken as constant.

Where a law jumps no line is near, however narrow a cell is. Its average over the cell is: posteriors that are wider
than a cell are right, and narrower ones are as wide as the cell.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Bernoulli, Categorical

from priorfit.importance.branches import MOST_ODDS
from priorfit.importance.cells import Cells, Encoder, Probe, laid, numbers_in, sobol_normals
from priorfit.importance.coordinated import Program
from priorfit.priors.laws import class_probs
from priorfit.priors.program import ProgramPrior

PLACES = 16
"""Places in a cell over which a law is averaged."""

AT_ONCE = 2**22
"""Numbers of a law that are in memory at a time."""


@dataclass(frozen=True)
class ConstantLaws:
    """The law in every cell at some inputs: log odds of each class against all later ones; and the latents there.

    ``numbers`` are the coordinates that a network has of the latents, linear in w, which is standard Normal in a cell.
    """

    log_weights: Float[Tensor, " cells"]
    odds: Float[Tensor, "cells curves nodes"]
    numbers: Float[Tensor, "cells numbers linear"]
    number_variance: Float[Tensor, "cells numbers"]


def step_cells_of(prior: ProgramPrior, count: int) -> Cells:
    """So many cells, narrow along coordinates along which the law varies most; they overlap no more than they must."""
    probe = Probe.of(Program(prior))
    widths, bend = probe.narrowed(torch.ones(probe.program.dimensions, dtype=torch.float64), count, probe.varied)
    return laid(probe, count, widths, bend)


def averaged(program: Program, cells: Cells, x: Float[Tensor, "nodes features"], encode: Encoder) -> ConstantLaws:
    """The average of a law of classes over every cell."""
    offsets = sobol_normals(PLACES, program.dimensions, 2) * cells.widths
    at_once = max(1, AT_ONCE // len(x))
    odds = torch.cat([odds_of(mean_probs(program, some, offsets, x)) for some in cells.centres.split(at_once)])
    return ConstantLaws(cells.log_weights, odds, *numbers_in(program, cells, encode))


def mean_probs(
    program: Program,
    centres: Float[Tensor, "cells dimensions"],
    offsets: Float[Tensor, "places dimensions"],
    x: Float[Tensor, "nodes features"],
) -> Float[Tensor, "cells nodes classes"]:
    """Probabilities of classes, averaged over some places around each centre."""
    total: Tensor | float = 0.0
    for offset in offsets:
        law = program.law(centres + offset, x)
        assert isinstance(law, Bernoulli | Categorical)  # laws of reals are linear in their cells
        total = total + class_probs(law)
    assert isinstance(total, Tensor)
    return total / len(offsets)


def odds_of(probs: Float[Tensor, "cells nodes classes"]) -> Float[Tensor, "cells curves nodes"]:
    """Log odds of each class against all later ones."""
    later = probs.flip(-1).cumsum(-1).flip(-1)
    odds = probs[..., :-1].log() - later[..., 1:].log()
    return odds.nan_to_num(0.0, MOST_ODDS, -MOST_ODDS).clamp(-MOST_ODDS, MOST_ODDS).mT
