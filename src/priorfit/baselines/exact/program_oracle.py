"""The truth for any prior with a likelihood: adapted importance sampling, with its error by two independent runs."""

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.errors import InputError, UncertainTruthWarning
from priorfit.importance.adaptation import Effort, Weighted, adapted, first_draws
from priorfit.importance.particles import LatentDraws, ParticlePosterior, Particles
from priorfit.importance.target import Target
from priorfit.priors.known import known_values
from priorfit.priors.laws import log_likelihood
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded
from priorfit.values import Values

SHARE_OF_TOLERANCE = 1 / 5
"""Runs that differ by more than this share of the tolerance are not called the truth."""

EFFORTS = (1, 4, 16)
"""See `ProgramOracle.efforts`."""

QUICK = Effort(first=4_096, each=1_024, last=2_048, kernels=64)
"""Draws for a measurement over many datasets, each of which may be off by a little more."""

JUDGED_POINTS, JUDGED_NODES = 8, 64
"""Inputs of the prior at which two runs are compared, and draws of y at each."""

DATASETS_AT_ONCE = 4
"""Datasets that are sampled at once, so that densities of kernels fit in memory."""


@dataclass(frozen=True)
class OraclePosterior:
    """Weighted latents after a context, from two independent runs that are judged against each other; a `Posterior`."""

    particles: ParticlePosterior
    error: Float[Tensor, "*batch"]
    """The mean KL divergence between the predictives of the two runs at inputs of the prior, in nats. Both together, as
    `predict` gives them, are about four times closer to the truth."""
    log_evidence: Float[Tensor, "*batch"]
    """log p(context_y | context_x), the mean of both runs' weights."""
    tolerance: float

    @property
    def is_truth(self) -> Bool[Tensor, "*batch"]:
        """Whether the runs agree to a fifth of the tolerance."""
        return self.error <= SHARE_OF_TOLERANCE * self.tolerance

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
        return self.particles.predict(asked_queries(query_x, self.error.shape, self.particles.prior))

    def sample_functions(self, query_x: Values, count: int, noise: bool = False) -> Num[Tensor, "count *batch query"]:
        """See `ParticlePosterior.sample_functions`."""
        x = asked_queries(query_x, self.error.shape, self.particles.prior)
        return self.particles.sample_functions(x, count, noise)


@dataclass(frozen=True)
class ProgramOracle:
    """The posterior of a prior with named latents and a law, up to a Monte Carlo error that it states.

    Args:
        prior: a prior whose function returns a law.
        tolerance: the error in nats that the caller can bear; where two runs differ by more than a fifth of it, in
            spite of more draws, there is a warning, and `OraclePosterior.is_truth` says so.
        seed: the seed of the draws, which do not depend on the global generators.
        effort: how many draws a run has.
        efforts: datasets whose runs differ by too much are sampled again with so many times as many draws.

    >>> from torch.distributions import Normal, Uniform
    >>> from priorfit.priors.function import prior
    >>> @prior(num_features=1, slope=Normal(0.0, 1.0), noise=Uniform(0.1, 0.5))
    ... def lines(x, slope, noise):
    ...     return Normal(slope * x[..., 0], noise)
    >>> tasks = lines.sample(batch_size=2, num_points=8).split(num_context=6)
    >>> posterior = ProgramOracle(lines).condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).mean.shape, posterior.latents["slope"].mean.shape
    (torch.Size([2, 2]), torch.Size([2]))
    """

    prior: ProgramPrior
    tolerance: float = 0.01
    seed: int = 0
    effort: Effort = Effort()
    efforts: tuple[int, ...] = EFFORTS

    def __post_init__(self) -> None:
        """Check the fields."""
        if not self.prior.has_law:
            raise InputError(
                f"prior {self.prior} returns draws, so the likelihood of its latents is unknown and there is nothing "
                "to weight them by. Let its function return a law, such as Normal(mean, noise)."
            )
        if not self.tolerance > 0:
            raise InputError(f"tolerance is a positive number of nats; got {self.tolerance}.")

    def condition(self, context_x: Values, context_y: Values, **known: Values | float) -> OraclePosterior:
        """See `Predictor.condition`; latents that are known are given by name."""
        target, shape = self._target(context_x, context_y, known)
        with seeded(self.seed), torch.no_grad():
            judged_x = self.prior.inputs.sample(1, JUDGED_POINTS, self.prior.num_features)
        found = [self._found(target.of(rows), judged_x) for rows in torch.arange(len(target.x)).split(DATASETS_AT_ONCE)]
        most = max(each.particles.log_weights.shape[-1] for each in found)
        particles = joined([padded(each.particles, most) for each in found])
        error, evidence = (torch.cat([getattr(each, name) for each in found]) for name in ("error", "log_evidence"))
        posterior = ParticlePosterior(self.prior, particles, shape)
        made = OraclePosterior(posterior, error.reshape(shape), evidence.reshape(shape), self.tolerance)
        if not bool(made.is_truth.all()):
            warnings.warn(
                f"importance sampling for {self.prior} is not the truth for {int((~made.is_truth).sum())} of "
                f"{max(1, made.error.numel())} datasets: two runs differ by up to {float(error.max()):.2g} nats, more "
                f"than a fifth of the tolerance, {self.tolerance:g}. Use a larger tolerance, or fewer points.",
                UncertainTruthWarning,
                stacklevel=2,
            )
        return made

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`."""
        return self.condition(context_x, context_y).log_evidence

    def _target(
        self, context_x: Values, context_y: Values, known: dict[str, Values | float]
    ) -> tuple[Target, torch.Size]:
        x, y = asked_context(context_x, context_y, self.prior)
        shape = x.shape[:-2]
        x, y = x.reshape(shape.numel(), *x.shape[-2:]).float(), y.reshape(shape.numel(), -1).float()
        fixed = self.prior.placed(known_values(self.prior.latents, known, shape), x)
        target = Target(self.prior, x, y, fixed)
        self._check_support(target)
        return target, shape

    def _check_support(self, target: Target) -> None:
        for latent in self.prior.latents:
            if latent.name in target.known and not latent.parents:
                law = latent.law({}, len(target.x))
                if not bool(log_likelihood(law, target.known[latent.name]).isfinite().all()):
                    raise InputError(f"latent {latent.name!r} is given outside of the support of {latent.text}.")

    def _found(self, target: Target, judged_x: Float[Tensor, "1 points features"]) -> "Found":
        """Two runs, again with more draws for the datasets on which they differ."""
        found = self._runs(target, judged_x, self.efforts[0])
        for factor in self.efforts[1:]:
            wrong = (~(found.error <= SHARE_OF_TOLERANCE * self.tolerance)).nonzero()[:, 0]
            if not len(wrong):
                break
            found = found.replaced(wrong, self._runs(target.of(wrong), judged_x, factor))
        return found

    def _runs(self, target: Target, judged_x: Float[Tensor, "1 points features"], factor: int) -> "Found":
        effort = self.effort.times(factor)
        with torch.no_grad():
            runs = []
            for run in (1, 2):
                with seeded(self.seed, factor, run):
                    runs.append(adapted(target, effort, first_draws(target, effort)))
            self._check_weights(runs)
            both = [Particles(target.latents(run.u), run.log_weights.log_softmax(-1)) for run in runs]
            x = judged_x.expand(len(target.x), -1, -1)
            ppds = [ParticlePosterior(self.prior, each, x.shape[:1]).predict(x) for each in both]
            evidences = [run.log_weights.logsumexp(-1) - torch.tensor(run.log_weights.shape[-1]).log() for run in runs]
            error = (divergence(*ppds) + divergence(*reversed(ppds))) / 2
        evidence = torch.stack(evidences).logsumexp(0) - torch.tensor(2.0).log()
        return Found(both[0].joined(both[1]).pruned(), error.mean(-1), evidence)

    def _check_weights(self, runs: list[Weighted]) -> None:
        if any(not bool((run.log_weights > -torch.inf).any(-1).all()) for run in runs):
            raise InputError(
                f"no latents of {self.prior} explain this context: its likelihood is 0 at every draw. Check that "
                "context_y lies in the support of the law, and its units."
            )


@dataclass(frozen=True)
class Found:
    """What two runs gave for some datasets."""

    particles: Particles
    error: Float[Tensor, " datasets"]
    log_evidence: Float[Tensor, " datasets"]

    def replaced(self, rows: Tensor, other: "Found") -> "Found":
        """With the rows of some datasets taken from other runs."""
        most = max(each.particles.log_weights.shape[-1] for each in (self, other))
        mine, theirs = padded(self.particles, most), padded(other.particles, most)
        latents = {name: value.index_copy(0, rows, theirs.latents[name]) for name, value in mine.latents.items()}
        particles = Particles(latents, mine.log_weights.index_copy(0, rows, theirs.log_weights))
        error, evidence = (
            getattr(self, name).index_copy(0, rows, getattr(other, name)) for name in ("error", "log_evidence")
        )
        return Found(particles, error, evidence)


def padded(particles: Particles, count: int) -> Particles:
    """With as many particles as asked for: the last one repeated, without weight."""
    missing = count - particles.log_weights.shape[-1]
    if not missing:
        return particles
    latents = {
        name: torch.cat([value, value[:, -1:].expand(-1, missing, -1)], dim=1)
        for name, value in particles.latents.items()
    }
    none = torch.full((len(particles.log_weights), missing), -torch.inf, dtype=particles.log_weights.dtype)
    return Particles(latents, torch.cat([particles.log_weights, none], dim=1))


def joined(parts: list[Particles]) -> Particles:
    """The particles of several groups of datasets as those of one."""
    latents = {name: torch.cat([part.latents[name] for part in parts]) for name in parts[0].latents}
    return Particles(latents, torch.cat([part.log_weights for part in parts]))


def divergence(one: Distribution, other: Distribution) -> Float[Tensor, "datasets points"]:
    """KL(one || other) by draws of the first: the mean of r - 1 - log r with r = other / one has little noise."""
    if isinstance(one, Categorical) and isinstance(other, Categorical):
        return (one.probs * (one.logits - other.logits)).nan_to_num().sum(-1)
    nodes = one.nodes[:: max(1, len(one.nodes) // JUDGED_NODES)]  # pyright: ignore[reportAttributeAccessIssue]
    log_ratio = other.log_prob(nodes).double() - one.log_prob(nodes).double()
    return (log_ratio.expm1() - log_ratio).mean(0)
