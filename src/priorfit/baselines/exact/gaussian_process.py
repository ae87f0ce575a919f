"""The exact posterior predictive of a Gaussian process with fixed hyper-parameters."""

from dataclasses import dataclass
from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.exact.normal import ExactNormal, NormalPosterior
from priorfit.priors.gaussian_process import GaussianProcess, cholesky


@dataclass(frozen=True)
class GPPosterior(NormalPosterior[GaussianProcess]):
    """A GP that has seen a context; the factor is that of the context's covariance, noise included."""

    context_x: Float[Tensor, "*batch context features"]
    whitened_y: Float[Tensor, "*batch context 1"]

    def moments(
        self, query_x: Float[Tensor, "*batch query features"]
    ) -> tuple[Float[Tensor, "*batch query"], Float[Tensor, "*batch query"]]:
        """See `NormalPosterior.moments`."""
        cross = self.prior.covariance(self.context_x, query_x)  # (*batch, context, query)
        whitened = torch.linalg.solve_triangular(self.factor, cross, upper=False)  # (*batch, context, query)
        mean = (whitened * self.whitened_y).sum(-2)  # (*batch, query)
        explained = whitened.square().sum(-2)  # (*batch, query)
        return mean, (self.prior.outputscale - explained).clamp_min(0) + self.prior.noise_variance


@dataclass(frozen=True)
class ExactGP(ExactNormal[GaussianProcess, GPPosterior]):
    """The exact predictor of a `GaussianProcess`, which a PFN fitted to it should equal.

    >>> gp = GaussianProcess(num_features=1)
    >>> tasks = gp.sample(batch_size=3, num_points=21).split(num_context=20)
    >>> ExactGP(gp).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x).mean.shape
    torch.Size([3, 1])
    """

    def given(self, x: Float[Tensor, "*batch context features"], y: Float[Tensor, "*batch context"]) -> GPPosterior:
        """See `ExactNormal.given`."""
        factor = cholesky(self.prior.noisy_covariance(x))
        whitened = torch.linalg.solve_triangular(factor, y[..., None], upper=False)  # (*batch, context, 1)
        return GPPosterior(self.prior, factor, x, whitened)

    def evidence(
        self, posterior: GPPosterior, x: Float[Tensor, "*batch context features"], y: Float[Tensor, "*batch context"]
    ) -> Float[Tensor, "*batch"]:
        """See `ExactNormal.evidence`."""
        squares = posterior.whitened_y.square().sum((-1, -2))  # (*batch)
        log_determinant = posterior.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # (*batch)
        return -squares / 2 - log_determinant - y.shape[-1] / 2 * log(2 * pi)
