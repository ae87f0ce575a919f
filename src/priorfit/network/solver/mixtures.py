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
    """Components (batch, components, points), and mean, variance and deviation of their mixture (batch, 1, points)."""

    mean: Numbers
    scale: Numbers
    log_weights: Numbers
    location: Float[Tensor, "batch 1 points"]
    variance: Float[Tensor, "batch 1 points"]
    spread: Float[Tensor, "batch 1 points"]
    in_own_units: tuple[Numbers, Numbers]
    """Means and log scales of the components, in units of the mixture's mean and standard deviation."""

    def features(self, dtype: torch.dtype) -> Float[Tensor, "batch points numbers"]:
        """Features of tokens: mean, log scale, log weight of each component; location, log scale of the mixture."""
        parts = (*self.in_own_units, self.log_weights / TOKEN_SCALE, self.location, self.spread.log())
        return torch.cat(parts, dim=1).mT.to(dtype)

    def distribution(self) -> NormalMixture:
        """The mixture itself."""
        found = NormalMixture(self.log_weights.mT, self.mean.mT, self.scale.mT, validate_args=False)
        found.with_moments(self.location.squeeze(1), self.variance.squeeze(1), self.spread.squeeze(1))
        loc, log_scale = self.in_own_units
        return found.with_own_units(loc.mT, log_scale.mT)


def mixed(mean: Numbers, scale: Numbers, log_evidence: Evidence) -> Mixed:
    """The mixture of Normals that are weighted by their evidence."""
    log_weights = log_evidence.log_softmax(1).unsqueeze(-1)  # (batch, components, 1)
    shares = log_weights.exp().mT  # (batch, 1, components)
    location = torch.bmm(shares, mean)  # (batch, 1, points)
    centred = mean - location
    variance = torch.bmm(shares, torch.addcmul(scale.square(), centred, centred))
    spread, weights = variance.sqrt(), log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(mean)
    return Mixed(mean, scale, weights, location, variance, spread, (centred / spread, (scale / spread).log()))
