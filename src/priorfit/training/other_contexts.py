"""Contexts that the prior hardly ever draws, answered by the posterior of the prior all the same."""

from dataclasses import dataclass

import torch

from priorfit.data import Batch, Datasets
from priorfit.errors import RecipeError
from priorfit.priors import HyperGaussianProcess, Prior
from priorfit.priors.hyper_posterior import posterior_answers


@dataclass(frozen=True)
class OtherContexts:
    """A ``share`` of the datasets of each batch has its context from ``prior``, if it has at most ``largest`` points.

    Where people set points by hand, a network should be right about contexts that its prior seldom draws, and training
    on the prior alone shows it few of them. The contexts may come from anywhere: the answer to learn is still that of
    the recipe's own prior given the context, since the targets of the queries are drawn from its posterior. So the best
    network stays the same one; training only looks elsewhere too. The recipe's prior must be a `HyperGaussianProcess`.

    >>> OtherContexts(HyperGaussianProcess(noise_floor=0.1), share=0.25).count(batch_size=32, num_context=5)
    8
    """

    prior: Prior
    share: float = 0.5
    largest: int = 10

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0 < self.share <= 1 or self.largest < 0:
            raise RecipeError(
                f"share of OtherContexts must lie in (0, 1] and largest be at least 0; got share={self.share}, "
                f"largest={self.largest}."
            )

    def count(self, batch_size: int, num_context: int) -> int:
        """How many datasets of a batch have such a context."""
        return round(self.share * batch_size) if num_context <= self.largest else 0

    def replace(self, datasets: Datasets, num_context: int, recipe_prior: Prior) -> Batch:
        """Datasets of the recipe's prior as a batch, the first of them with other contexts and answers to these."""
        if not isinstance(recipe_prior, HyperGaussianProcess):
            raise RecipeError(
                "data.contexts needs draws from the posterior of the recipe's prior, which are known for a "
                f"HyperGaussianProcess; got {type(recipe_prior).__name__}. Leave data.contexts out."
            )
        batch, count = datasets.split(num_context), self.count(len(datasets.x), num_context)
        if not count:
            return batch
        drawn = self.prior.sample(count, num_context + 1).split(num_context)
        answers = posterior_answers(recipe_prior, (drawn.context_x, drawn.context_y), batch.query_x[:count])
        assert isinstance(batch.query_law, torch.distributions.Normal)  # a HyperGaussianProcess offers it
        location, scale = (
            torch.cat([getattr(answers, name), getattr(batch.query_law, name)[count:]]) for name in ("loc", "scale")
        )
        return Batch(
            torch.cat([drawn.context_x, batch.context_x[count:]]),
            torch.cat([drawn.context_y, batch.context_y[count:]]),
            batch.query_x,
            torch.cat([answers.sample(), batch.query_y[count:]]),
            torch.distributions.Normal(location, scale, validate_args=False),
        )
