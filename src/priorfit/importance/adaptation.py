"""Adaptive importance sampling: kernels around weighted draws, tempered while few draws carry the weight.

The first draws are those of the prior, weighted by the likelihood, or of a network. Each round then draws from
Student's t kernels around resampled draws (see `kernels`), and a fixed share from the prior, so that no weight
exceeds a constant times the likelihood. Where the effective sample size is below `LEAST`, weights are raised to the
largest power of at most 1 that reaches it, for the next proposal alone.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.importance.kernels import kernels_around
from priorfit.importance.target import Draws, Target

LEAST = 50
"""Effective sample size that the weights behind a proposal must have."""

PRIOR_SHARE = 1 / 8
"""Share of the draws of each round that come from the prior."""


@dataclass(frozen=True)
class Effort:
    """How many draws: of the prior at first, of each round, and of the last round, around so many kernels."""

    first: int = 16_384
    each: int = 2_048
    last: int = 4_096
    kernels: int = 128
    settled: int = 2
    """Rounds without tempering before the last one."""
    rounds: int = 16
    """Most rounds before the last one."""

    def times(self, factor: int) -> "Effort":
        """More draws, and more kernels for them."""
        more = int(factor**0.5) * self.kernels
        return Effort(factor * self.first, factor * self.each, factor * self.last, more, self.settled, self.rounds)


@dataclass(frozen=True)
class Weighted:
    """Draws, and the logarithms of their importance weights: target over proposal."""

    u: Draws
    log_weights: Float[Tensor, "datasets draws"]

    @property
    def effective_sample_size(self) -> Float[Tensor, " datasets"]:
        """(sum w)^2 / sum w^2."""
        return effective_sizes(self.log_weights)


def effective_sizes(log_weights: Float[Tensor, "datasets draws"]) -> Float[Tensor, " datasets"]:
    """(sum w)^2 / sum w^2; 0 where no draw has any weight."""
    size = 1 / log_weights.softmax(-1).square().sum(-1)
    return size.nan_to_num(nan=0.0)


def first_draws(target: Target, effort: Effort) -> Weighted:
    """Draws of the prior, weighted by the likelihood."""
    u = target.prior_draws(effort.first)
    return Weighted(u, target.evaluated(u)[1])


def adapted(target: Target, effort: Effort, weighted: Weighted) -> Weighted:
    """The draws of the last round and their weights, from weighted draws to begin with."""
    if not target.dimension:
        return weighted
    settled = 0
    for _ in range(effort.rounds):
        powers = tempering(weighted.log_weights)
        settled = settled + 1 if bool((powers == 1).all()) else 0
        is_last = settled > effort.settled
        weighted = next_round(target, weighted, powers, effort.last if is_last else effort.each, effort.kernels)
        if is_last:
            return weighted
    return next_round(target, weighted, tempering(weighted.log_weights), effort.last, effort.kernels)


def tempering(log_weights: Float[Tensor, "datasets draws"]) -> Float[Tensor, "datasets 1"]:
    """The largest power of at most 1 with which the weights have an effective sample size of `LEAST`."""
    power, step = torch.zeros_like(log_weights[:, :1]), 1.0
    if bool((effective_sizes(log_weights) >= LEAST).all()):
        return power + 1
    for _ in range(30):
        step /= 2
        enough = effective_sizes((power + step) * log_weights) >= LEAST  # (datasets)
        power = torch.where(enough[:, None], power + step, power)
    return torch.where(effective_sizes(log_weights)[:, None] >= LEAST, 1.0, power)


def next_round(
    target: Target, before: Weighted, powers: Float[Tensor, "datasets 1"], count: int, num_kernels: int
) -> Weighted:
    """Draws of the kernels that the weighted draws give, and of the prior, weighted against the mixture of both."""
    weights = (powers * before.log_weights).softmax(-1).nan_to_num(nan=1 / before.log_weights.shape[-1])
    kernels = kernels_around(before.u, weights, num_kernels)
    per_kernel = max(1, round((1 - PRIOR_SHARE) * count / num_kernels))  # equal shares, as their density says
    near = kernels.draws(per_kernel)
    from_prior = max(count - near.shape[1], round(PRIOR_SHARE * count))
    u = torch.cat([near, target.prior_draws(from_prior)], dim=1)
    log_prior, log_likelihood = target.evaluated(u)
    share = from_prior / u.shape[1]
    shares = torch.tensor([share, 1 - share], dtype=torch.float64).log()
    log_proposal = torch.logaddexp(shares[0] + log_prior, shares[1] + kernels.log_density(u))
    return Weighted(u, log_prior + log_likelihood - log_proposal)
