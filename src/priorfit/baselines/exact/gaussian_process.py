"""The exact posterior predictive of a Gaussian process with fixed hyper-parameters."""

from dataclasses import dataclass
from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.priors.gaussian_process import GaussianProcess, cholesky
from priorfit.values import Values


@dataclass(frozen=True)
class GPPosterior:
    """A GP that has seen a context; everything that does not depend on the query is kept, in float64."""

    gp: GaussianProcess
    context_x: Float[Tensor, "*batch context features"]
    factor: Float[Tensor, "*batch context context"]
    whitened_y: Float[Tensor, "*batch context 1"]

    def predict(self, query_x: Values) -> Normal:
        """The distribution of y at each query, noise included."""
        query_x = asked_queries(query_x, self.factor.shape[:-2], self.gp)
        cross = self.gp.covariance(self.context_x, query_x)  # (*batch, context, query)
        whitened = torch.linalg.solve_triangular(self.factor, cross, upper=False)  # (*batch, context, query)
        mean = (whitened * self.whitened_y).sum(-2)  # (*batch, query)
        explained = whitened.square().sum(-2)  # (*batch, query)
        variance = (self.gp.outputscale - explained).clamp_min(0) + self.gp.noise_variance
        return Normal(mean.to(query_x.dtype), variance.sqrt().to(query_x.dtype), validate_args=False)


@dataclass(frozen=True)
class ExactGP:
    """The exact predictor of a `GaussianProcess`, which a PFN fitted to it should equal.

    >>> gp = GaussianProcess(num_features=1)
    >>> tasks = gp.sample(batch_size=3, num_points=21).split(num_context=20)
    >>> ExactGP(gp).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x).mean.shape
    torch.Size([3, 1])
    """

    gp: GaussianProcess

    def condition(
        self,
        context_x: Values,
        context_y: Values,
    ) -> GPPosterior:
        """See `Predictor.condition`; the Cholesky factorisation happens here, in float64."""
        context_x, context_y = asked_context(context_x, context_y, self.gp)
        factor = cholesky(self.gp.noisy_covariance(context_x))
        y = context_y.to(torch.float64)[..., None]  # (*batch, context, 1)
        return GPPosterior(self.gp, context_x, factor, torch.linalg.solve_triangular(factor, y, upper=False))

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`."""
        context_x, context_y = asked_context(context_x, context_y, self.gp)
        posterior = self.condition(context_x, context_y)
        squares = posterior.whitened_y.square().sum((-1, -2))  # (*batch)
        log_determinant = posterior.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # (*batch)
        return -squares / 2 - log_determinant - context_y.shape[-1] / 2 * log(2 * pi)
