"""Expectation propagation in many cells at once: for targets whose law is not Normal given its mean.

A site is set such that it and all others have the moments of the target's likelihood and all other sites (Minka,
2001). Where a target is so far out that it makes the posterior wider, its site says nothing.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network.solver.gaussian import log_determinant
from priorfit.network.solver.local import Local, OfCurves, Spread, State, Targets
from priorfit.network.solver.posteriors import Regressions, before, posterior_of

FIRST_STEPS, FURTHER_STEPS = (1.0, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7), (0.7, 0.7)
"""Share of the way to a site's new value that each round goes, from nothing and from sites of a law that was nearly
the same. All sites move at once, and swing where two targets contradict each other."""


def propagated(
    local: Local, y: Targets, steps: Sequence[float] = FIRST_STEPS, start: Regressions | None = None
) -> Regressions:
    """The posterior and the evidence, by some rounds from the sites of ``start``; each curve has a site of its own."""
    slope = local.slope.transpose(2, 3).flatten(3)  # (batch, cells, dimensions, curves * points)
    if start is None:
        precision = shift = torch.zeros_like(local.mean)
        state, spread = before(local, y)
        mean, variance = precision, local.leverage(spread)  # of slope . w at each target without its own site
    else:
        precision, shift = start.precision, start.shift
        state, spread, _ = posterior_of(slope, precision.flatten(2), shift.flatten(2))
        mean, variance = without_sites(local, (state, spread), precision, shift)
    factor = spread
    for step in steps:
        _, moved, curved = local.moments(y, mean, variance)
        curved = curved.clamp_min(0.0)
        rest = (1 - variance * curved).clamp_min(torch.finfo(y.dtype).eps)
        precision = torch.lerp(precision, curved / rest, step)
        shift = torch.lerp(shift, (moved + mean * curved) / rest, step)
        state, spread, factor = posterior_of(slope, precision.flatten(2), shift.flatten(2))
        mean, variance = without_sites(local, (state, spread), precision, shift)
    told, _, _ = local.moments(y, mean, variance)
    scale = 1 + precision * variance
    quadratic = (mean.square() * precision - 2 * shift * mean - shift.square() * variance) / scale
    sites = told + 0.5 * (scale.log() + quadratic + shift * local.fitted(state))
    return Regressions(state, spread, sites.sum((2, 3)) - log_determinant(factor), precision, shift)


def without_sites(
    local: Local, posterior: tuple[State, Spread], precision: OfCurves, shift: OfCurves
) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point and curve without the site of that point and curve."""
    mean, variance = local.fitted(posterior[0]), local.leverage(posterior[1])
    rest = (1 - precision * variance).clamp_min(torch.finfo(mean.dtype).eps)
    return (mean - shift * variance) / rest, variance / rest


def without_points(local: Local, found: Regressions) -> tuple[OfCurves, OfCurves]:
    """Mean and variance of slope . w at each point without the sites of all curves at that point, one by one."""
    mean, cross = local.fitted(found.state), crossed(local, found.spread)
    for curve in range(cross.shape[2]):
        own = cross[:, :, :, curve]  # (batch, cells, curves, points)
        rest = (1 - found.precision[:, :, [curve]] * own[:, :, [curve]]).clamp_min(torch.finfo(mean.dtype).eps)
        told = (found.precision[:, :, [curve]] * mean[:, :, [curve]] - found.shift[:, :, [curve]]) / rest
        mean = mean + own * told
        cross = cross + (found.precision[:, :, [curve]] / rest)[:, :, :, None] * own[:, :, :, None] * own[:, :, None]
    return mean, cross.diagonal(dim1=2, dim2=3).movedim(-1, 2)


def crossed(local: Local, spread: Spread) -> Float[Tensor, "batch cells curves others points"]:
    """The covariance of slope . w between curves at each point."""
    return torch.einsum("bkcip,bkij,bkdjp->bkcdp", local.slope, spread, local.slope)
