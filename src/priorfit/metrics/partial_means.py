"""How far a distribution lies below or above a value, on average: the core of CRPS and of expected improvement."""

import math
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine
from priorfit.distributions.normal_tails import normal_cdf
from priorfit.distributions.quadrature import expectation_nodes
from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.values import Values
from priorfit.metrics.reals import real_values

NORMAL_PEAK = 1 / math.sqrt(2 * math.pi)


def mean_shortfall(ppd: Distribution, value: Values) -> Float[Tensor, "..."]:
    """E[max(value - y, 0)]: how far y lies below a value, on average; a y above it counts 0.

    Exact for Riemann distributions, Normal and NormalMixture; for others by 1024 quantiles.

    >>> mean_shortfall(Normal(0.0, 1.0), 0.0)
    tensor(0.3989)
    """
    return _shortfall(ppd, real_values(ppd, value))


def mean_excess(ppd: Distribution, value: Values) -> Float[Tensor, "..."]:
    """E[max(y - value, 0)]: how far y lies above a value, on average; a y below it counts 0."""
    return _excess(ppd, real_values(ppd, value))


@singledispatch
def _shortfall(ppd: Distribution, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    points, weights = _nodes_before(ppd, value)
    return (weights * (value - points).clamp(min=0)).sum(0)


@singledispatch
def _excess(ppd: Distribution, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    points, weights = _nodes_before(ppd, value)
    return (weights * (points - value).clamp(min=0)).sum(0)


def _nodes_before(
    ppd: Distribution, value: Float[Tensor, "..."]
) -> tuple[Float[Tensor, "nodes ..."], Float[Tensor, "nodes ..."]]:
    """Nodes of the distribution on an axis before all axes of a value."""
    points, weights = expectation_nodes(ppd, 1)
    extra = (1,) * (value.ndim - len(ppd.batch_shape))
    return points.reshape(len(points), *extra, *ppd.batch_shape), weights.reshape(
        len(weights), *extra, *ppd.batch_shape
    )


@_excess.register(BoundedRiemann)
@_excess.register(UnboundedRiemann)
@_excess.register(Normal)
@_excess.register(NormalMixture)
def _mirrored_shortfall(ppd: Distribution, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return _shortfall(affine(ppd, -1.0, 0.0), -value)


@_shortfall.register(Normal)
def _normal_shortfall(ppd: Normal, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return ppd.scale * _standard_shortfall((value - ppd.loc) / ppd.scale)


def _standard_shortfall(depth: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The mean shortfall of a standard Normal: x Phi(x) + phi(x)."""
    density = NORMAL_PEAK * torch.exp(-(depth**2) / 2)
    return (depth * normal_cdf(depth) + density).clamp(min=0)


@_shortfall.register(NormalMixture)
def _mixture_shortfall(ppd: NormalMixture, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    components = Normal(ppd.loc, ppd.scale, validate_args=False)
    return (ppd.probs * _normal_shortfall(components, value[..., None])).sum(-1)


@_shortfall.register(BoundedRiemann)
def _bounded_shortfall(ppd: BoundedRiemann, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return (ppd.probs * _uniform_shortfall(ppd, value)).sum(-1)


@_shortfall.register(UnboundedRiemann)
def _unbounded_shortfall(ppd: UnboundedRiemann, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    (low, high), (low_scale, high_scale) = ppd.tail_starts, ppd.tail_scales
    below = (value[..., None] - low) / low_scale  # (..., 1)
    above = ((value[..., None] - high) / high_scale).clamp(min=0)
    lower = low_scale * (2 * _standard_shortfall(below.clamp(max=0)) + below.clamp(min=0))
    upper = above * torch.erf(above * math.sqrt(0.5)) + 2 * NORMAL_PEAK * torch.expm1(-(above**2) / 2)
    uniform = _uniform_shortfall(ppd, value)[..., 1:-1]
    return (ppd.probs * torch.cat(_broadcast_batch(lower, uniform, high_scale * upper), dim=-1)).sum(-1)


def _broadcast_batch(*parts: Float[Tensor, "... _"]) -> list[Float[Tensor, "... _"]]:
    shape = broadcast_shapes(*(part.shape[:-1] for part in parts))
    return [part.expand(*shape, part.shape[-1]) for part in parts]


def _uniform_shortfall(
    ppd: BoundedRiemann | UnboundedRiemann, value: Float[Tensor, "..."]
) -> Float[Tensor, "... buckets"]:
    """The mean shortfall of a uniform density on each bucket, both within the bucket and above it."""
    within = (value[..., None] - ppd.borders[..., :-1]).clamp(min=0).minimum(ppd.widths)
    return within**2 / (2 * ppd.widths) + (value[..., None] - ppd.borders[..., 1:]).clamp(min=0)
