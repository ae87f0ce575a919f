"""The exact posterior predictive of a mixture of priors that have one."""

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.distributions import NormalMixture
from priorfit.predictor import Posterior, Predictor
from priorfit.priors.mixture import Mixture
from priorfit.values import Values


class ExactPredictor(Predictor, Protocol):
    """An exact predictor that also gives the marginal likelihood of a context."""

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """log p(context_y | context_x), in float64."""
        ...


@dataclass(frozen=True)
class ExactMixturePosterior:
    """The posterior of each component, and how probable the component is."""

    prior: Mixture
    posteriors: tuple[Posterior, ...]
    log_weights: Float[Tensor, "*batch components"]

    def predict(self, query_x: Values) -> Distribution:
        """The mixture of the components' predictives."""
        query_x = asked_queries(query_x, self.log_weights.shape[:-1], self.prior)
        parts = [posterior.predict(query_x) for posterior in self.posteriors]
        log_weights = self.log_weights[..., None, :].to(query_x.dtype)  # (*batch, 1, components)
        classes = [part for part in parts if isinstance(part, Categorical)]
        if classes:
            each = torch.stack(
                [part.logits.log_softmax(-1) for part in classes], dim=-1
            )  # (*batch, query, 2, components)
            return Categorical(logits=(each + log_weights[..., None, :]).logsumexp(-1), validate_args=False)
        mixtures = [as_mixture(part) for part in parts]
        logits = [mixture.log_probs + log_weights[..., [k]] for k, mixture in enumerate(mixtures)]
        loc, scale = (torch.cat([getattr(each, name) for each in mixtures], dim=-1) for name in ("loc", "scale"))
        return NormalMixture(torch.cat(logits, dim=-1), loc, scale, validate_args=False)


@dataclass(frozen=True)
class ExactMixture:
    """The exact predictor of a `Mixture` whose priors share their inputs and have exact predictors themselves.

    The weight of each component is multiplied by its marginal likelihood.

    >>> from priorfit.baselines.exact import exact
    >>> from priorfit.priors import GaussianProcess
    >>> prior = Mixture([GaussianProcess(lengthscale=0.1), GaussianProcess(lengthscale=1.0)])
    >>> tasks = prior.sample(batch_size=3, num_points=21).split(num_context=20)
    >>> posterior = exact(prior).condition(tasks.context_x, tasks.context_y)
    >>> posterior.log_weights.shape, posterior.predict(tasks.query_x).mean.shape
    (torch.Size([3, 2]), torch.Size([3, 1]))
    """

    prior: Mixture
    parts: tuple[ExactPredictor, ...]

    def condition(self, context_x: Values, context_y: Values) -> ExactMixturePosterior:
        """See `Predictor.condition`."""
        context_x, context_y = asked_context(context_x, context_y, self.prior)
        posteriors = tuple(part.condition(context_x, context_y) for part in self.parts)
        return ExactMixturePosterior(self.prior, posteriors, self._log_joint(context_x, context_y).log_softmax(-1))

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`."""
        context_x, context_y = asked_context(context_x, context_y, self.prior)
        return self._log_joint(context_x, context_y).logsumexp(-1)

    def _log_joint(
        self, context_x: Float[Tensor, "*batch context features"], context_y: Num[Tensor, "*batch context"]
    ) -> Float[Tensor, "*batch components"]:
        """log (weight * evidence) of each component."""
        weights = self.prior.weights or [1.0] * len(self.parts)
        log_weights = torch.tensor(weights, dtype=torch.float64, device=context_y.device).log()
        evidences = [part.log_evidence(context_x, context_y) for part in self.parts]
        return torch.stack(evidences, dim=-1) + (log_weights - log_weights.logsumexp(-1))


def as_mixture(part: Distribution) -> NormalMixture:
    """A Normal as a mixture of one; a mixture as it is."""
    if isinstance(part, NormalMixture):
        return part
    assert isinstance(part, Normal)
    return NormalMixture(torch.zeros_like(part.loc)[..., None], part.loc[..., None], part.scale[..., None])
