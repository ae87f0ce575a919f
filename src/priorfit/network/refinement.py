"""The network's posterior of the latents, corrected by exact importance weights.

Draws of the network and as many of the prior are weighted; kernels around them give the draws of the answer, which are
weighted against kernels and prior (see `importance.adaptation`).
"""

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.errors import InputError, UncertainTruthWarning
from priorfit.importance.adaptation import Effort, Weighted, adapted
from priorfit.importance.pareto import RELIABLE, smoothed
from priorfit.importance.particles import LatentDraws, ParticlePosterior, Particles
from priorfit.importance.target import Target
from priorfit.network.latents.posterior import LatentPosterior
from priorfit.network.problem import Problem
from priorfit.network.validation import checked_queries
from priorfit.priors.laws import log_likelihood
from priorfit.values import Values

REPEATS = 14
"""Draws of the last latent for each draw of all others: the network's passes are what a particle costs, and so many
particles share one. Weights are exact all the same."""

KERNELS, GROWTH = 64, 4
"""Kernels of the last round, and its draws for each particle: they cost a likelihood each, and no pass."""

FEWEST_PARTICLES = 64
"""With fewer, no tail of the weights can be fitted."""


@dataclass(frozen=True)
class RefinedPosterior:
    """Draws of the latents with exact, Pareto-smoothed weights; a `Posterior`."""

    particles: ParticlePosterior
    k_hat: Float[Tensor, "*batch"]
    """The shape of the tail of the weights: above 0.7 an answer is not to be believed, whatever its sample size."""

    @property
    def is_reliable(self) -> Bool[Tensor, "*batch"]:
        """Whether k-hat is at most 0.7 for each dataset."""
        return self.k_hat <= RELIABLE

    @property
    def effective_sample_size(self) -> Float[Tensor, "*batch"]:
        """See `ParticlePosterior.effective_sample_size`."""
        return self.particles.effective_sample_size

    @property
    def latents(self) -> LatentDraws:
        """See `ParticlePosterior.latents`."""
        return self.particles.latents

    def predict(self, query_x: Values) -> Distribution:
        """See `ParticlePosterior.predict`."""
        return self.particles.predict(self._inputs(query_x))

    def sample_functions(self, query_x: Values, count: int, noise: bool = False) -> Num[Tensor, "count *batch query"]:
        """See `ParticlePosterior.sample_functions`."""
        return self.particles.sample_functions(self._inputs(query_x), count, noise)

    def _inputs(self, query_x: Values) -> Float[Tensor, "*batch query features"]:
        prior = self.particles.prior
        problem = Problem(prior.num_features, prior.outcome)
        return checked_queries(query_x, tuple(self.k_hat.shape), prior.num_features, problem).float()


def refined(latents: LatentPosterior, target: Target, batch_shape: torch.Size, particles: int) -> RefinedPosterior:
    """Importance sampling: by the network and the prior, then by kernels around what these found."""
    if isinstance(particles, bool) or not isinstance(particles, int) or particles < FEWEST_PARTICLES:
        raise InputError(f"particles must be a whole number of at least {FEWEST_PARTICLES}; got {particles!r}.")
    with torch.no_grad():
        start = proposed(latents, target, particles)
        effort = Effort(0, each=particles, last=GROWTH * particles, kernels=KERNELS, settled=0, rounds=2)
        last = adapted(target, effort, start)
        values, log_weights = target.latents(last.u), last.log_weights
    if not bool((log_weights > -torch.inf).any(-1).all()):
        raise InputError(
            f"no particle explains this context: its likelihood under {target.prior} is 0 at all of them. Use more "
            "particles, or check the units of context_y."
        )
    smooth, k_hat = smoothed(log_weights)
    found = RefinedPosterior(
        ParticlePosterior(target.prior, Particles(values, smooth), batch_shape), k_hat.reshape(batch_shape)
    )
    if not bool(found.is_reliable.all()):
        warnings.warn(
            f"the weights of {int((~found.is_reliable).sum())} of {found.k_hat.numel()} datasets rest on too few "
            f"particles (k-hat up to {float(k_hat.max()):.2f}, above {RELIABLE}). Do not believe their refined "
            "answers: use more particles, train longer, or ask pf.exact(prior).",
            UncertainTruthWarning,
            stacklevel=3,
        )
    return found


def proposed(latents: LatentPosterior, target: Target, count: int) -> Weighted:
    """Draws of the network and of the prior, both with exact weights, in shares of their effective sample sizes.

    Draws of the prior cost no pass of the network, and tell of what the network missed.
    """
    u = target.prior_draws(count)
    sets = [by_network(latents, target, count), Weighted(u, target.evaluated(u)[1])]
    sizes = torch.stack([each.effective_sample_size for each in sets])  # (2, datasets)
    shares = (sizes / sizes.sum(0)).log()[..., None]
    weights = [each.log_weights.log_softmax(-1) + share for each, share in zip(sets, shares, strict=True)]
    return Weighted(torch.cat([each.u for each in sets], dim=1), torch.cat(weights, dim=1).nan_to_num(nan=-torch.inf))


def by_network(latents: LatentPosterior, target: Target, count: int) -> Weighted:
    """Draws of the network's joint density of the latents, and the logarithms of target over density."""
    parts, prior = latents.parts, target.prior
    chain = latents.chain(max(1, count // REPEATS), REPEATS)
    values = prior.placed(parts.decoded(chain.numbers), target.x)
    flat = {name: value.flatten(0, 1) for name, value in values.items()}
    densities = [
        log_likelihood(latent.law(flat, len(flat[latent.name])), flat[latent.name]) for latent in prior.latents
    ]
    log_prior = torch.stack(densities).sum(0).unflatten(0, chain.log_prob.shape)
    log_network = chain.log_prob - latents.log_slope(chain.numbers)
    return Weighted(target.coordinates(values), log_prior + target.log_likelihood(values) - log_network)
