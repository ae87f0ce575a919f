"""The distribution of ``scale * y + shift``, exactly and within the same family."""

import math
from functools import singledispatch
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions.bounded_riemann import BoundedRiemann
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.unbounded_riemann import UnboundedRiemann
from priorfit.errors import InputError

Factor = Float[Tensor, "..."] | float
Buckets = TypeVar("Buckets", BoundedRiemann, UnboundedRiemann)
MAPPED = (Normal, NormalMixture, BoundedRiemann, UnboundedRiemann)


def affine(distribution: Distribution, scale: Factor, shift: Factor) -> Distribution:
    """The distribution of ``scale * y + shift`` for y of a Riemann, Normal or NormalMixture distribution.

    Scale and shift broadcast with the batch shape, so that each dataset may have its own. A negative scale mirrors
    the density: borders and logits are flipped.

    >>> ppd = BoundedRiemann(torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.8, 0.2]).log())
    >>> moved = affine(ppd, scale=-2.0, shift=1.0)
    >>> moved.borders, moved.probs
    (tensor([-5., -1.,  1.]), tensor([0.2000, 0.8000]))
    """
    if not isinstance(distribution, MAPPED):
        raise InputError(f"affine knows Riemann distributions, Normal and NormalMixture; got {distribution}.")
    like = distribution.loc if isinstance(distribution, Normal | NormalMixture) else distribution.logits
    scale, shift = _factor(scale, like), _factor(shift, like)
    _check_factors(scale, shift)
    shape = distribution.batch_shape
    if any(factor.ndim and factor.shape != shape for factor in (scale, shift)):
        distribution = distribution.expand(broadcast_shapes(scale.shape, shift.shape, shape))
    return _mapped(distribution, scale, shift)


def _factor(factor: Factor, like: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return factor.to(like) if isinstance(factor, Tensor) else like.new_tensor(factor)


def _check_factors(scale: Float[Tensor, "..."], shift: Float[Tensor, "..."]) -> None:
    """Refuse what has no density, and say whether it is the map or the size of the numbers.

    One sum is faster than a check of each: it is finite only where all are, and no scale is 0.
    """
    if math.isfinite(torch.addcdiv(scale, shift, scale).sum().item()):  # scale + shift / scale
        return
    if not bool(torch.isfinite(scale).all() & torch.isfinite(shift).all()):
        raise InputError(
            "the scale or shift of a prediction is not finite: NaN, or beyond the largest number of "
            f"{scale.dtype}, {torch.finfo(scale.dtype).max:.1e}. Data of such a size cause it; rescale inputs and "
            "targets to the units that the model was trained on."
        )
    if not bool((scale != 0).all()):
        raise InputError("an affine map needs finite scales other than 0; got a zero.")


@singledispatch
def _mapped(distribution: Distribution, scale: Float[Tensor, "..."], shift: Float[Tensor, "..."]) -> Distribution:
    raise NotImplementedError


@_mapped.register(BoundedRiemann)
@_mapped.register(UnboundedRiemann)
def _mapped_riemann(distribution: Buckets, scale: Float[Tensor, "..."], shift: Float[Tensor, "..."]) -> Buckets:
    scale, shift = scale[..., None], shift[..., None]
    borders, logits = scale * distribution.borders + shift, distribution.logits
    mirrored = scale < 0
    if bool(mirrored.any()):
        borders = torch.where(mirrored, borders.flip(-1), borders)
        logits = torch.where(mirrored, logits.flip(-1), logits)
    try:
        return type(distribution)(borders, logits, validate_args=distribution._validate_args)
    except ValueError as error:
        raise InputError(
            f"the map leaves borders of {borders.dtype} that are infinite or no longer distinct: the shift is too "
            "large beside the buckets, or the scale too large. Map in_double(distribution), of float64, in its place."
        ) from error


@_mapped.register(Normal)
def _mapped_normal(distribution: Normal, scale: Float[Tensor, "..."], shift: Float[Tensor, "..."]) -> Normal:
    loc, spread = scale * distribution.loc + shift, scale.abs() * distribution.scale
    return Normal(loc, spread, validate_args=distribution._validate_args)


@_mapped.register(NormalMixture)
def _mapped_mixture(
    distribution: NormalMixture, scale: Float[Tensor, "..."], shift: Float[Tensor, "..."]
) -> NormalMixture:
    scale, shift = (factor.unsqueeze(-1) if factor.ndim else factor for factor in (scale, shift))
    loc, spread = scale * distribution.loc + shift, scale.abs() * distribution.scale
    return NormalMixture(distribution.logits, loc, spread, validate_args=distribution._validate_args)
