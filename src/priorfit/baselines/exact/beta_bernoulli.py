"""The exact posterior predictive of coins of unknown bias: counting."""

from dataclasses import dataclass
from math import lgamma

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical

from priorfit.baselines.asked import asked_context, asked_queries
from priorfit.priors.beta_bernoulli import BetaBernoulli
from priorfit.values import Values


@dataclass(frozen=True)
class BetaPosterior:
    """The probability of a 1 after the context."""

    prior: BetaBernoulli
    probability: Float[Tensor, "*batch"]

    def predict(self, query_x: Values) -> Categorical:
        """The same two probabilities at every query."""
        query_x = asked_queries(query_x, self.probability.shape, self.prior)
        p = self.probability[..., None].expand(query_x.shape[:-1])  # (*batch, query)
        return Categorical(torch.stack([1 - p, p], dim=-1).to(query_x.dtype), validate_args=False)


@dataclass(frozen=True)
class ExactBetaBernoulli:
    """The exact predictor of a `BetaBernoulli`: P(1) = (alpha + ones) / (alpha + beta + n).

    >>> x, y = torch.zeros(3, 1), torch.tensor([1.0, 1.0, 0.0])
    >>> ExactBetaBernoulli(BetaBernoulli()).condition(x, y).predict(x[:1]).probs
    tensor([[0.4000, 0.6000]])
    """

    prior: BetaBernoulli

    def condition(
        self,
        context_x: Values,
        context_y: Values,
    ) -> BetaPosterior:
        """See `Predictor.condition`."""
        _, context_y = asked_context(context_x, context_y, self.prior)
        ones = context_y.to(torch.float64).sum(-1)  # (*batch)
        total = self.prior.alpha + self.prior.beta + context_y.shape[-1]
        return BetaPosterior(self.prior, (self.prior.alpha + ones) / total)

    def log_evidence(self, context_x: Values, context_y: Values) -> Float[Tensor, "*batch"]:
        """See `ExactPredictor.log_evidence`."""
        _, context_y = asked_context(context_x, context_y, self.prior)
        ones, alpha, beta = context_y.double().sum(-1), self.prior.alpha, self.prior.beta  # (*batch)
        zeros = context_y.shape[-1] - ones
        after = torch.lgamma(alpha + ones) + torch.lgamma(beta + zeros) - lgamma(alpha + beta + context_y.shape[-1])
        return after - (lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta))
