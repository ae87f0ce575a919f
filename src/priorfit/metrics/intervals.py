"""Intervals of a prediction, and the continuous ranked probability score."""

import math
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann
from priorfit.distributions.quadrature import expectation_nodes
from priorfit.distributions.values import Values, as_probability
from priorfit.metrics.partial_means import mean_excess, mean_shortfall
from priorfit.metrics.reals import quantile, real_values


def interval(ppd: Distribution, level: Values) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """The central interval that holds a share ``level`` of the probability: its lower and its upper end.

    >>> low, high = interval(Normal(torch.zeros(3), 1.0), level=0.95)
    >>> low.shape, high[0]
    (torch.Size([3]), tensor(1.9600))
    """
    tail = (1 - as_probability(level)) / 2
    return quantile(ppd, tail), quantile(ppd, 1 - tail)


def crps(ppd: Distribution, y: Values) -> Float[Tensor, "..."]:
    """The continuous ranked probability score of a prediction: E|Y - y| - E|Y - Y'| / 2, in the unit of y.

    Exact for Riemann distributions, Normal and NormalMixture; for others by 1024 quantiles.

    >>> crps(Normal(torch.zeros(3), 1.0), torch.zeros(3)).shape
    torch.Size([3])
    """
    y = real_values(ppd, y)
    return mean_shortfall(ppd, y) + mean_excess(ppd, y) - half_mean_difference(ppd)


@singledispatch
def half_mean_difference(ppd: Distribution) -> Float[Tensor, "*batch"]:
    """E|Y - Y'| / 2 for two independent draws: the integral of cdf (1 - cdf)."""
    points, _ = expectation_nodes(ppd, 1)  # quantiles, in order
    count = len(points)
    rank = (2 * torch.arange(count, dtype=points.dtype, device=points.device) + 1 - count) / count**2
    return (rank[(...,) + (None,) * (points.ndim - 1)] * points).sum(0)


@half_mean_difference.register(Normal)
def _of_normal(ppd: Normal) -> Float[Tensor, "*batch"]:
    return ppd.scale / math.sqrt(math.pi)


@half_mean_difference.register(NormalMixture)
def _of_mixture(ppd: NormalMixture) -> Float[Tensor, "*batch"]:
    spread = (ppd.scale[..., None] ** 2 + ppd.scale[..., None, :] ** 2).sqrt()  # (*batch, components, components)
    distance = Normal(ppd.loc[..., None] - ppd.loc[..., None, :], spread, validate_args=False)
    zero = torch.zeros_like(spread)
    # |d| = max(d, 0) + max(-d, 0), and the sum over all pairs meets both
    differences = mean_shortfall(distance, zero)
    return (ppd.probs[..., None] * ppd.probs[..., None, :] * differences).sum((-1, -2))


@half_mean_difference.register(BoundedRiemann)
def _of_bounded(ppd: BoundedRiemann) -> Float[Tensor, "*batch"]:
    return _of_buckets(ppd).sum(-1)


@half_mean_difference.register(UnboundedRiemann)
def _of_unbounded(ppd: UnboundedRiemann) -> Float[Tensor, "*batch"]:
    total = _of_buckets(ppd)[..., 1:-1].sum(-1)
    for scale, mass in zip(ppd.tail_scales, (ppd.probs[..., 0], ppd.probs[..., -1]), strict=True):
        linear, quadratic = math.sqrt(2 / math.pi), 2 * (math.sqrt(2) - 1) / math.sqrt(math.pi)
        total = total + scale[..., 0] * mass * (linear - quadratic * mass)  # integrals of erfc and of its square
    return total


def _of_buckets(ppd: BoundedRiemann | UnboundedRiemann) -> Float[Tensor, "*batch buckets"]:
    """The integral of cdf (1 - cdf) over each bucket, where the cdf is linear."""
    above = ppd.probs.flip(-1).cumsum(-1).flip(-1)  # the mass above, the bucket included
    below = ppd.probs.cumsum(-1)
    left, right = below - ppd.probs, above - ppd.probs  # the masses outside the bucket
    # With u from 0 to 1 across the bucket: (left + p u)(right + p (1 - u)), integrated.
    inside = left * right + ppd.probs * (left + right) / 2 + ppd.probs**2 / 6
    return ppd.widths * inside
