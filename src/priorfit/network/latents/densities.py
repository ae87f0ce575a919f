"""The posterior density of a latent within its support."""

from collections.abc import Callable
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import TransformedDistribution

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.values import Values
from priorfit.network.latent_spaces import LatentSpace

STEP, FARTHEST = 0.25, 5.0
"""Moments are sums over each Normal by the trapezoid rule: its step and bounds, in standard deviations."""


class LatentDensity(TransformedDistribution):
    """A mixture of Normals over a latent's coordinate, mapped exactly onto its support."""

    def __init__(self, mixture: NormalMixture, space: LatentSpace) -> None:
        onto = space.transform(mixture.loc.double())
        base = NormalMixture(
            *(part.double() for part in (mixture.logits, mixture.loc, mixture.scale)), validate_args=False
        )
        super().__init__(base, onto, validate_args=False)
        self.space, self._mixture, self._onto = space, base, onto

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`; -inf outside of the support."""
        values = torch.as_tensor(value, dtype=torch.float64)
        inside = self.space.contains(values)
        safe = torch.where(inside, values, self._at(self._mixture.mean))
        return torch.where(inside, super().log_prob(safe), -torch.inf)

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        return super().cdf(torch.as_tensor(value, dtype=torch.float64))

    def _at(self, coordinates: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Values at coordinates, whose last axes are those of the batch."""
        return cast(Tensor, self._onto(coordinates))

    def _expected(self, change: Callable[[Tensor], Tensor]) -> Float[Tensor, "*batch"]:
        """The mean of a function of the latent, over each Normal by the trapezoid rule."""
        base = self._mixture
        total = base.loc.new_zeros(self.batch_shape)
        loc, scale, probs = (each.movedim(-1, 0) for each in (base.loc, base.scale, base.probs))
        nodes = torch.arange(-FARTHEST, FARTHEST + STEP, STEP, dtype=torch.float64)
        for node, share in zip(nodes.tolist(), (-0.5 * nodes.square()).softmax(0).tolist(), strict=True):
            total = total + share * (probs * change(self._at(loc + node * scale))).sum(0)
        return total

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """The mean, of each Normal within five standard deviations."""
        return self._expected(lambda value: value)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """The variance, of each Normal within five standard deviations."""
        mean = self.mean
        return self._expected(lambda value: (value - mean).square())

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The value with half of the probability below it."""
        return cast(Tensor, self.icdf(torch.tensor(0.5, dtype=torch.float64)))
