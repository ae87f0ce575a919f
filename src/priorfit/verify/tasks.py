"""The datasets that a model is examined on: some of each context size, each with one query."""

from dataclasses import dataclass

import torch
from torch.distributions import Distribution

from priorfit.data import Batch
from priorfit.metrics import Estimate
from priorfit.predictor import Predictor, predict
from priorfit.priors import Prior
from priorfit.seeding import seeded

NUM_SIZES = 5


@dataclass(frozen=True)
class Examined:
    """Datasets of one context size, and the predictions for their queries.

    There is one query a dataset: the queries are then independent, as tests of calibration need them.
    """

    num_context: int
    tasks: Batch
    ppd: Distribution

    @property
    def nll(self) -> Estimate:
        """The negative log likelihood of the outcomes."""
        return Estimate.over(-self.ppd.log_prob(self.tasks.query_y)[..., 0])


def spread_sizes(low: int, high: int) -> tuple[int, ...]:
    """Some context sizes from the smallest to the largest, closer together where they are small.

    >>> spread_sizes(0, 100)
    (0, 6, 25, 56, 100)
    """
    parts = (step / (NUM_SIZES - 1) for step in range(NUM_SIZES))
    return tuple(sorted({round(low + (high - low) * part**2) for part in parts}))


def examined(model: Predictor, prior: Prior, num_context: int, num_datasets: int, seed: int) -> Examined:
    """Draw datasets and predict their queries."""
    with seeded(seed, num_context):
        tasks = prior.sample(num_datasets, num_context + 1).split(num_context)
    with torch.no_grad():
        ppd = predict(model, tasks)
    return Examined(num_context, tasks, ppd)
