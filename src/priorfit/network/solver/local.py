"""A law that is linear in each of many cells, at some points."""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.importance.moments import pairs

FARTHEST = 5.0
"""Widths of a cell from its centre beyond which its law is not linearised anew."""

LOG_2PI = math.log(2 * math.pi)

OfCells = Float[Tensor, "batch cells"]
State = Float[Tensor, "batch cells dimensions"]
Spread = Float[Tensor, "batch cells dimensions dimensions"]
OfCurves = Float[Tensor, "batch cells curves points"]
OfBranches = Float[Tensor, "batch cells branches points"]
Targets = Num[Tensor, "batch points"]


@dataclass(frozen=True)
class Local:
    """The law of each point in each cell: a mixture of Normals with means ``mean + slope . w``."""

    mean: OfCurves
    slope: Float[Tensor, "batch cells curves dimensions points"]
    variance: OfBranches
    log_share: OfBranches

    def fitted(self, state: State) -> OfCurves:
        """slope . w at some w."""
        return (state[:, :, None, None] @ self.slope)[..., 0, :]

    def leverage(self, spread: Spread) -> OfCurves:
        """The variance of slope . w."""
        return ((spread[:, :, None] @ self.slope) * self.slope).sum(-2)

    def log_densities(self, y: Targets, mean: OfCurves, variance: OfCurves | float) -> OfBranches:
        """Log share plus log density of targets under each Normal, where slope . w has a mean and a variance."""
        total = variance + self.variance
        residual = y[:, None, None] - self.mean - mean
        return self.log_share - 0.5 * (residual.square() / total + total.log() + LOG_2PI)

    def log_density(
        self, y: Targets, mean: OfCurves, variance: OfCurves | float
    ) -> Float[Tensor, "batch cells points"]:
        """The log density of targets."""
        each = self.log_densities(y, mean, variance)
        return each[:, :, 0] if each.shape[2] == 1 else each.logsumexp(2)

    def moments(self, y: Targets, mean: OfCurves, variance: OfCurves) -> tuple[OfCurves, OfCurves, OfCurves]:
        """Log density of targets where slope . w is Normal, its derivative in the mean, and minus the second one.

        The law is one of several Normals of one mean.
        """
        total = variance + self.variance
        pull = (y[:, None, None] - self.mean - mean) / total  # (batch, cells, branches, points)
        each = self.log_densities(y, mean, variance)
        told = each.logsumexp(2, keepdim=True)
        share = (each - told).exp()
        moved = (share * pull).sum(2, keepdim=True)
        curved = (share / total).sum(2, keepdim=True) - (share * (pull - moved).square()).sum(2, keepdim=True)
        return told, moved, curved


@dataclass(frozen=True)
class Curved:
    """The law of each point in each cell with second-order terms; ``local`` is linear over the whole cell.

    ``bends`` are those of `importance.cells.LocalLaws`, ``rest`` the variance of the noise and of higher orders.
    """

    local: Local
    bends: Float[Tensor, "batch cells curves pairs points"]
    rest: OfBranches

    def around(self, state: State, spread: Spread) -> Local:
        """The law linear in w where w has a posterior: as a second-order extended Kalman filter has it."""
        dimensions = state.shape[-1]
        state = state.clamp(-FARTHEST, FARTHEST)
        full = torch.zeros(*self.bends.shape[:3], dimensions, dimensions, self.bends.shape[-1], dtype=state.dtype)
        full = full.to(state.device)
        for term, (place, other) in enumerate(pairs(dimensions)):
            full[:, :, :, place, other] += self.bends[:, :, :, term]
            full[:, :, :, other, place] += self.bends[:, :, :, term]
        moved = (full * state[:, :, None, None, :, None]).sum(4)  # (batch, cells, curves, dimensions, points)
        trace = full.diagonal(dim1=3, dim2=4).sum(-1)  # (batch, cells, curves, points)
        seen = torch.einsum("bkij,bkcjlp->bkcilp", spread, full)  # spread times bends
        own = seen.diagonal(dim1=3, dim2=4).sum(-1)
        curvature = 0.5 * (seen * seen.transpose(3, 4)).sum((3, 4))
        quadratic = 0.5 * (moved * state[:, :, None, :, None]).sum(3)
        mean = self.local.mean - quadratic + 0.5 * (own - trace)
        slope, variance = self.local.slope + moved, self.rest + curvature
        return replace(self.local, mean=mean, slope=slope, variance=variance)
