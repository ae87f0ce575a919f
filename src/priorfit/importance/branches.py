"""A law of real targets as a mixture of Normals, exactly or nearly: what linear regressions can be made of."""

import math
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Gamma, MixtureSameFamily, Normal, StudentT

from priorfit.seeding import seeded

T_EDGES = (0.0, 0.02, 0.1, 0.3, 0.6, 1.0)
"""Levels of the precision of Student's t, as a scale mixture of Normals, between which it is taken as one number."""

T_DRAWS = 2**17


@dataclass(frozen=True)
class Branches:
    """Normals whose mixture is a law; the last axis of ``mean`` is 1 where all of them have one mean."""

    mean: Float[Tensor, "*batch curves"]
    scale: Float[Tensor, "*batch branches"]
    log_share: Float[Tensor, "*batch branches"]


@singledispatch
def branches_of(law: Distribution) -> Branches | None:
    """The Normals of a law: for laws that are no mixture of them, the one with the same moments; None without any."""
    try:
        mean, scale = law.mean, law.stddev
    except NotImplementedError:
        return None
    if not bool((mean.isfinite() & scale.isfinite() & (scale > 0)).all()):
        return None
    return Branches(mean[..., None], scale[..., None], torch.zeros_like(scale)[..., None])


@branches_of.register
def _normal(law: Normal) -> Branches:
    return Branches(law.loc[..., None], law.scale[..., None], torch.zeros_like(law.scale)[..., None])


@branches_of.register
def _student(law: StudentT) -> Branches:
    """A scale mixture of Normals: the precision is Gamma(df / 2, df / 2), cut into parts of unlike probability."""
    shares = torch.tensor([math.log(high - low) for low, high in pairwise(T_EDGES)])
    scale = law.scale[..., None] * torch.tensor(t_widths(float(law.df.median()))).to(law.scale)
    return Branches(law.loc[..., None], scale, shares.to(scale).expand_as(scale))


@lru_cache(maxsize=32)
def t_widths(df: float) -> tuple[float, ...]:
    """The standard deviations of the Normals of Student's t, one for each part of `T_EDGES`."""
    with seeded(0):
        precision = Gamma(df / 2, df / 2).sample((T_DRAWS,)).sort().values
    edges = [round(level * T_DRAWS) for level in T_EDGES]
    return tuple(float(precision[low:high].mean().rsqrt()) for low, high in pairwise(edges))


@branches_of.register
def _mixture(law: MixtureSameFamily) -> Branches | None:
    parts = law.component_distribution
    if not isinstance(parts, Normal):
        return branches_of.dispatch(Distribution)(law)
    shape = parts.loc.shape
    log_share = law.mixture_distribution.logits.expand(shape)
    return Branches(parts.loc, parts.scale.expand(shape), log_share)
