"""The exact posterior predictive of linear regression with known noise."""

from dataclasses import dataclass
from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.priors.linear import LinearRegression
from priorfit.values import Values


@dataclass(frozen=True)
class LinearPosterior:
    """The posterior of the weights, N(mean, precision^-1), with the Cholesky factor of the precision, in float64."""

    prior: LinearRegression
    mean: Float[Tensor, "*batch features 1"]
    factor: Float[Tensor, "*batch features features"]

    def predict(self, query_x: Values) -> Normal:
        """The distribution of y at each query, noise included."""
        query_x = asked_queries(query_x, self.mean.shape[:-2], self.prior)
        x = query_x.to(torch.float64)
        mean = (x @ self.mean)[..., 0]  # (*batch, query)
        whitened = torch.linalg.solve_triangular(self.factor, x.mT, upper=False)  # (*batch, features, query)
        variance = whitened.square().sum(-2) + self.prior.noise  # (*batch, query)
        return Normal(mean.to(query_x.dtype), variance.sqrt().to(query_x.dtype), validate_args=False)


@dataclass(frozen=True)
class ExactLinear:
    """The exact predictor of a `LinearRegression`.

    >>> prior = LinearRegression(num_features=2)
    >>> tasks = prior.sample(batch_size=3, num_points=21).split(num_context=20)
    >>> ExactLinear(prior).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x).mean.shape
    torch.Size([3, 1])
    """

    prior: LinearRegression

    def condition(
        self,
        context_x: Values,
        context_y: Values,
    ) -> LinearPosterior:
        """See `Predictor.condition`."""
        context_x, context_y = asked_context(context_x, context_y, self.prior)
        x, y = context_x.to(torch.float64), context_y.to(torch.float64)[..., None]
        identity = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        precision = x.mT @ x / self.prior.noise + identity / self.prior.weight_scale**2
        factor = torch.linalg.cholesky(precision)  # (*batch, features, features)
        mean = torch.cholesky_solve(x.mT @ y / self.prior.noise, factor)  # (*batch, features, 1)
        return LinearPosterior(self.prior, mean, factor)

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`; p(y) = p(y | w) p(w) / p(w | y), taken at the posterior's mean w."""
        context_x, context_y = asked_context(context_x, context_y, self.prior)
        posterior, x, y = self.condition(context_x, context_y), context_x.double(), context_y.double()
        noise, scale, weights = self.prior.noise, self.prior.weight_scale, posterior.mean[..., 0]  # (*batch, features)
        errors = y - (x @ posterior.mean)[..., 0]  # (*batch, context)
        likelihood = -errors.square().sum(-1) / (2 * noise) - y.shape[-1] / 2 * log(2 * pi * noise)
        prior = -weights.square().sum(-1) / (2 * scale**2) - x.shape[-1] * log(scale)
        return likelihood + prior - posterior.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
