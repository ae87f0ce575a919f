"""The posterior density of a latent within its support."""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import TransformedDistribution

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.values import Values
from priorfit.network.latent_spaces import LatentSpace

LEVELS = 512
"""Quantiles over which moments are taken."""


class LatentDensity(TransformedDistribution):
    """A mixture of Normals over a latent's coordinate, mapped exactly onto its support."""

    def __init__(self, mixture: NormalMixture, space: LatentSpace) -> None:
        onto = space.transform(mixture.loc.double())
        base = NormalMixture(
            *(part.double() for part in (mixture.logits, mixture.loc, mixture.scale)), validate_args=False
        )
        super().__init__(base, onto, validate_args=False)
        self.space = space

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`; -inf outside of the support."""
        values = torch.as_tensor(value, dtype=torch.float64)
        inside = self.space.contains(values)
        safe = torch.where(inside, values, self.median)
        return torch.where(inside, super().log_prob(safe), -torch.inf)

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        return super().cdf(torch.as_tensor(value, dtype=torch.float64))

    def _quantiles(self) -> Float[Tensor, "levels *batch"]:
        levels = (torch.arange(LEVELS, dtype=torch.float64) + 0.5) / LEVELS
        return cast(Tensor, self.icdf(levels.reshape(-1, *(1,) * len(self.batch_shape))))

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """The mean over 512 quantiles."""
        return self._quantiles().mean(0)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """The variance over 512 quantiles."""
        return self._quantiles().var(0, correction=0)

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The value with half of the probability below it."""
        return cast(Tensor, self.icdf(torch.tensor(0.5, dtype=torch.float64)))
