"""The joint Gaussian of a solver over several queries: what makes one predictive of the margins of a network."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.distributions import NormalMixture
from priorfit.network.solver.gaussian import Evidence, Numbers, Phi, Solution

Covariances = Float[Tensor, "batch components points points"]
Draws = Float[Tensor, "count batch points"]

JITTERS = (1e-8, 1e-6, 1e-4)
"""What a covariance gets on its diagonal, as a share of its mean diagonal: the first with which it can be factorised.

Queries may be equal, and functions without noise smooth; then its last eigenvalues round below 0.
"""


class JointNormals(ABC):
    """A mixture of multivariate Normals over some queries, in the network's units of y and in float64.

    Each component (a regression, or a node of a `LatentSolver`) is a Gaussian process that has seen the context; its
    weight is that of the whole context, the same for all queries.
    """

    log_weights: Evidence
    """Log weights of the components, which sum to 1."""

    noise: Float[Tensor, "batch components #points"]
    """The standard deviation of each component's noise, at each query or the same at all."""

    @abstractmethod
    def moments(self) -> tuple[Numbers, Numbers]:
        """Mean and variance of every component at each query."""

    @abstractmethod
    def covariance(self) -> Covariances:
        """The covariance matrix of the queries under every component."""

    @abstractmethod
    def draws(self, count: int) -> Float[Tensor, "count batch components points"]:
        """Draws of every component, each coherent over the queries."""

    def margins(self) -> NormalMixture:
        """What the mixture says about each query alone; batch shape (batch, points)."""
        mean, variance = self.moments()
        smallest = torch.finfo(variance.dtype).tiny
        logits = self.log_weights[:, None].expand(*mean.mT.shape)
        return NormalMixture(logits, mean.mT, variance.clamp_min(smallest).mT.sqrt(), validate_args=False)

    def noise_share(self) -> Float[Tensor, "batch points"]:
        """The share of the noise in the variance of an observation, between 0 and 1."""
        noise = (self.log_weights.exp()[..., None] * self.noise.square()).sum(1)  # (batch, points or 1)
        return noise / self.observed().margins().variance

    def observed(self) -> "JointNormals":
        """The same functions with noise, which is independent at each query."""
        return Observed(self)

    def functions(self, count: int) -> Draws:
        """Draws of the mixture: one component a function, by its weight."""
        every = self.draws(count)
        chosen = self.log_weights.exp().multinomial(count, replacement=True).T  # (count, batch)
        index = chosen[..., None, None].expand(-1, -1, 1, every.shape[-1])
        return every.gather(2, index)[:, :, 0]

    def reparameterised(self, normal: Draws, level: Float[Tensor, "count batch"]) -> Draws:
        """Functions of standard Normals, and of uniform levels that choose the components.

        The weights do not depend on the queries, so gradients to the queries are exact.
        """
        mean, _ = self.moments()
        factor = factor_of(self.covariance())  # (batch, components, points, points)
        every = mean + (factor @ normal[:, :, None, :, None])[..., 0]  # (count, batch, components, points)
        below = self.log_weights.exp().cumsum(1)[:, :-1]  # (batch, components - 1)
        chosen = (level[..., None] > below).sum(-1)  # (count, batch)
        index = chosen[..., None, None].expand(-1, -1, 1, every.shape[-1])
        return every.gather(2, index)[:, :, 0]

    def log_prob(self, values: Draws) -> Float[Tensor, "count batch"]:
        """The joint log density of values at the queries."""
        mean, _ = self.moments()
        factor = factor_of(self.covariance())
        residual = (values[:, :, None] - mean)[..., None]  # (count, batch, components, points, 1)
        white = torch.linalg.solve_triangular(factor, residual, upper=False)[..., 0]
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # (batch, components)
        constant = 0.5 * mean.shape[-1] * math.log(2 * math.pi)
        return (self.log_weights - 0.5 * white.square().sum(-1) - half_log_det - constant).logsumexp(-1)


@dataclass(frozen=True)
class JointRegressions(JointNormals):
    """Regressions w . phi with the posterior of their weights, times the noise that they are in units of."""

    solution: Solution
    phi: Phi
    noise: Float[Tensor, "batch components 1"]
    log_weights: Evidence

    @classmethod
    def over(
        cls,
        solution: Solution,
        phi: Phi,
        noise: Float[Tensor, "#batch components"],
        log_weights: Float[Tensor, "#batch components"],
    ) -> "JointRegressions":
        """The regressions at queries, where all sets of queries of one dataset may share noise and weights."""
        return cls(solution, phi, noise.expand(*phi.shape[:2])[..., None], log_weights.expand(*phi.shape[:2]))

    def moments(self) -> tuple[Numbers, Numbers]:
        """See `JointNormals.moments`."""
        mean, variance = self.solution.moments(self.phi)
        return mean * self.noise, variance * self.noise.square()

    def covariance(self) -> Covariances:
        """See `JointNormals.covariance`."""
        return self.solution.covariance(self.phi) * self.noise.square()[..., None]

    def draws(self, count: int) -> Float[Tensor, "count batch components points"]:
        """See `JointNormals.draws`: weights are drawn once, whatever the number of queries."""
        return (self.solution.draws(self.phi, count) * self.noise[..., None]).movedim(-1, 0)


@dataclass(frozen=True)
class Observed(JointNormals):
    """The functions of other Normals with their noise added."""

    function: JointNormals

    @property
    def log_weights(self) -> Evidence:  # pyright: ignore[reportIncompatibleVariableOverride]: one is the other's
        """See `JointNormals.log_weights`."""
        return self.function.log_weights

    @property
    def noise(self) -> Float[Tensor, "batch components #points"]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """See `JointNormals.noise`."""
        return self.function.noise

    def moments(self) -> tuple[Numbers, Numbers]:
        """See `JointNormals.moments`."""
        mean, variance = self.function.moments()
        return mean, variance + self.noise.square()

    def covariance(self) -> Covariances:
        """See `JointNormals.covariance`."""
        covariance = self.function.covariance()
        noise = self.noise.square().expand(covariance.shape[:-1])
        return covariance + torch.diag_embed(noise)

    def draws(self, count: int) -> Float[Tensor, "count batch components points"]:
        """See `JointNormals.draws`."""
        functions = self.function.draws(count)
        return functions + self.noise * torch.randn_like(functions)

    def observed(self) -> JointNormals:
        """See `JointNormals.observed`."""
        return self


def factor_of(covariance: Covariances) -> Covariances:
    """The Cholesky factor of a covariance, with a little on its diagonal; see `JITTERS`."""
    diagonal = covariance.diagonal(dim1=-2, dim2=-1)
    size = diagonal.mean(-1, keepdim=True).detach().expand_as(diagonal) + torch.finfo(covariance.dtype).tiny
    factor, failed = torch.linalg.cholesky_ex(covariance + torch.diag_embed(JITTERS[0] * size))
    for share in JITTERS[1:]:
        if bool(failed.any()):
            factor, failed = torch.linalg.cholesky_ex(covariance + torch.diag_embed(share * size))
    return factor
