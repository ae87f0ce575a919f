"""How the mass of a target distribution falls into buckets, exactly and without cancellation in either tail."""

import math
from functools import singledispatch

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions import Distribution, Normal
from torch.nn.functional import pad

from priorfit.distributions.lookup import bucket_of
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.normal_tails import normal_cdf
from priorfit.distributions.quadrature import expectation_nodes

FARTHEST = {torch.float32: 9.0, torch.float64: 26.0}
"""Largest argument at which erfc is computed, where it is 4e-37 and 6e-296; beyond, subnormal numbers are slow."""


@singledispatch
def bucket_masses(target: Distribution, inner: Float[Tensor, "*#batch inner"]) -> Float[Tensor, "*batch buckets"]:
    """The probability of a target below the first inner border, between each two, and above the last."""
    cdf = target.cdf(inner.movedim(-1, 0).reshape(-1, *_aligned(inner, target)))  # (inner, *batch)
    edge = torch.zeros_like(cdf[:1])
    return torch.cat([edge, cdf, edge + 1]).diff(dim=0).movedim(0, -1)


def _aligned(inner: Tensor, target: Distribution) -> tuple[int, ...]:
    return (1,) * (len(target.batch_shape) - inner.ndim + 1) + inner.shape[:-1]


@bucket_masses.register(Normal)
def _normal_masses(target: Normal, inner: Float[Tensor, "*#batch inner"]) -> Float[Tensor, "*batch buckets"]:
    # In place where it can be: this is part of the training loss, and fresh memory costs more than arithmetic.
    precision = math.sqrt(0.5) / target.scale.clamp(min=torch.finfo(target.scale.dtype).tiny)
    inner, far = inner.to(target.loc.dtype), torch.finfo(target.loc.dtype).max / 2
    borders = pad(pad(inner, (1, 0), value=-far), (0, 1), value=far)
    depth = (target.loc[..., None] - borders).mul_(precision[..., None])  # (*batch, borders)
    # The probability beyond each border, positive left of the mean and negative right of it: neighbours on one side
    # of the mean then differ by the mass between them, and by that minus 1 across it.
    farthest = depth.new_tensor(FARTHEST[depth.dtype])
    tail = depth.abs().clamp_(max=farthest).erfc_().sub_(farthest.erfc()).div_(2).copysign_(depth)
    masses = tail.diff(dim=-1)
    central = bucket_of(inner, target.loc.expand(masses.shape[:-1])[..., None], side="right")
    return masses.scatter_add_(-1, central, torch.ones_like(masses[..., :1]))


@bucket_masses.register(NormalMixture)
def _mixture_masses(target: NormalMixture, inner: Float[Tensor, "*#batch inner"]) -> Float[Tensor, "*batch buckets"]:
    total = torch.zeros((), dtype=target.loc.dtype, device=target.loc.device)
    for probs, loc, scale in zip(*(part.unbind(-1) for part in (target.probs, target.loc, target.scale)), strict=True):
        # Components are added one by one, since an oracle may have thousands of them.
        total = total + probs[..., None] * _normal_masses(Normal(loc, scale, validate_args=False), inner)
    return total


@singledispatch
def squared_excess(target: Distribution, start: Float[Tensor, "*#batch"], direction: int) -> Float[Tensor, "*batch"]:
    """E[max(direction * (y - start), 0)^2]; direction is 1 for the part above the start and -1 for that below."""
    points, weights = expectation_nodes(target, 1)
    return (weights * (direction * (points - start)).clamp(min=0) ** 2).sum(0)


@squared_excess.register(Normal)
def _normal_squared_excess(target: Normal, start: Float[Tensor, "*#batch"], direction: int) -> Float[Tensor, "*batch"]:
    scale = target.scale.clamp(min=torch.finfo(target.scale.dtype).tiny)
    distance = direction * (target.loc - start)
    depth = distance / scale
    density = torch.exp(-(depth**2) / 2) / math.sqrt(2 * math.pi)
    square = (scale**2 + distance**2) * normal_cdf(depth) + scale * distance * density
    return square.clamp(min=0)


@squared_excess.register(NormalMixture)
def _mixture_squared_excess(
    target: NormalMixture, start: Float[Tensor, "*#batch"], direction: int
) -> Float[Tensor, "*batch"]:
    components = Normal(target.loc, target.scale, validate_args=False)
    return (target.probs * _normal_squared_excess(components, start[..., None], direction)).sum(-1)


@singledispatch
def point_masses(target: Distribution) -> Bool[Tensor, "*batch"]:
    """Whether each target is a point mass."""
    return torch.zeros(target.batch_shape, dtype=torch.bool, device=target.mean.device)


@point_masses.register(Normal)
def _normal_point_masses(target: Normal) -> Bool[Tensor, "*batch"]:
    return target.scale < torch.finfo(target.scale.dtype).tiny
