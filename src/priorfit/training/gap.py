"""The gap to the exact answer during training, on a few fixed datasets, where the prior has one."""

import math
import warnings

import torch
from torch.distributions import Distribution

from priorfit.baselines.exact import exact_or_none
from priorfit.baselines.exact.program_oracle import QUICK, ProgramOracle
from priorfit.data import Batch
from priorfit.errors import UncertainTruthWarning
from priorfit.metrics import Estimate, divergence
from priorfit.network import Model
from priorfit.predictor import predict
from priorfit.seeding import seeded
from priorfit.training.batches import GAP_STREAM
from priorfit.training.recipe import Recipe

MOST_POINTS = 4096
"""Most points of all datasets of a context size together, since the exact posterior of a large context is costly."""

FEWEST, MOST = 4, 64
"""Fewest and most datasets of each context size."""

SAMPLED = 3
"""Datasets of each context size where the truth is importance sampling: a second for all of them."""

FEWEST_STEPS = 100
"""Shorter runs are not compared with importance sampling, which would take longer than they do."""


def summary(found: Estimate) -> dict[str, float | int]:
    """A gap as the card of a model has it."""
    return {"mean": found.mean, "half_width": found.half_width, "datasets": found.count}


class GapMeter:
    """Measures the mean gap over some context sizes; gives None for a prior without an exact answer.

    ``sampled`` datasets of each size have ``queries`` each where the truth is importance sampling.
    """

    def __init__(self, recipe: Recipe, num_sizes: int = 4, sampled: int = SAMPLED, queries: int = 1) -> None:
        reference = self._reference = exact_or_none(recipe.prior)
        self._tasks: list[Batch] = []
        self._truths: list[Distribution] = []
        is_sampled = isinstance(reference, ProgramOracle)
        if is_sampled and (recipe.budget.steps or FEWEST_STEPS) < FEWEST_STEPS:
            self._reference = None
        elif isinstance(reference, ProgramOracle):
            self._reference = ProgramOracle(reference.prior, effort=QUICK, efforts=(1,))
        if self._reference is not None:
            low, high = recipe.data.context_sizes.range(recipe.num_points)
            with seeded(recipe.seed, GAP_STREAM):
                for size in sorted({round(low + (high - low) * part / (num_sizes - 1)) for part in range(num_sizes)}):
                    count = sampled if is_sampled else max(FEWEST, min(MOST, MOST_POINTS // (size + 1)))
                    self._tasks.append(recipe.prior.sample(count, size + queries).split(size))

    @property
    def has_truth(self) -> bool:
        """Whether there is something to measure against."""
        return self._reference is not None

    def measure(self, network: Model) -> float | None:
        """The mean gap in nats on the fixed datasets."""
        return self.estimate(network).mean if self.has_truth else None

    @torch.no_grad()
    def estimate(self, network: Model) -> Estimate:
        """The mean gap in nats, each context size alike, with its interval over datasets."""
        device = next(network.parameters()).device
        network, tasks = network.in_model_units(), [task.to(device) for task in self._tasks]
        if not self._truths:
            self._truths = self._computed(tasks)
        pairs = zip(self._truths, tasks, strict=True)
        gaps = [Estimate.over(divergence(truth, predict(network, task)).mean(-1)) for truth, task in pairs]
        half_width = math.hypot(*(gap.half_width for gap in gaps)) / len(gaps)
        return Estimate(sum(gap.mean for gap in gaps) / len(gaps), half_width, sum(gap.count for gap in gaps))

    def _computed(self, tasks: list[Batch]) -> list[Distribution]:
        """The exact answers, once for all readings."""
        assert self._reference is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainTruthWarning)  # a reading on the way is worth a few percent
            return [predict(self._reference, task) for task in tasks]
