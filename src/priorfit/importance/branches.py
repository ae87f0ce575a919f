"""A law as a mixture of Normals, or of classes as log odds: what linear regressions can be made of."""

import math
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Exponential,
    Gamma,
    Laplace,
    MixtureSameFamily,
    Normal,
    StudentT,
)

from priorfit.seeding import seeded

EDGES = (0.0, 0.02, 0.1, 0.3, 0.6, 0.85, 1.0)
"""Levels of the precision of a scale mixture of Normals, between which it is taken as one number."""

DRAWS = 2**17
"""Draws of a precision, of which each part is the geometric mean."""


MOST_ODDS = 16.0
"""Bound of log odds: labels of less probability are those that a law in single precision rules out."""

TOLD_ODDS = 2.0
"""The deviation of log odds that is left where one label has told of them what it can: its Fisher information is at
most 1/4."""

SURE = 1e-3
"""The noise of log odds, which have none: logarithms of it stay finite."""


@dataclass(frozen=True)
class Branches:
    """Normals whose mixture is a law; the last axis of ``mean`` is 1 where all of them have one mean.

    A law of classes has the log odds of each class against all later ones in place of means.
    """

    mean: Float[Tensor, "*batch curves"]
    scale: Float[Tensor, "*batch branches"]
    log_share: Float[Tensor, "*batch branches"]
    is_odds: bool = False

    @property
    def unit(self) -> Float[Tensor, "*batch 1"]:
        """What moves of the means are measured by: the least noise, or what a label leaves unknown of log odds."""
        least = self.scale.amin(-1, keepdim=True)
        return torch.full_like(least, TOLD_ODDS) if self.is_odds else least


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


@branches_of.register(Categorical)
@branches_of.register(Bernoulli)
def _classes(law: Categorical | Bernoulli) -> Branches:
    """Each class against all later ones."""
    if isinstance(law, Bernoulli):
        odds = -law.logits.double()[..., None]
    else:
        later = law.logits.double().flip(-1).logcumsumexp(-1).flip(-1)
        odds = law.logits.double()[..., :-1] - later[..., 1:]
    odds = odds.clamp(-MOST_ODDS, MOST_ODDS)
    return Branches(odds, torch.full_like(odds, SURE), torch.zeros_like(odds), is_odds=True)


@branches_of.register
def _student(law: StudentT) -> Branches:
    """A scale mixture of Normals whose precision is Gamma(df / 2, df / 2)."""
    return scale_mixture(law, t_widths(float(law.df.median())))


@branches_of.register
def _laplace(law: Laplace) -> Branches:
    """A scale mixture of Normals whose variance is twice an Exponential(1)."""
    return scale_mixture(law, laplace_widths())


def scale_mixture(law: StudentT | Laplace, widths: tuple[float, ...]) -> Branches:
    """Normals at the location of a law, one for each part of `EDGES`."""
    shares = torch.tensor([math.log(high - low) for low, high in pairwise(EDGES)])
    scale = law.scale[..., None] * torch.tensor(widths).to(law.scale)
    return Branches(law.loc[..., None], scale, shares.to(scale).expand_as(scale))


@lru_cache(maxsize=32)
def t_widths(df: float) -> tuple[float, ...]:
    """The standard deviations of the Normals of Student's t."""
    with seeded(0):
        return widths_of(Gamma(df / 2, df / 2).sample((DRAWS,)))


@lru_cache(maxsize=1)
def laplace_widths() -> tuple[float, ...]:
    """The standard deviations of the Normals of a Laplace law."""
    with seeded(0):
        return widths_of(0.5 / Exponential(1.0).sample((DRAWS,)))


def widths_of(precision: Float[Tensor, " draws"]) -> tuple[float, ...]:
    """Standard deviations, one for each part of `EDGES`."""
    edges = [round(level * len(precision)) for level in EDGES]
    log_precision = precision.log().sort().values
    return tuple(float((-0.5 * log_precision[low:high].mean()).exp()) for low, high in pairwise(edges))


@branches_of.register
def _mixture(law: MixtureSameFamily) -> Branches | None:
    parts = law.component_distribution
    if not isinstance(parts, Normal):
        return branches_of.dispatch(Distribution)(law)
    shape = parts.loc.shape
    log_share = law.mixture_distribution.logits.expand(shape)
    has_one_mean = shape[-1] > 1 and parts.loc.stride(-1) == 0  # one number that was spread over all Normals
    return Branches(parts.loc[..., :1] if has_one_mean else parts.loc, parts.scale.expand(shape), log_share)
