"""Regressions on targets in many cells at once: the posterior of w in each cell, and the evidence of the cell.

A law of one Normal has a closed form. A law of classes, or of several Normals of one mean, such as Student's t, is
solved by expectation propagation; one of several means by finding out which of them each target came from.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import torch
from jaxtyping import Int, Num
from torch import Tensor

from priorfit.network.solver.gaussian import log_determinant
from priorfit.network.solver.local import Curved, Local, OfCurves, Targets
from priorfit.network.solver.odds import Odds, bounded
from priorfit.network.solver.posteriors import Regressions, before, posterior_of
from priorfit.network.solver.propagation import FURTHER_STEPS, propagated, without_points

ROUNDS = 4
"""Rounds in which a law of several means finds out which of them each target came from."""

REFINEMENTS = 3
"""Times that a cell is linearised around its posterior."""

Tensors = TypeVar("Tensors", "Local", "Regressions")


def solved(local: Local, y: Targets) -> Regressions:
    """Condition on targets in each cell; of classes by a bound, which tells the cells that matter."""
    if isinstance(local, Odds):
        return bounded(local, y)
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


def refined(curved: Curved, y: Targets) -> tuple[Local, Regressions]:
    """Regression in each cell, linearised anew around its posterior; the law as it was at last, and the posterior."""
    local, has_odds = curved.local, isinstance(curved.local, Odds)
    found = propagated(local, y) if has_odds else solved(local, y)
    for _ in range(REFINEMENTS):
        local = curved.around(found.state, found.spread)
        found = propagated(local, y, FURTHER_STEPS, found) if has_odds else solved(local, y)
    return local, found


def without_each(local: Local, found: Regressions) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point given all others: the site of the point is taken back.

    Of several means a target told of the one that it most likely came from.
    """
    if isinstance(local, Odds):
        return without_points(local, found)
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
