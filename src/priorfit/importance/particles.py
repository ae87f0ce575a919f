"""Weighted draws of latents as a posterior: predictions, latents and whole functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution

from priorfit.distributions.law_mixture import LawMixture, systematic
from priorfit.distributions.weighted_draws import WeightedDraws
from priorfit.importance.adaptation import effective_sizes
from priorfit.priors.laws import class_probs
from priorfit.priors.program import ProgramPrior

PRUNED = 1e-5
"""Posterior probability of the particles that are dropped, those of the smallest weights."""


@dataclass(frozen=True)
class Particles:
    """Latents ``(datasets, particles, size)`` and the logarithms of their normalised weights."""

    latents: Mapping[str, Num[Tensor, "datasets particles size"]]
    log_weights: Float[Tensor, "datasets particles"]

    @property
    def effective_sample_size(self) -> Float[Tensor, " datasets"]:
        """(sum w)^2 / sum w^2."""
        return effective_sizes(self.log_weights)

    def pruned(self) -> "Particles":
        """Without the particles of the smallest weights; all datasets keep as many as the one that needs most."""
        ordered = self.log_weights.softmax(-1).sort(-1, descending=True).values
        kept = int(((1 - ordered.cumsum(-1)) > PRUNED).sum(-1).max()) + 1
        return self.chosen(self.log_weights.topk(min(kept, ordered.shape[-1])).indices)

    def chosen(self, index: Tensor) -> "Particles":
        """Some of the particles, with their own weights."""
        rows = torch.arange(len(index), device=index.device)[:, None]
        latents = {name: value[rows, index] for name, value in self.latents.items()}
        return Particles(latents, self.log_weights[rows, index].log_softmax(-1))

    def joined(self, other: "Particles") -> "Particles":
        """Both sets with equal shares."""
        latents = {name: torch.cat([value, other.latents[name]], dim=1) for name, value in self.latents.items()}
        both = [each.log_weights.log_softmax(-1) for each in (self, other)]
        return Particles(latents, torch.cat(both, dim=1).log_softmax(-1))


class LatentDraws(Mapping[str, Distribution]):
    """The posterior of each latent as weighted draws, and joint draws of all."""

    def __init__(self, particles: Particles, batch_shape: torch.Size) -> None:
        self._particles, self._batch_shape = particles, batch_shape

    def __getitem__(self, name: str) -> WeightedDraws:
        value = self._particles.latents[name].double()  # (datasets, particles, size)
        draws = value.movedim(1, -1).reshape(*self._batch_shape, value.shape[-1], value.shape[1])
        weights = self._particles.log_weights[:, None].expand(value.movedim(1, -1).shape).reshape(draws.shape)
        return (
            WeightedDraws(weights, draws)
            if value.shape[-1] > 1
            else WeightedDraws(weights[..., 0, :], draws[..., 0, :])
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._particles.latents)

    def __len__(self) -> int:
        return len(self._particles.latents)

    def sample(self, count: int) -> dict[str, Num[Tensor, "count *batch_and_size"]]:
        """Joint draws of all latents, ``(count, *batch)`` each, of vectors ``(count, *batch, size)``."""
        chosen = self._particles.chosen(self.indices(count))
        found = {}
        for name, value in chosen.latents.items():
            shaped = value.movedim(1, 0).reshape(count, *self._batch_shape, value.shape[-1])
            found[name] = shaped if value.shape[-1] > 1 else shaped[..., 0]
        return found

    def indices(self, count: int) -> Tensor:
        """Which particles are drawn: systematic resampling, in random order."""
        index = systematic(self._particles.log_weights.softmax(-1), count)
        return index[:, torch.randperm(count)]


class ParticlePosterior:
    """Weighted latents of a program prior after a context; a `Posterior`."""

    def __init__(self, prior: ProgramPrior, particles: Particles, batch_shape: torch.Size) -> None:
        self.prior, self.particles, self.batch_shape = prior, particles.pruned(), batch_shape

    @classmethod
    def of_all(cls, prior: ProgramPrior, particles: Particles, batch_shape: torch.Size) -> "ParticlePosterior":
        """With every particle kept, in its order."""
        made = cls.__new__(cls)
        made.prior, made.particles, made.batch_shape = prior, particles, batch_shape
        return made

    @property
    def effective_sample_size(self) -> Float[Tensor, "*batch"]:
        """How many independent draws of the posterior the particles are worth: (sum w)^2 / sum w^2."""
        return self.particles.effective_sample_size.reshape(self.batch_shape)

    @property
    def latents(self) -> LatentDraws:
        """The posterior of each latent by name."""
        return LatentDraws(self.particles, self.batch_shape)

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Distribution:
        """The mixture of the law at the weighted latents; of classes their mean probabilities."""
        law = self._law(query_x.reshape(-1, *query_x.shape[-2:]), self.particles)
        logits = self.particles.log_weights.reshape(*self.batch_shape, -1).to(query_x.dtype)
        if isinstance(law, Categorical | Bernoulli):
            return self._classes(law, query_x.shape[:-1])
        return LawMixture(logits, law)

    def sample_functions(
        self, query_x: Float[Tensor, "*batch query features"], count: int, noise: bool = False
    ) -> Num[Tensor, "count *batch query"]:
        """Whole functions: latents are drawn once for each, then the mean of their law, or with noise a draw of it."""
        chosen = self.particles.chosen(self.latents.indices(count))
        return ParticlePosterior.of_all(self.prior, chosen, self.batch_shape).functions(query_x, noise)

    def functions(
        self, query_x: Float[Tensor, "*batch query features"], noise: bool
    ) -> Num[Tensor, "particles *batch query"]:
        """The function of each particle, whatever its weight."""
        law = self._law(query_x.reshape(-1, *query_x.shape[-2:]), self.particles)
        values = law.sample() if noise else mean_of(law)
        count = self.particles.log_weights.shape[-1]
        return values.unflatten(0, (-1, count)).movedim(1, 0).reshape(count, *query_x.shape[:-1])

    def _law(self, x: Float[Tensor, "datasets query features"], particles: Particles) -> Distribution:
        count = particles.log_weights.shape[-1]
        flat = {name: value.flatten(0, 1) for name, value in particles.latents.items()}
        return self.prior.law(x.to(torch.float32).repeat_interleave(count, 0), flat)

    def _classes(self, law: Categorical | Bernoulli, shape: torch.Size) -> Categorical:
        probs = class_probs(law)
        each = probs.double().unflatten(0, self.particles.log_weights.shape)  # (datasets, particles, query, classes)
        mixed = (self.particles.log_weights.softmax(-1)[..., None, None] * each).sum(1)
        return Categorical(mixed.reshape(*shape, -1).to(probs.dtype), validate_args=False)


def mean_of(law: Distribution) -> Num[Tensor, "..."]:
    """The mean of a law; of two classes the probability of the second, of more the most probable class."""
    return law.probs.argmax(-1).to(law.probs.dtype) if isinstance(law, Categorical) else law.mean
