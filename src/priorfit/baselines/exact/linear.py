"""The exact posterior predictive of linear regression with known noise."""

from dataclasses import dataclass
from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.exact.normal import ExactNormal, NormalPosterior
from priorfit.priors.linear import LinearRegression


@dataclass(frozen=True)
class LinearPosterior(NormalPosterior[LinearRegression]):
    """The posterior of the weights, N(mean, precision^-1); the factor is that of the precision."""

    mean: Float[Tensor, "*batch features 1"]

    def moments(
        self, query_x: Float[Tensor, "*batch query features"]
    ) -> tuple[Float[Tensor, "*batch query"], Float[Tensor, "*batch query"]]:
        """See `NormalPosterior.moments`."""
        x = query_x.to(torch.float64)
        whitened = torch.linalg.solve_triangular(self.factor, x.mT, upper=False)  # (*batch, features, query)
        return (x @ self.mean)[..., 0], whitened.square().sum(-2) + self.prior.noise


@dataclass(frozen=True)
class ExactLinear(ExactNormal[LinearRegression, LinearPosterior]):
    """The exact predictor of a `LinearRegression`.

    >>> prior = LinearRegression(num_features=2)
    >>> tasks = prior.sample(batch_size=3, num_points=21).split(num_context=20)
    >>> ExactLinear(prior).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x).mean.shape
    torch.Size([3, 1])
    """

    def given(self, x: Float[Tensor, "*batch context features"], y: Float[Tensor, "*batch context"]) -> LinearPosterior:
        """See `ExactNormal.given`."""
        x = x.to(torch.float64)
        identity = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        precision = x.mT @ x / self.prior.noise + identity / self.prior.weight_scale**2
        factor = torch.linalg.cholesky(precision)  # (*batch, features, features)
        mean = torch.cholesky_solve(x.mT @ y[..., None] / self.prior.noise, factor)  # (*batch, features, 1)
        return LinearPosterior(self.prior, factor, mean)

    def evidence(
        self,
        posterior: LinearPosterior,
        x: Float[Tensor, "*batch context features"],
        y: Float[Tensor, "*batch context"],
    ) -> Float[Tensor, "*batch"]:
        """See `ExactNormal.evidence`; p(y) = p(y | w) p(w) / p(w | y), taken at the posterior's mean w."""
        noise, scale, weights = self.prior.noise, self.prior.weight_scale, posterior.mean[..., 0]  # (*batch, features)
        errors = y - (x.double() @ posterior.mean)[..., 0]  # (*batch, context)
        likelihood = -errors.square().sum(-1) / (2 * noise) - y.shape[-1] / 2 * log(2 * pi * noise)
        prior = -weights.square().sum(-1) / (2 * scale**2) - x.shape[-1] * log(scale)
        return likelihood + prior - posterior.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
