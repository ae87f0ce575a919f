"""The one pattern of the library: condition on a context, then predict queries."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Batch


@runtime_checkable
class Posterior(Protocol):
    """A predictor that has been conditioned on a context."""

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Distribution:
        """The posterior predictive of each query: ``batch_shape (*batch, query)``, ``event_shape ()``."""
        ...


@runtime_checkable
class Predictor(Protocol):
    """Anything that gives a posterior predictive: a PFN, an exact GP, a sampler, a classifier."""

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> Posterior:
        """Condition on a context; what need not be repeated for each query is done here."""
        ...


def predict(predictor: Predictor, batch: Batch) -> Distribution:
    """What a predictor says about the queries of a batch, given its contexts: ``batch_shape (*batch, query)``.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess(num_features=1)
    >>> predict(pf.exact(gp), gp.sample(batch_size=3, num_points=7).split(num_context=5)).mean.shape
    torch.Size([3, 2])
    """
    return predictor.condition(batch.context_x, batch.context_y).predict(batch.query_x)
