"""A distribution with its parameters in float64, so that large units do not round small differences away."""

from functools import singledispatch
from typing import TypeVar

from torch.distributions import Distribution, Normal

from priorfit.distributions.bounded_riemann import BoundedRiemann
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.unbounded_riemann import UnboundedRiemann
from priorfit.errors import InputError

Buckets = TypeVar("Buckets", BoundedRiemann, UnboundedRiemann)


@singledispatch
def in_double(distribution: Distribution) -> Distribution:
    """A Riemann, Normal or NormalMixture distribution in float64.

    >>> import torch
    >>> in_double(Normal(torch.zeros(3), torch.ones(3))).mean.dtype
    torch.float64
    """
    raise InputError(f"in_double knows Riemann distributions, Normal and NormalMixture; got {distribution}.")


@in_double.register(BoundedRiemann)
@in_double.register(UnboundedRiemann)
def _double_riemann(distribution: Buckets) -> Buckets:
    borders, logits = distribution.borders.double(), distribution.logits.double()
    return type(distribution)(borders, logits, validate_args=distribution._validate_args)


@in_double.register(Normal)
def _double_normal(distribution: Normal) -> Normal:
    return Normal(distribution.loc.double(), distribution.scale.double(), validate_args=distribution._validate_args)


@in_double.register(NormalMixture)
def _double_mixture(distribution: NormalMixture) -> NormalMixture:
    parameters = (part.double() for part in (distribution.logits, distribution.loc, distribution.scale))
    return NormalMixture(*parameters, validate_args=distribution._validate_args)
