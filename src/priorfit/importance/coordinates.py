"""Real coordinates of latents: standard Normal through quantile functions, or a fixed map onto the support."""

import math

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, LogNormal, Normal, biject_to
from torch.special import ndtr, ndtri

from priorfit.priors.latents import support_of

LOG_NORMALISER = 0.5 * math.log(2 * math.pi)
EDGE = 1e-15
"""Quantile functions are asked for levels in [EDGE, 1 - EDGE]."""

MOST_DEVIATIONS = -float(ndtri(torch.tensor(EDGE, dtype=torch.float64)))
"""The same levels as standard deviations on either side, about 7.9."""


def values_at(
    law: Distribution, u: Float[Tensor, "batch size"]
) -> tuple[Num[Tensor, "batch size"], Float[Tensor, "batch size"]]:
    """The latent at some coordinates, and the log density of the coordinates, in float64.

    Where the law has quantiles (and for classes, whose quantiles are steps) the coordinates are standard Normal;
    otherwise they are mapped onto the support as torch's `biject_to` does.
    """
    standard = -u.square() / 2 - LOG_NORMALISER
    if isinstance(law, Normal):
        return law.loc + law.scale * u, standard
    if isinstance(law, LogNormal):  # an exponential of more would overflow in the simulators of users
        return (law.loc + law.scale * u.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)).exp(), standard
    if isinstance(law, Bernoulli):
        return (ndtr(u) > 1 - law.probs).to(law.probs.dtype), standard
    if isinstance(law, Categorical):
        steps = law.probs.double().cumsum(-1)[..., :-1]  # (batch, size, classes - 1)
        return (ndtr(u)[..., None] > steps).sum(-1), standard
    if has_quantiles(law):
        return law.icdf(ndtr(u).clamp(EDGE, 1 - EDGE)), standard
    onto = biject_to(support_of(law))
    value = onto(u)
    law._validate_args = False
    return value, law.log_prob(value).double() + onto.log_abs_det_jacobian(u, value)


def coordinates_of(law: Distribution, value: Num[Tensor, "batch size"]) -> Float[Tensor, "batch size"]:
    """Coordinates at which `values_at` gives a latent; of a class one of them at random."""
    value = value.double()
    if isinstance(law, Normal):
        return (value - law.loc) / law.scale
    if isinstance(law, LogNormal):
        return (value.log() - law.loc) / law.scale
    if isinstance(law, Categorical | Bernoulli):
        low, share = steps_of(law, value)
        return standard_normals(low + torch.rand_like(low) * share)
    if has_quantiles(law):
        return standard_normals(law.cdf(value))
    return biject_to(support_of(law)).inv(value)


def steps_of(law: Categorical | Bernoulli, value: Float[Tensor, "batch size"]) -> tuple[Tensor, Tensor]:
    """Where the levels of a class begin, and how many there are."""
    if isinstance(law, Bernoulli):
        no = (1 - law.probs).double()
        return torch.where(value > 0, no, 0.0), torch.where(value > 0, 1 - no, no)
    probs = law.probs.double().expand(*value.shape, -1)
    index = value.long()[..., None]
    share = probs.gather(-1, index)[..., 0]
    return probs.cumsum(-1).gather(-1, index)[..., 0] - share, share


def drawn_coordinates(law: Distribution, standard: Float[Tensor, "batch size"]) -> Float[Tensor, "batch size"]:
    """Coordinates of draws of the law: the standard Normal numbers themselves, where the law has quantiles."""
    if isinstance(law, Categorical | Bernoulli) or has_quantiles(law):
        return standard
    return biject_to(support_of(law)).inv(law.sample().double())


def has_quantiles(law: Distribution) -> bool:
    """Whether torch knows the quantile function of a law."""
    try:
        law.icdf(torch.full(law.batch_shape, 0.5, dtype=torch.float64))
    except NotImplementedError:
        return False
    return True


def standard_normals(uniform: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Standard Normal numbers at uniform levels, which may be 0."""
    return ndtri(uniform.double().clamp(EDGE, 1 - EDGE))
