"""The posterior of w in many cells at once, given a Normal factor for each target."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network.solver.gaussian import factor_of
from priorfit.network.solver.local import Local, OfCells, OfCurves, Spread, State, Targets


@dataclass(frozen=True)
class Regressions:
    """The posterior of w in each cell, Normal, and the log evidence of each cell.

    ``precision`` and ``shift`` are those of each target's site, the Normal factor of its mean that stands for the
    target: its precision, and precision times location.
    """

    state: State
    spread: Spread
    log_evidence: OfCells
    precision: OfCurves
    shift: OfCurves


def before(local: Local, y: Targets) -> tuple[State, Spread]:
    """The prior of w in each cell."""
    dimensions = local.slope.shape[-2]
    identity = torch.eye(dimensions, dtype=y.dtype, device=y.device)
    state = torch.zeros(*local.mean.shape[:2], dimensions, dtype=y.dtype, device=y.device)
    return state, identity.expand(*local.mean.shape[:2], -1, -1)


def posterior_of(
    slope: Float[Tensor, "batch cells dimensions points"],
    precision: Float[Tensor, "batch cells points"],
    shift: Float[Tensor, "batch cells points"],
) -> tuple[State, Spread, Spread]:
    """Mean and covariance of w given a site for each point, and the factor of the precision."""
    factor = factor_of((slope * precision[:, :, None]) @ slope.mT)
    spread = torch.cholesky_inverse(factor)
    return (spread @ (slope @ shift[..., None]))[..., 0], spread, factor
