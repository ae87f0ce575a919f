"""Acquisition functions of Bayesian optimisation, as functions of any predictive distribution."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions.values import Values, as_probability
from priorfit.errors import InputError
from priorfit.metrics.partial_means import mean_excess, mean_shortfall
from priorfit.metrics.reals import quantile, real_values
from priorfit.metrics.survival import survival

Goal = Literal["minimise", "maximise"]


def _check_goal(goal: str) -> None:
    if goal not in ("minimise", "maximise"):
        raise InputError(f"goal must be 'minimise' or 'maximise'; got {goal!r}.")


def expected_improvement(ppd: Distribution, best: Values, goal: Goal) -> Float[Tensor, "..."]:
    """How much better than ``best`` a draw is on average, a worse one counting 0; exact, tails included.

    >>> import torch
    >>> expected_improvement(torch.distributions.Normal(torch.zeros(3), 1.0), 0.0, goal="maximise")
    tensor([0.3989, 0.3989, 0.3989])
    """
    _check_goal(goal)
    return mean_excess(ppd, best) if goal == "maximise" else mean_shortfall(ppd, best)


def probability_of_improvement(ppd: Distribution, best: Values, goal: Goal) -> Float[Tensor, "..."]:
    """The probability that a draw is better than ``best``."""
    _check_goal(goal)
    return survival(ppd, best) if goal == "maximise" else ppd.cdf(real_values(ppd, best))


def upper_confidence_bound(ppd: Distribution, level: Values, goal: Goal) -> Float[Tensor, "*batch"]:
    """The optimistic end of what is credible: the quantile ``level`` when maximising, ``1 - level`` when minimising.

    A quantile, and not mean + beta * stddev, because a prediction may be skewed or have several modes. For a Normal
    both agree: beta is the standard Normal's quantile of ``level``. When minimising it is the lower bound.
    """
    _check_goal(goal)
    level = as_probability(level)
    return quantile(ppd, level if goal == "maximise" else 1 - level)
