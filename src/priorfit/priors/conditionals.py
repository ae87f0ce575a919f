"""What wrappers and mixtures need of the distributions of targets: a Normal for reals, a Categorical for classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.data import Classes, Conditional, Datasets, Outcome
from priorfit.distributions.normal_tails import normal_cdf
from priorfit.errors import PriorError


@dataclass(frozen=True)
class FixedConditional:
    """Targets that are independent given the latents: the context adds nothing."""

    distribution: Normal | Categorical
    """The distribution of every point, of batch shape (batch, points)."""

    def __call__(self, num_context: int) -> Distribution:
        """The distribution of the points after the first n."""
        if isinstance(self.distribution, Normal):
            loc, scale = self.distribution.loc[:, num_context:], self.distribution.scale[:, num_context:]
            return Normal(loc, scale, validate_args=False)
        return Categorical(self.distribution.probs[:, num_context:], validate_args=False)


def point_mass(y: Float[Tensor, "batch query"], outcome: Outcome) -> Normal | Categorical:
    """All the mass at y: a Normal of scale 0, or a Categorical with one class of probability 1."""
    if isinstance(outcome, Classes):
        labels = torch.nn.functional.one_hot(y.long(), outcome.count).to(y.dtype)  # (batch, query, class)
        return Categorical(labels, validate_args=False)
    return Normal(y, torch.zeros_like(y), validate_args=False)


def joined(parts: Sequence[Distribution], order: Int[Tensor, " batch"]) -> Distribution:
    """The distributions of several batches as that of one, with its datasets in the given order."""
    if all(isinstance(part, Normal) for part in parts):
        loc, scale = torch.cat([part.mean for part in parts]), torch.cat([part.stddev for part in parts])
        return Normal(loc[order], scale[order], validate_args=False)
    if all(isinstance(part, Categorical) for part in parts):
        probs = torch.cat([part.probs for part in parts if isinstance(part, Categorical)])
        return Categorical(probs[order], validate_args=False)
    raise PriorError(
        "a conditional must be a Normal for real targets or a Categorical for classes; got "
        f"{', '.join(sorted({type(part).__name__ for part in parts}))} in one mixture."
    )


@dataclass(frozen=True)
class JoinedConditional:
    """The conditional of datasets from several priors; those without one get point masses at their targets."""

    parts: tuple[Datasets, ...]
    order: Int[Tensor, " batch"]
    outcome: Outcome

    def __call__(self, num_context: int) -> Distribution:
        """Each part's own distribution, or a point mass at what was drawn."""
        return joined([self._of(part, num_context) for part in self.parts], self.order)

    def _of(self, part: Datasets, num_context: int) -> Distribution:
        if part.conditional is None:
            return point_mass(part.y[:, num_context:], self.outcome)
        return part.conditional(num_context)


@dataclass(frozen=True)
class StandardizedConditional:
    """The conditional of (y - shift) / scale, where the first ``num_reference`` points were thrown away."""

    inner: Conditional
    num_reference: int
    shift: Float[Tensor, "batch 1"]
    scale: Float[Tensor, "batch 1"]

    def __call__(self, num_context: int) -> Normal:
        """The conditional of standardised targets, which is again a Normal."""
        law = self.inner(self.num_reference + num_context)
        return Normal((law.mean - self.shift) / self.scale, law.stddev / self.scale, validate_args=False)


@dataclass(frozen=True)
class BinarizedConditional:
    """The conditional of the label y > threshold, where the first ``num_reference`` points were thrown away."""

    inner: Conditional
    num_reference: int
    threshold: Float[Tensor, "batch 1"]

    def __call__(self, num_context: int) -> Categorical:
        """P(y > threshold) of a Normal, exactly."""
        law = self.inner(self.num_reference + num_context)
        excess = law.mean - self.threshold  # (batch, query)
        certain = torch.where(excess > 0, torch.inf, -torch.inf).to(excess.dtype)  # the label of a point mass
        z = torch.where(law.stddev > 0, excess / law.stddev, certain)
        return Categorical(normal_cdf(torch.stack([-z, z], dim=-1)), validate_args=False)
