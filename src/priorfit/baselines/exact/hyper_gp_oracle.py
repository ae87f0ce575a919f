"""The posterior predictive of a Gaussian process whose hyper-parameters are unknown, by importance sampling.

Given a context D, p(y | x, D) is the integral of the GP's own answer over the posterior of (lengthscale, outputscale,
noise). Draws from a proposal q, weighted by prior * p(D | hyper-parameters) / q, make it a mixture of Normals. The
proposal has two parts for lengthscale and outputscale, the prior and then a Student distribution fitted to what the
first part found, and two for the noise, its prior and a log-uniform part: a prior such as Gamma(1e-4, 1) almost never
draws a noise that matters, yet where a dataset has one, nothing else explains it. Every weight is taken against the
whole of q (the balance heuristic), of which the prior is a fixed share; so no weight exceeds a constant times the
likelihood, however badly the fit went.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Normal

from priorfit.baselines.exact.gp_mixture import chunks, flat, gp_mixture
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.errors import InputError
from priorfit.priors.gaussian_process import cholesky
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess, Hyperparameters
from priorfit.seeding import seeded

FITTED_SHARE = 0.5
"""Share of the draws whose lengthscale and outputscale come from the fitted Student distribution."""
NOISY_SHARE = 0.25
"""Share of the draws whose noise comes from the log-uniform part."""
FREEDOM = 5.0
"""Degrees of freedom of the Student distribution: its tails are heavier than those of a posterior."""


@dataclass(frozen=True)
class HyperGPPosterior:
    """Weighted hyper-parameters after a context, in float64; gradients flow to the queries alone."""

    kernel: str
    context_x: Float[Tensor, "*batch context features"]
    context_y: Float[Tensor, "*batch context"]
    hyperparameters: Hyperparameters
    """The hyper-parameters that were kept: ``(*batch, kept)``."""
    log_weights: Float[Tensor, "*batch kept"]
    effective_sample_size: Float[Tensor, "*batch"]
    """The effective sample size (sum w)^2 / sum w^2 over all draws; below 50 the answer is unreliable."""

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> NormalMixture:
        """The distribution of y at each query, noise included: one component for each kept draw."""
        known = self.context_x, self.context_y
        return gp_mixture(self.kernel, self.hyperparameters, self.log_weights, known, query_x)

    def log_prob_error(
        self, query_x: Float[Tensor, "*batch query features"], query_y: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """The Monte Carlo standard error of ``predict(query_x).log_prob(query_y)``, by the delta method.

        The density is a ratio sum w p / sum w; to first order its relative variance is sum w^2 (p / density - 1)^2 for
        weights that sum to 1. The bias is of second order: minus half the variance, about.
        """
        ppd = self.predict(query_x.double())
        log_parts = ppd.log_probs + Normal(ppd.loc, ppd.scale, validate_args=False).log_prob(
            query_y.double()[..., None]
        )  # (*batch, query, kept)
        share = (log_parts - log_parts.logsumexp(-1, keepdim=True)).exp()  # w p / density
        return (share - ppd.probs).square().sum(-1).sqrt()


@dataclass(frozen=True)
class HyperGPOracle:
    """The posterior predictive of a `HyperGaussianProcess`, up to a Monte Carlo error that it reports.

    The draws with the smallest weights are dropped, as long as they have at most ``pruned_weight`` of the posterior
    together (all datasets of a batch keep as many draws as the one that needs most). So the cdf is off by
    ``pruned_weight`` at most, and a density by a factor of 1 - ``pruned_weight`` and a summand of
    ``pruned_weight`` times the density of what was dropped. With 0 all are kept.

    Args:
        prior: the prior whose posterior predictive is computed.
        num_samples: how many hyper-parameters are weighted for each dataset.
        seed: the seed of these draws, which depend on neither the global generator nor the rest of a batch.
        pruned_weight: the posterior probability that may be dropped.

    >>> prior = HyperGaussianProcess()
    >>> tasks = prior.sample(batch_size=3, num_points=8).split(num_context=6)
    >>> posterior = HyperGPOracle(prior, num_samples=400).condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).mean.shape, posterior.effective_sample_size.shape
    (torch.Size([3, 2]), torch.Size([3]))
    """

    prior: HyperGaussianProcess
    num_samples: int = 4_000
    seed: int = 0
    pruned_weight: float = 1e-8

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.num_samples < 10:
            raise InputError(f"num_samples must be at least 10, to fit a proposal; got {self.num_samples}.")
        if not 0 <= self.pruned_weight < 1:
            raise InputError(f"pruned_weight is a probability below 1; got {self.pruned_weight}.")

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> HyperGPPosterior:
        """See `Predictor.condition`; the draws are weighted here, dataset by dataset."""
        x, y = context_x.detach().double(), context_y.detach().double()
        batch = y.shape[:-1]
        base = _base_draws(self).to(x.device)
        datasets = zip(flat(x, len(batch)), flat(y, len(batch)), strict=True)
        weighted = [_weighted(self.prior, base, *dataset) for dataset in datasets]
        log_scales = torch.stack([each for each, _ in weighted])  # (datasets, samples, 2)
        log_weights = torch.stack([each for _, each in weighted]).log_softmax(-1)  # (datasets, samples)
        kept = log_weights.topk(_num_kept(log_weights, self.pruned_weight))
        scales = log_scales.exp().gather(-2, kept.indices[..., None].expand(*kept.indices.shape, 2))
        noise = self.prior.noise_floor + base.noise[kept.indices]
        hyperparameters = Hyperparameters(*(t.reshape(*batch, -1) for t in (scales[..., 0], scales[..., 1], noise)))
        effective = (-(2 * log_weights).logsumexp(-1)).exp().reshape(batch)
        kept_weights = kept.values.log_softmax(-1).reshape(*batch, -1)
        return HyperGPPosterior(self.prior.kernel, x, y, hyperparameters, kept_weights, effective)


@dataclass(frozen=True)
class _BaseDraws:
    """The draws that all datasets share, in float64."""

    log_scales: Float[Tensor, "first 2"]
    """log (lengthscale, outputscale), from the prior."""
    student: Float[Tensor, "second 2"]
    """Draws of the standard Student distribution, for each dataset to shift and scale."""
    noise: Float[Tensor, " samples"]
    """The noise variance above the floor."""
    log_ratio: Float[Tensor, " samples"]
    """The log density of the noise under its prior over that under its proposal."""

    def to(self, device: torch.device) -> "_BaseDraws":
        parts = self.log_scales, self.student, self.noise, self.log_ratio
        return _BaseDraws(*(part.to(device) for part in parts))


def _base_draws(oracle: HyperGPOracle) -> _BaseDraws:
    prior, num_second = oracle.prior, int(FITTED_SHARE * oracle.num_samples)
    with seeded(oracle.seed):
        first = prior.hyperparameters(oracle.num_samples - num_second)
        normal = torch.randn(num_second, 2, dtype=torch.float64)
        chi_squared = torch.distributions.Chi2(torch.tensor(FREEDOM, dtype=torch.float64)).sample((num_second, 1))
        noise, log_ratio = _noise_draws(prior, oracle.num_samples)
    log_scales = torch.stack([first.lengthscale, first.outputscale], dim=-1).log()
    return _BaseDraws(log_scales, normal / (chi_squared / FREEDOM).sqrt(), noise, log_ratio)


def _noise_draws(
    prior: HyperGaussianProcess, count: int
) -> tuple[Float[Tensor, " samples"], Float[Tensor, " samples"]]:
    """Noise from its prior or log-uniform between what begins to matter and what the prior excludes."""
    law = prior.noise_prior
    high = (law.concentration + 10 * math.sqrt(law.concentration) + 10) / law.rate
    low = min(prior.noise_floor, high) / 100
    span = math.log(high / low)
    uniform = low * (span * torch.rand(count, dtype=torch.float64)).exp()
    noise = torch.where(torch.rand(count) < NOISY_SHARE, uniform, law.sample(count))
    log_uniform = torch.where((noise >= low) & (noise <= high), -noise.log() - math.log(span), -torch.inf)
    excess = math.log(NOISY_SHARE) + log_uniform - law.log_prob(noise)
    return noise, -torch.logaddexp(torch.full_like(excess, math.log(1 - NOISY_SHARE)), excess)


def _weighted(
    prior: HyperGaussianProcess,
    base: _BaseDraws,
    x: Float[Tensor, "context features"],
    y: Float[Tensor, " context"],
) -> tuple[Float[Tensor, "samples 2"], Float[Tensor, " samples"]]:
    """log (lengthscale, outputscale) of all draws for one dataset, and their log weights up to a constant."""
    num_first = len(base.log_scales)
    noise = prior.noise_floor + base.noise
    first = base.log_ratio[:num_first] + _log_evidence(prior.kernel, _joined(base.log_scales, noise[:num_first]), x, y)
    mean, factor = _fit(prior, base.log_scales, first.softmax(-1))
    fitted = mean + base.student @ factor.T  # (second, 2)
    second = base.log_ratio[num_first:] + _log_evidence(prior.kernel, _joined(fitted, noise[num_first:]), x, y)
    log_scales = torch.cat([base.log_scales, fitted])  # (samples, 2)
    share = len(fitted) / len(log_scales)
    excess = math.log(share) + _log_student(log_scales, mean, factor) - _log_prior(prior, log_scales)
    balance = -torch.logaddexp(torch.full_like(excess, math.log(1 - share)), excess)
    return log_scales, torch.cat([first, second]) + balance


def _fit(
    prior: HyperGaussianProcess, log_scales: Float[Tensor, "first 2"], weights: Float[Tensor, " first"]
) -> tuple[Float[Tensor, "2"], Float[Tensor, "2 2"]]:
    """Mean and Cholesky factor of a Student distribution that covers the weighted draws.

    Its variance is half as large again, plus a hundredth of the prior's, so that one heavy draw does not make a point.
    """
    mean = weights @ log_scales
    centred = log_scales - mean
    concentrations = log_scales.new_tensor(
        [prior.lengthscale_prior.concentration, prior.outputscale_prior.concentration]
    )
    variance = torch.special.polygamma(1, concentrations)  # the variance of the log of a Gamma
    covariance = 1.5 * centred.T @ (weights[:, None] * centred) + (0.01 * variance).diag()
    return mean, cholesky(covariance)


def _log_student(
    value: Float[Tensor, "samples 2"], mean: Float[Tensor, "2"], factor: Float[Tensor, "2 2"]
) -> Float[Tensor, " samples"]:
    """The log density of the Student distribution in two dimensions."""
    white = torch.linalg.solve_triangular(factor, (value - mean).T, upper=False)  # (2, samples)
    tails = -(FREEDOM + 2) / 2 * (white.square().sum(0) / FREEDOM).log1p()
    return tails - factor.diagonal().log().sum() - math.log(2 * math.pi)


def _log_prior(prior: HyperGaussianProcess, log_scales: Float[Tensor, "samples 2"]) -> Float[Tensor, " samples"]:
    """The log density of log (lengthscale, outputscale)."""
    lengthscale, outputscale = log_scales.exp().unbind(-1)
    log_densities = prior.lengthscale_prior.log_prob(lengthscale) + prior.outputscale_prior.log_prob(outputscale)
    return log_densities + log_scales.sum(-1)


def _joined(log_scales: Float[Tensor, "draws 2"], noise: Float[Tensor, " draws"]) -> Hyperparameters:
    lengthscale, outputscale = log_scales.exp().unbind(-1)
    return Hyperparameters(lengthscale, outputscale, noise)


def _log_evidence(
    kernel: str, draws: Hyperparameters, x: Float[Tensor, "context features"], y: Float[Tensor, " context"]
) -> Float[Tensor, " draws"]:
    """log p(y | x, hyper-parameters) of each draw, up to a constant."""
    parts = []
    for rows in chunks(len(draws.noise), len(x) ** 2):
        factor = cholesky(draws[rows].noisy_covariance(kernel, x))  # (chunk, context, context)
        white = torch.linalg.solve_triangular(factor, y[:, None].expand(len(factor), -1, 1), upper=False)
        log_determinant = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        parts.append(-white.square().sum((-1, -2)) / 2 - log_determinant)
    return torch.cat(parts)


def _num_kept(log_weights: Float[Tensor, "datasets samples"], pruned_weight: float) -> int:
    """How many draws the dataset that needs most must keep."""
    lightest = log_weights.exp().sort(-1).values.cumsum(-1)  # (datasets, samples)
    num_dropped = (lightest <= pruned_weight).sum(-1) if pruned_weight > 0 else lightest.new_zeros(len(lightest))
    return log_weights.shape[-1] - int(num_dropped.min())
