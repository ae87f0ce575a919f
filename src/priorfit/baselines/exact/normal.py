"""The frame of exact predictors whose posterior predictive is a Normal with a closed form, computed in float64."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.priors.prior import Prior
from priorfit.values import Values

Law = TypeVar("Law", bound=Prior)


@dataclass(frozen=True)
class NormalPosterior(ABC, Generic[Law]):
    """What is kept of a context: a Cholesky factor of each dataset, in float64, and what a subclass adds."""

    prior: Law
    factor: Float[Tensor, "*batch size size"]

    @abstractmethod
    def moments(
        self, query_x: Float[Tensor, "*batch query features"]
    ) -> tuple[Float[Tensor, "*batch query"], Float[Tensor, "*batch query"]]:
        """Mean and variance of y at each query, noise included, in float64."""

    def predict(self, query_x: Values) -> Normal:
        """The distribution of y at each query, noise included."""
        query_x = asked_queries(query_x, self.factor.shape[:-2], self.prior)
        mean, variance = self.moments(query_x)
        return Normal(mean.to(query_x.dtype), variance.sqrt().to(query_x.dtype), validate_args=False)


Known = TypeVar("Known", bound=NormalPosterior)


@dataclass(frozen=True)
class ExactNormal(ABC, Generic[Law, Known]):
    """The exact predictor of a prior whose targets are jointly Normal."""

    prior: Law

    @abstractmethod
    def given(self, x: Float[Tensor, "*batch context features"], y: Float[Tensor, "*batch context"]) -> Known:
        """The posterior of a context that was checked, its targets in float64."""

    @abstractmethod
    def evidence(
        self, posterior: Known, x: Float[Tensor, "*batch context features"], y: Float[Tensor, "*batch context"]
    ) -> Float[Tensor, "*batch"]:
        """The log evidence of a context whose posterior is known."""

    def condition(self, context_x: Values, context_y: Values) -> Known:
        """See `Predictor.condition`; the Cholesky factorisation happens here, in float64."""
        x, y = asked_context(context_x, context_y, self.prior)
        return self.given(x, y.double())

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`."""
        x, y = asked_context(context_x, context_y, self.prior)
        return self.evidence(self.given(x, y.double()), x, y.double())
