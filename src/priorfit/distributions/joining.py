"""Distributions put side by side and arranged anew: chunks of queries become one answer."""

import math
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import TypeVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.distributions.bounded_riemann import BoundedRiemann
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.unbounded_riemann import UnboundedRiemann
from priorfit.errors import InputError

Buckets = TypeVar("Buckets", BoundedRiemann, UnboundedRiemann)
Change = Callable[[Sequence[Float[Tensor, "*batch numbers"]]], Float[Tensor, "*changed numbers"]]
"""From the same parameter of several distributions, its numbers last, to that of one."""


def joined(parts: Sequence[Distribution]) -> Distribution:
    """One distribution whose last batch axis holds those of all parts, which are of one family.

    >>> joined([Normal(torch.zeros(2, 3), 1.0), Normal(torch.zeros(2, 4), 1.0)]).batch_shape
    torch.Size([2, 7])
    """
    return parts[0] if len(parts) == 1 else _changed(parts[0], parts, lambda each: torch.cat(list(each), dim=-2))


def reshaped(distribution: Distribution, batch_shape: Sequence[int]) -> Distribution:
    """The same distributions in batches of another shape.

    >>> reshaped(Normal(torch.zeros(6, 5), 1.0), (2, 3, 5)).batch_shape
    torch.Size([2, 3, 5])
    """
    if tuple(distribution.batch_shape) == tuple(batch_shape):
        return distribution
    return _changed(distribution, [distribution], lambda each: each[0].reshape(*batch_shape, each[0].shape[-1]))


def selected(distribution: Distribution, index: Int64[Tensor, " chosen"]) -> Distribution:
    """Some of the distributions on the last batch axis, in any order.

    >>> selected(Normal(torch.tensor([1.0, 2.0, 3.0]), 1.0), torch.tensor([2, 0])).mean
    tensor([3., 1.])
    """
    return _changed(distribution, [distribution], lambda each: each[0].index_select(-2, index))


def regrouped(distribution: Distribution, sets: Sequence[int]) -> Distribution:
    """The last batch axis as several sets, whose axes go in front of all others.

    >>> regrouped(Normal(torch.zeros(4, 15), 1.0), (3,)).batch_shape
    torch.Size([3, 4, 5])
    """
    count, length = math.prod(sets), distribution.batch_shape[-1]
    size = (count, length // max(count, 1))
    return _changed(
        distribution, [distribution], lambda each: each[0].unflatten(-2, size).movedim(-3, 0).unflatten(0, tuple(sets))
    )


@singledispatch
def _changed(first: Distribution, parts: Sequence[Distribution], change: Change) -> Distribution:
    raise InputError(f"expected a Riemann distribution, Normal, NormalMixture or Categorical; got {first}.")


@_changed.register(Normal)
def _changed_normals(first: Normal, parts: Sequence[Normal], change: Change) -> Normal:
    loc, scale = (change([getattr(part, name)[..., None] for part in parts])[..., 0] for name in ("loc", "scale"))
    return Normal(loc, scale, validate_args=False)


@_changed.register(NormalMixture)
def _changed_mixtures(first: NormalMixture, parts: Sequence[NormalMixture], change: Change) -> NormalMixture:
    parameters = (change([getattr(part, name) for part in parts]) for name in ("logits", "loc", "scale"))
    return NormalMixture(*parameters, validate_args=False)


@_changed.register(Categorical)
def _changed_classes(first: Categorical, parts: Sequence[Categorical], change: Change) -> Categorical:
    return Categorical(logits=change([part.logits for part in parts]), validate_args=False)


@_changed.register(BoundedRiemann)
@_changed.register(UnboundedRiemann)
def _changed_bars(first: Buckets, parts: Sequence[Buckets], change: Change) -> Buckets:
    borders = first.borders
    if borders.ndim > 1:  # one set for each query; else all share one
        borders = change([part.borders.expand(*part.logits.shape[:-1], borders.shape[-1]) for part in parts])
    return type(first)(borders, change([part.logits for part in parts]), validate_args=False)
