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
        location, scale = self.location[:, None], self.log_scale.exp()
        parts = (self.log_weights, location + scale[:, None] * self.mean, scale[:, None] * self.log_scales.exp())
        found = NormalMixture(*(part.mT for part in parts), validate_args=False)
        return found.with_moments(self.location, scale.square())


def mixed(mean: Numbers, log_scale: Numbers, log_evidence: Evidence) -> Mixed:
    """The mixture of Normals that are weighted by their evidence."""
    log_weights = log_evidence.log_softmax(1)[..., None]  # (batch, components, 1)
    shares = log_weights.exp().mT  # (batch, 1, components)
    location = shares @ mean  # (batch, 1, points)
    centred = mean - location
    variance = shares @ torch.addcmul((2 * log_scale).exp(), centred, centred)
    whole = 0.5 * variance.log()
    weights = log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(mean)
    return Mixed(centred * variance.rsqrt(), log_scale - whole, weights, location[:, 0], whole[:, 0])
