"""A law that is linear in each of many cells, at some points; and its regressions, solved in all cells at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from priorfit.importance.cells import pairs
from priorfit.network.solver.gaussian import factor_of, log_determinant

ROUNDS = 4
"""Rounds in which a law of several Normals finds out which of them each target came from."""

FARTHEST = 5.0
"""Widths of a cell from its centre beyond which its law is not linearised anew."""

REFINEMENTS = 3
"""Times that a cell is linearised around its posterior."""

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

    def precision(self, y: Targets, state: State, spread: Spread) -> OfCurves:
        """The precision of each target in each mean: its share in each Normal over the variance of that."""
        if self.variance.shape[2] == 1:
            return 1 / self.variance
        logits = self.log_densities(y, self.fitted(state), self.leverage(spread))
        found = logits.softmax(2) / self.variance
        return found.sum(2, keepdim=True) if self.mean.shape[2] == 1 else found


Tensors = TypeVar("Tensors", "Local", "Regressions")


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
        return Local(mean, self.local.slope + moved, self.rest + curvature, self.local.log_share)


@dataclass(frozen=True)
class Regressions:
    """The posterior of w in each cell, Normal, and the log evidence of each cell.

    ``precision`` is that of each target in each mean, by which its cell was told of it.
    """

    state: State
    spread: Spread
    log_evidence: OfCells
    precision: OfCurves


def solved(local: Local, y: Targets) -> Regressions:
    """Linear regression in each cell; where the law has several Normals, by iterated responsibilities.

    The evidence is Laplace's approximation at the posterior mean, which is exact for one Normal.
    """
    dimensions = local.slope.shape[-2]
    state = torch.zeros(*local.mean.shape[:2], dimensions, dtype=y.dtype, device=y.device)
    spread = torch.eye(dimensions, dtype=y.dtype, device=y.device).expand(*local.mean.shape[:2], -1, -1)
    residual = (y[:, None, None] - local.mean).flatten(2)[..., None]  # (batch, cells, curves * points, 1)
    slope = local.slope.transpose(2, 3).flatten(3)  # (batch, cells, dimensions, curves * points)
    precision, factor = local.variance, spread
    for _ in range(1 if local.variance.shape[2] == 1 else ROUNDS):
        precision = local.precision(y, state, spread)
        weighted = slope * precision.flatten(2)[:, :, None]
        factor = factor_of(weighted @ slope.mT)
        spread = torch.cholesky_inverse(factor)
        state = (spread @ (weighted @ residual))[..., 0]
    densities = local.log_density(y, local.fitted(state), 0.0)
    evidence = densities.sum(-1) - 0.5 * state.square().sum(-1) - log_determinant(factor)
    return Regressions(state, spread, evidence, precision)


def refined(curved: Curved, y: Targets) -> tuple[Local, Regressions]:
    """Regression in each cell, linearised anew around its posterior; the law as it was at last, and the posterior."""
    local = curved.local
    found = solved(local, y)
    for _ in range(REFINEMENTS):
        local = curved.around(found.state, found.spread)
        found = solved(local, y)
    return local, found


def without_each(local: Local, y: Targets, found: Regressions) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point given all others: what the point told is taken back.

    Of several means a target told of the one that it most likely came from.
    """
    fitted, most = local.fitted(found.state), found.precision.argmax(2, keepdim=True)  # (batch, cells, 1, points)
    index = most[:, :, :, None].expand(-1, -1, -1, local.slope.shape[3], -1)
    own = local.slope.gather(2, index)[:, :, 0]  # (batch, cells, dimensions, points)
    cross = ((found.spread @ own)[:, :, None] * local.slope).sum(-2)  # (batch, cells, curves, points)
    told = found.precision.gather(2, most)
    rest = (1 - told * cross.gather(2, most)).clamp_min(1e-9)
    residual = (y[:, None, None] - local.mean).gather(2, most)
    mean = fitted + cross * told / rest * (fitted.gather(2, most) - residual)
    return mean, local.leverage(found.spread) + told / rest * cross.square()


def picked(numbers: Num[Tensor, "batch kept *rest"], index: Int[Tensor, "batch draws few"]) -> Num[Tensor, "..."]:
    """What belongs to some cells of each draw, whose axis is joined with that of the datasets."""
    rest = numbers.shape[2:]
    every = numbers[:, None].expand(-1, index.shape[1], *[-1] * (numbers.ndim - 1))
    return every.gather(2, index.reshape(*index.shape, *[1] * len(rest)).expand(*index.shape, *rest)).flatten(0, 1)


def joined(parts: Sequence[Tensors]) -> Tensors:
    """The tensors of several pieces of a batch as those of the whole."""
    names = [each.name for each in fields(parts[0])]
    return type(parts[0])(*(torch.cat([getattr(part, name) for part in parts]) for name in names))
