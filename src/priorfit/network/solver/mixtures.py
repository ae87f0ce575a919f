"""Mixtures of Normals, one component for each regression: their moments, and the features of tokens."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.distributions import NormalMixture
from priorfit.network.solver.gaussian import Evidence, Numbers

LEAST_LOG_WEIGHT = -20.0
"""Components with smaller weights are treated as if they had this one: e^-20 is nothing, and finite."""

TOKEN_SCALE = 4.0
"""Log weights are divided by this in the features, which brings them to the size of the other numbers."""


@dataclass(frozen=True)
class Mixed:
    """Components in units of their mixture, and the mixture's location and log scale (batch, points)."""

    mean: Numbers
    log_scales: Numbers
    log_weights: Numbers
    location: Float[Tensor, "batch points"]
    log_scale: Float[Tensor, "batch points"]

    def features(self, dtype: torch.dtype) -> Float[Tensor, "batch points numbers"]:
        """Features of tokens: mean, log scale, log weight of each component; location, log scale of the mixture."""
        whole = (self.location[:, None], self.log_scale[:, None])
        parts = (self.mean, self.log_scales, self.log_weights / TOKEN_SCALE, *whole)
        return torch.cat(parts, dim=1).mT.to(dtype)

    def distribution(self) -> NormalMixture:
        """The mixture itself."""
        scale = self.log_scale.exp()[:, None]
        parts = (self.log_weights, self.location[:, None] + scale * self.mean, scale * self.log_scales.exp())
        return NormalMixture(*(part.mT for part in parts), validate_args=False)


def mixed(mean: Numbers, log_scale: Numbers, log_evidence: Evidence) -> Mixed:
    """The mixture of Normals that are weighted by their evidence."""
    log_weights = log_evidence.log_softmax(1)[..., None]  # (batch, components, 1)
    location = (log_weights.exp() * mean).sum(1, keepdim=True)  # (batch, 1, points)
    spread = (2 * log_scale).exp() + (mean - location).square()
    whole = 0.5 * (log_weights.exp() * spread).sum(1, keepdim=True).log()
    standard = (mean - location) * torch.exp(-whole)
    weights = log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(mean)
    return Mixed(standard, log_scale - whole, weights, location[:, 0], whole[:, 0])
