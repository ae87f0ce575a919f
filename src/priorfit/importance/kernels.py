"""Kernels around weighted draws: every other one as wide as all draws ask for, the rest as their neighbours do.

Posteriors may have parts of unlike widths, such as a change point with and without points before it. Kernels of one
covariance would be too wide for the one or too narrow for the other, so half of them take the covariance of the draws
near to their own centre. All are Student's t, since a posterior may go on where no draw has been: a level that no point
tells of has the tails of its prior, while others are narrow.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Chi2

from priorfit.distributions.law_mixture import systematic
from priorfit.importance.target import Draws

POOL = 8
"""Resampled draws for each kernel; its centre is one of them, and its neighbours are others."""

NEIGHBOURS = 48
"""Resampled draws whose covariance a narrow kernel has."""

LEAST_WIDTH = 1e-3
"""Smallest standard deviation of a narrow kernel, in units of the wide one: resampled draws may all be equal."""

NUMBERS_AT_ONCE = 2**18
"""Distances of draws to kernels that are held at once: more leave the cache."""

FREEDOM = 5.0
"""Degrees of freedom of a kernel."""

Factors = Float[Tensor, "datasets kernels coordinates coordinates"]


@dataclass(frozen=True)
class Kernels:
    """An equal mixture of Student's t for each dataset: centres, and Cholesky factors of their matrices of scales."""

    centres: Float[Tensor, "datasets kernels coordinates"]
    factors: Factors

    def draws(self, each: int) -> Draws:
        """So many independent draws of each kernel."""
        noise = torch.randn(*self.centres.shape[:2], each, self.centres.shape[-1], dtype=torch.float64)
        noise *= (FREEDOM / Chi2(torch.tensor(FREEDOM).double()).sample((*noise.shape[:-1], 1))).sqrt()
        return (self.centres[:, :, None] + noise @ self.factors.mT).flatten(1, 2)

    def log_density(self, u: Draws) -> Float[Tensor, "datasets draws"]:
        """The log density of the mixture."""
        identity = torch.eye(u.shape[-1], dtype=torch.float64).expand_as(self.factors)
        whiteners = torch.linalg.solve_triangular(self.factors, identity, upper=False)
        at_once = max(1, NUMBERS_AT_ONCE // self.centres[..., 0].numel())
        return torch.cat([self._log_density(part, whiteners) for part in u.split(at_once, dim=1)], dim=1)

    def _log_density(self, u: Draws, whiteners: Factors) -> Float[Tensor, "datasets draws"]:
        """The log density of some draws, one whitened coordinate after the other to save memory."""
        dimension = u.shape[-1]
        squares = torch.zeros(*u.shape[:2], self.centres.shape[1], dtype=torch.float64)
        for rows in whiteners.unbind(-2):  # (datasets, kernels, coordinates)
            offsets = (rows * self.centres).sum(-1)[:, None]  # (datasets, 1, kernels)
            squares += (u @ rows.mT - offsets).square_()
        log_volume = self.factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)[:, None]
        half = 0.5 * (FREEDOM + dimension)
        constant = math.lgamma(half) - math.lgamma(FREEDOM / 2) - 0.5 * dimension * math.log(FREEDOM * math.pi)
        log_kernels = squares.div_(FREEDOM).log1p_().mul_(-half).sub_(log_volume)
        return log_kernels.logsumexp(-1) + constant - math.log(self.centres.shape[1])


def kernels_around(u: Draws, weights: Float[Tensor, "datasets draws"], count: int) -> Kernels:
    """Kernels around resampled draws."""
    rows = torch.arange(len(weights))[:, None]
    pool = u[rows, systematic(weights, POOL * count)]  # (datasets, pool, coordinates)
    centres = pool[:, ::POOL]
    wide = bandwidth(u, weights, count)  # (datasets, coordinates, coordinates)
    white = torch.linalg.solve_triangular(wide, pool.mT, upper=False).mT
    narrow = wide[:, None] @ neighbourhoods(white, white[:, :: 2 * POOL])
    factors = wide[:, None].repeat(1, count, 1, 1)
    factors[:, ::2] = narrow
    return Kernels(centres, factors)


def neighbourhoods(pool: Draws, centres: Float[Tensor, "datasets kernels coordinates"]) -> Factors:
    """Cholesky factors of the covariance of the draws near to each centre, no wider than 1 in any direction."""
    dimension = pool.shape[-1]
    nearest = torch.cdist(centres, pool).topk(min(NEIGHBOURS, pool.shape[1]), largest=False).indices
    near = pool[torch.arange(len(pool))[:, None, None], nearest] - centres[:, :, None]
    covariance = near.mT @ near / near.shape[2]
    share = dimension / (dimension + near.shape[2])  # of a diagonal, which few draws in many dimensions need
    diagonal = torch.diag_embed(covariance.diagonal(dim1=-2, dim2=-1))
    floor = LEAST_WIDTH**2 * torch.eye(dimension, dtype=torch.float64)
    return torch.linalg.cholesky((1 - share) * covariance + share * diagonal + floor)


def bandwidth(
    u: Draws, weights: Float[Tensor, "datasets draws"], count: int
) -> Float[Tensor, "datasets coordinates coordinates"]:
    """The Cholesky factor of a wide kernel's covariance: that of all weighted draws, by Silverman's rule.

    The rule's sample size is the number of kernels, whatever the number of draws: a few kernels as narrow as the rule
    says for many leave gaps between them. It is the effective sample size where that is smaller.
    """
    dimension = u.shape[-1]
    mean = (weights[..., None] * u).sum(1, keepdim=True)
    centred = u - mean
    covariance = centred.mT @ (weights[..., None] * centred)  # (datasets, coordinates, coordinates)
    size = (1 / weights.square().sum(-1)).clamp(max=count)
    factor = (4 / ((dimension + 2) * size)) ** (1 / (dimension + 4))
    floor = 1e-10 + 1e-6 * covariance.diagonal(dim1=-2, dim2=-1)
    return factor[:, None, None] * torch.linalg.cholesky(covariance + torch.diag_embed(floor))
