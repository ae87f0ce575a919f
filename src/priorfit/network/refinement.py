"""The network's posterior of the latents as a proposal that exact importance weights correct."""

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.errors import InputError, UncertainTruthWarning
from priorfit.importance.pareto import RELIABLE, smoothed
from priorfit.importance.particles import LatentDraws, ParticlePosterior, Particles
from priorfit.importance.target import Target
from priorfit.network.latents.posterior import LatentPosterior
from priorfit.network.problem import Problem
from priorfit.network.validation import checked_queries
from priorfit.priors.laws import log_likelihood
from priorfit.values import Values

PRIOR_SHARE = 1 / 8
"""Share of the proposals that are draws of the prior, so that no weight exceeds a constant times the likelihood."""

REPEATS = 7
"""Draws of the last latent for each draw of all others: the network's passes are what a particle costs, and so many
particles share one. Weights are exact all the same."""

FEWEST_PARTICLES = 64
"""With fewer, no tail of the weights can be fitted."""


@dataclass(frozen=True)
class RefinedPosterior:
    """Draws of the network's latents with exact, Pareto-smoothed weights; a `Posterior`."""

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
    """Importance sampling with the network's joint density of the latents, and a share of the prior, as proposal."""
    if isinstance(particles, bool) or not isinstance(particles, int) or particles < FEWEST_PARTICLES:
        raise InputError(f"particles must be a whole number of at least {FEWEST_PARTICLES}; got {particles!r}.")
    with torch.no_grad():
        values, log_weights = proposed(latents, target, particles)
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


def proposed(
    latents: LatentPosterior, target: Target, count: int
) -> tuple[dict[str, Num[Tensor, "datasets draws size"]], Float[Tensor, "datasets draws"]]:
    """Draws of the network and of the prior, and the log weights of all against the mixture of both."""
    parts, prior = latents.parts, target.prior
    from_prior = max(1, round(PRIOR_SHARE * count))
    own = latents.chain(max(1, (count - from_prior) // REPEATS), REPEATS)
    from_prior = count - own.numbers.shape[1]
    guard = latents.density(parts.encoded(target.latents(target.prior_draws(from_prior))))
    numbers = torch.cat([own.numbers, guard.numbers], dim=1)
    values = prior.placed(parts.decoded(numbers), target.x)
    flat = {name: value.flatten(0, 1) for name, value in values.items()}
    densities = {
        latent.name: log_likelihood(latent.law(flat, len(flat[latent.name])), flat[latent.name]).unflatten(
            0, numbers.shape[:2]
        )
        for latent in prior.latents
    }
    log_prior = torch.stack(list(densities.values())).sum(0)
    log_unknown = log_prior - sum(densities[name] for name in target.known)  # the prior is drawn given what is known
    log_network = torch.cat([own.log_prob, guard.log_prob], dim=1) - latents.log_slope(numbers)
    shares = (
        torch.tensor([count - from_prior, from_prior], dtype=torch.float64).log() - torch.tensor(float(count)).log()
    )
    log_proposal = torch.logaddexp(shares[0] + log_network, shares[1] + log_unknown)
    return values, log_prior + target.log_likelihood(values) - log_proposal
