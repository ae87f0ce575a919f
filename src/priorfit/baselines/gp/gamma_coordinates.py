"""Coordinates in which a sampler can move through Gamma distributions of any concentration.

A draw of Gamma(a, rate) is distributed as G U^(1/a) with G from Gamma(a + 1, rate) and U uniform. With a = 1e-4 its
logarithm has a standard deviation of 10,000, and all that matters of it lies in the uppermost dozens: a sampler that
moves in the logarithm finds a plain of that width with a wall at its end. So the logarithm is made a function of a
coordinate z that lets both factors grow together,

    log(draw) = E[log G] + std[log G] z + log(Phi(z)) / a,

with Phi the standard Normal's cdf. It is smooth and increasing and reaches all numbers, so the density of z, with the
logarithm's slope as Jacobian, is that of exactly the same Gamma; and it is nearly a standard Normal for every a. For
a = 1e-4 the draws that are not 0 in floating point lie between z = 1.5 and 4, as rare as they are, and well resolved.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.special import log_ndtr

from priorfit.priors.hyper_gaussian_process import SMALLEST, Gamma

LOG_SMALLEST = math.log(SMALLEST)
"""A draw below `SMALLEST` counts as that, as in the prior."""

BISECTIONS = 80
FURTHEST = 40.0
"""Positions are sought between minus and plus this: beyond, a Normal's density is 0 in floating point."""


@dataclass(frozen=True)
class GammaCoordinates:
    """One coordinate for each of some Gamma distributions, in float64.

    >>> coordinates = GammaCoordinates.of(Gamma(3.0, 6.0), Gamma(1e-4, 1.0))
    >>> z = coordinates.position(torch.tensor([0.5, 1e-4], dtype=torch.float64))
    >>> coordinates.draw(z)
    tensor([5.0000e-01, 1.0000e-04], dtype=torch.float64)
    """

    concentration: Float[Tensor, " laws"]
    rate: Float[Tensor, " laws"]
    centre: Float[Tensor, " laws"]
    """E[log G]."""
    spread: Float[Tensor, " laws"]
    """std[log G]."""

    @staticmethod
    def of(*laws: Gamma) -> "GammaCoordinates":
        """The coordinates of these distributions."""
        concentration = torch.tensor([law.concentration for law in laws], dtype=torch.float64)
        rate = torch.tensor([law.rate for law in laws], dtype=torch.float64)
        centre = torch.special.digamma(concentration + 1) - rate.log()
        spread = torch.special.polygamma(1, concentration + 1).sqrt()
        return GammaCoordinates(concentration, rate, centre, spread)

    def draw(self, z: Float[Tensor, "*positions laws"]) -> Float[Tensor, "*positions laws"]:
        """The draws of the Gamma distributions at a position."""
        return self._log_draw(z).clamp_min(LOG_SMALLEST).exp()

    def log_density(self, z: Float[Tensor, "*positions laws"]) -> Float[Tensor, "*positions laws"]:
        """The log density of each coordinate, up to a constant."""
        log_draw = self._log_draw(z)
        hazard = (-(z.square()) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(z)).exp()  # the slope of log Phi
        slope = self.spread + hazard / self.concentration
        return self.concentration * log_draw - self.rate * log_draw.exp() + slope.log()

    def position(self, draw: Float[Tensor, " laws"]) -> Float[Tensor, " laws"]:
        """The coordinate of a draw: the inverse of `draw`, by bisection."""
        low, high = torch.full_like(draw, -FURTHEST), torch.full_like(draw, FURTHEST)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            is_below = self._log_draw(middle) < draw.log()
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        return (low + high) / 2

    def _log_draw(self, z: Float[Tensor, "*positions laws"]) -> Float[Tensor, "*positions laws"]:
        return self.centre + self.spread * z + log_ndtr(z) / self.concentration
