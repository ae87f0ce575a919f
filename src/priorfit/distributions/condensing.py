"""A mixture of many Normals by one of few: for sums that would take every pair of its components."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.distributions.normal_mixture import NormalMixture

SMALLEST_SHARE = 1e-6
"""The scale of a merged Normal is at least this share of the mixture's, where rounding leaves less."""


def condensed(mixture: NormalMixture, most: int) -> NormalMixture:
    """Merge the components of a mixture, in the order of their locations, into at most ``most`` of like weights.

    Each merged Normal has the weight, mean and variance of those it stands for, so the mixture's own mean and variance
    stay as they are. A component with more than its share of the weight is merged with few or none.

    >>> many = NormalMixture(torch.zeros(5, 1_000), torch.randn(5, 1_000), torch.ones(1_000))
    >>> condensed(many, 32).logits.shape
    torch.Size([5, 32])
    """
    if mixture.logits.shape[-1] <= most:
        return mixture
    centre, spread = mixture.mean[..., None], mixture.variance.sqrt()[..., None]
    order = mixture.loc.argsort(-1)
    probs = mixture.probs.gather(-1, order)
    loc = ((mixture.loc - centre) / spread).gather(-1, order)
    scale = (mixture.scale / spread).gather(-1, order)
    middle = probs.cumsum(-1) - probs / 2
    group = (middle * most).long().clamp(0, most - 1)

    def summed(values: Float[Tensor, "*batch components"]) -> Float[Tensor, "*batch groups"]:
        return values.new_zeros(*values.shape[:-1], most).scatter_add(-1, group, values)

    weight = summed(probs)
    share = weight.clamp(min=torch.finfo(weight.dtype).tiny)
    mean = summed(probs * loc) / share
    within = summed(probs * ((loc - mean.gather(-1, group)) ** 2 + scale**2)) / share
    deviation = torch.where(weight > 0, within, 1.0).sqrt().clamp(min=SMALLEST_SHARE)
    return NormalMixture(weight.log(), centre + spread * mean, spread * deviation, validate_args=False)
