"""Regressions on targets in many cells at once: the posterior of w in each cell, and the evidence of the cell.

A law of one Normal has a closed form. A law of several Normals of one mean, such as Student's t, is solved by
expectation propagation; one of several means by finding out which of them each target came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from priorfit.network.solver.gaussian import factor_of, log_determinant
from priorfit.network.solver.local import Curved, Local, OfBranches, OfCells, OfCurves, Spread, State, Targets

ROUNDS = 4
"""Rounds in which a law of several means finds out which of them each target came from."""

STEPS = (1.0, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7)
"""Share of the way to a site's new value that each round of expectation propagation goes. All sites move at once, and
swing where two targets contradict each other."""

REFINEMENTS = 3
"""Times that a cell is linearised around its posterior."""

Tensors = TypeVar("Tensors", "Local", "Regressions")


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


def solved(local: Local, y: Targets) -> Regressions:
    """Condition on targets in each cell."""
    if local.variance.shape[2] == 1 or local.mean.shape[2] > 1:
        return by_responsibilities(local, y)
    return propagated(local, y)


def by_responsibilities(local: Local, y: Targets) -> Regressions:
    """Linear regression in each cell; where the law has several means, by iterated responsibilities.

    The evidence is Laplace's approximation at the posterior mean, which is exact for one Normal.
    """
    state, spread = before(local, y)
    residual = y[:, None, None] - local.mean
    slope = local.slope.transpose(2, 3).flatten(3)  # (batch, cells, dimensions, curves * points)
    precision, factor = local.variance, spread
    for _ in range(1 if local.variance.shape[2] == 1 else ROUNDS):
        precision = 1 / local.variance
        if local.variance.shape[2] > 1:
            precision = local.log_densities(y, local.fitted(state), local.leverage(spread)).softmax(2) * precision
        state, spread, factor = posterior_of(slope, precision.flatten(2), (precision * residual).flatten(2))
    densities = local.log_density(y, local.fitted(state), 0.0)
    evidence = densities.sum(-1) - 0.5 * state.square().sum(-1) - log_determinant(factor)
    return Regressions(state, spread, evidence, precision, precision * residual)


def propagated(local: Local, y: Targets) -> Regressions:
    """Expectation propagation in each cell, for a law of several Normals of one mean.

    A site is set such that it and all others have the moments of the target's likelihood and all other sites (Minka,
    2001). Where a target is so far out that it makes the posterior wider, its site says nothing.
    """
    state, spread = before(local, y)
    slope, factor = local.slope[:, :, 0], spread
    precision = shift = torch.zeros_like(local.mean)
    mean, variance = precision, local.leverage(spread)  # of slope . w at each target without its own site
    for step in STEPS:
        _, moved, curved = moments(local.log_densities(y, mean, variance), local, y, (mean, variance))
        curved = curved.clamp_min(0.0)
        rest = (1 - variance * curved).clamp_min(torch.finfo(y.dtype).eps)
        precision = torch.lerp(precision, curved / rest, step)
        shift = torch.lerp(shift, (moved + mean * curved) / rest, step)
        state, spread, factor = posterior_of(slope, precision[:, :, 0], shift[:, :, 0])
        mean, variance = without_sites(local, (state, spread), precision, shift)
    told, _, _ = moments(local.log_densities(y, mean, variance), local, y, (mean, variance))
    scale = 1 + precision * variance
    quadratic = (mean.square() * precision - 2 * shift * mean - shift.square() * variance) / scale
    sites = told + 0.5 * (scale.log() + quadratic + shift * local.fitted(state))
    return Regressions(state, spread, sites.sum((2, 3)) - log_determinant(factor), precision, shift)


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


def without_sites(
    local: Local, posterior: tuple[State, Spread], precision: OfCurves, shift: OfCurves
) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point without the site of that point, of a law of one mean."""
    mean, variance = local.fitted(posterior[0]), local.leverage(posterior[1])
    rest = (1 - precision * variance).clamp_min(torch.finfo(mean.dtype).eps)
    return (mean - shift * variance) / rest, variance / rest


def moments(
    log_densities: OfBranches, local: Local, y: Targets, at: tuple[OfCurves, OfCurves]
) -> tuple[OfCurves, OfCurves, OfCurves]:
    """Log density of each target where slope . w is Normal, its derivative in the mean, and minus the second one."""
    total = at[1] + local.variance
    pull = (y[:, None, None] - local.mean - at[0]) / total  # (batch, cells, branches, points)
    told = log_densities.logsumexp(2, keepdim=True)
    share = (log_densities - told).exp()
    moved = (share * pull).sum(2, keepdim=True)
    curved = (share / total).sum(2, keepdim=True) - (share * (pull - moved).square()).sum(2, keepdim=True)
    return told, moved, curved


def refined(curved: Curved, y: Targets) -> tuple[Local, Regressions]:
    """Regression in each cell, linearised anew around its posterior; the law as it was at last, and the posterior."""
    local = curved.local
    found = solved(local, y)
    for _ in range(REFINEMENTS):
        local = curved.around(found.state, found.spread)
        found = solved(local, y)
    return local, found


def without_each(local: Local, found: Regressions) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point given all others: the site of the point is taken back.

    Of several means a target told of the one that it most likely came from.
    """
    fitted, most = local.fitted(found.state), found.precision.argmax(2, keepdim=True)  # (batch, cells, 1, points)
    index = most[:, :, :, None].expand(-1, -1, -1, local.slope.shape[3], -1)
    own = local.slope.gather(2, index)[:, :, 0]  # (batch, cells, dimensions, points)
    cross = ((found.spread @ own)[:, :, None] * local.slope).sum(-2)  # (batch, cells, curves, points)
    told = found.precision.gather(2, most)
    rest = (1 - told * cross.gather(2, most)).clamp_min(1e-9)
    mean = fitted + cross / rest * (told * fitted.gather(2, most) - found.shift.gather(2, most))
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
