"""Draws from the posterior of a Gaussian process's hyper-parameters, by importance resampling, for many datasets."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Normal

from priorfit.priors.gaussian_process import cholesky
from priorfit.priors.hyper_gaussian_process import Gamma, HyperGaussianProcess, Hyperparameters

Context = tuple[Float[Tensor, "batch context features"], Num[Tensor, "batch context"]]

NUM_SAMPLES = 4_000
"""Hyper-parameters that are weighted for each dataset."""


@dataclass(frozen=True)
class WidePart:
    """The wide part of a proposal: log-uniform on [low, high], with this share of the draws."""

    low: float
    high: float
    share: float


LENGTHSCALE, OUTPUTSCALE, NOISE = WidePart(1e-3, 10.0, 0.6), WidePart(0.01, 200.0, 0.4), WidePart(1e-8, 20.0, 0.35)
"""What is log-uniform beside the prior, in units of its mean (the noise: as it is). Contexts that the prior hardly ever
draws have their posterior there."""


def posterior_answers(
    prior: HyperGaussianProcess,
    context: Context,
    query_x: Float[Tensor, "batch query features"],
    num_samples: int = NUM_SAMPLES,
) -> Normal:
    """p(y at a query | context, hyper-parameters), each query with its own draw of p(hyper-parameters | context).

    A mean over such Normals is the posterior predictive of ``prior``, whatever the context was drawn from. The draws
    are resampled from ``num_samples`` proposals, new ones with each call and the same for all datasets.

    >>> x, y, query_x = torch.rand(3, 4, 1), torch.randn(3, 4), torch.rand(3, 5, 1)
    >>> posterior_answers(HyperGaussianProcess(), (x, y), query_x).loc.shape
    torch.Size([3, 5])
    """
    draws, log_weights = weighted(prior, context, num_samples)
    chosen = torch.multinomial(log_weights.exp(), query_x.shape[1], replacement=True)  # (batch, query)
    return conditional(prior.kernel, draws[chosen], context, query_x)


def weighted(
    prior: HyperGaussianProcess, context: Context, num_samples: int
) -> tuple[Hyperparameters, Float[Tensor, "batch samples"]]:
    """Proposals, and the logarithms of their normalised importance weights for each dataset."""
    x, y = (part.double() for part in context)
    lengthscale, length_ratio = proposed(prior.lengthscale_prior, LENGTHSCALE, num_samples)
    outputscale, output_ratio = proposed(prior.outputscale_prior, OUTPUTSCALE, num_samples)
    noise, noise_ratio = proposed(prior.noise_prior, NOISE, num_samples)
    draws = Hyperparameters(lengthscale, outputscale, noise + prior.noise_floor)
    evidence = log_evidence(prior.kernel, draws, x, y)
    return draws, (evidence + length_ratio + output_ratio + noise_ratio).log_softmax(-1)


def proposed(law: Gamma, wide: WidePart, count: int) -> tuple[Float[Tensor, " count"], Float[Tensor, " count"]]:
    """Draws of which a share is log-uniform, the others from ``law``, and log(density of the law / of the proposal)."""
    low, span = wide.low, math.log(wide.high / wide.low)
    uniform = low * (span * torch.rand(count, dtype=torch.float64)).exp()
    draws = torch.where(torch.rand(count) < wide.share, uniform, law.sample(count))
    inside = (draws >= low) & (draws <= wide.high)
    log_uniform = torch.where(inside, -draws.log() - math.log(span), -torch.inf)
    excess = math.log(wide.share) + log_uniform - law.log_prob(draws)
    return draws, -torch.logaddexp(torch.full_like(excess, math.log1p(-wide.share)), excess)


def log_evidence(
    kernel: str,
    draws: Hyperparameters,
    x: Float[Tensor, "batch context features"],
    y: Float[Tensor, "batch context"],
) -> Float[Tensor, "batch samples"]:
    """log p(y | x, hyper-parameters) of every draw for every dataset, but for the constant."""
    factor = cholesky(draws.noisy_covariance(kernel, x[:, None]))  # (batch, samples, context, context)
    values = y[:, None, :, None].expand(*factor.shape[:-1], 1)
    white = torch.linalg.solve_triangular(factor, values, upper=False)
    return -white.square().sum((-1, -2)) / 2 - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def conditional(
    kernel: str,
    draws: Hyperparameters,
    context: Context,
    query_x: Float[Tensor, "batch query features"],
) -> Normal:
    """p(y at each query | context) under the query's own hyper-parameters, ``(batch, query)``."""
    places = query_x.double()[:, :, None]  # (batch, query, 1, features)
    x, y = (part.double()[:, None].expand(-1, places.shape[1], *part.shape[1:]) for part in context)
    factor = cholesky(draws.noisy_covariance(kernel, x))  # (batch, query, context, context)
    cross = draws.covariance(kernel, x, places)  # (batch, query, context, 1)
    white = torch.linalg.solve_triangular(factor, torch.cat([cross, y[..., None]], dim=-1), upper=False)
    explained, location = white[..., 0].square().sum(-1), (white[..., 0] * white[..., 1]).sum(-1)
    variance = (draws.outputscale - explained).clamp_min(0) + draws.noise
    return Normal(location.to(query_x.dtype), variance.sqrt().to(query_x.dtype), validate_args=False)
