"""The gap to the exact answer during training, on a few fixed datasets, where the prior has one."""

import torch

from priorfit import metrics
from priorfit.baselines.exact import exact_or_none
from priorfit.data import Batch
from priorfit.network import Model
from priorfit.seeding import seeded
from priorfit.training.batches import GAP_STREAM
from priorfit.training.recipe import Recipe

MOST_POINTS = 4096
"""Most points of all datasets of a context size together, since the exact posterior of a large context is costly."""

FEWEST, MOST = 4, 64
"""Fewest and most datasets of each context size."""


class GapMeter:
    """Measures the mean gap over some context sizes; gives None for a prior without an exact answer."""

    def __init__(self, recipe: Recipe, num_sizes: int = 4) -> None:
        self._reference = exact_or_none(recipe.prior)
        self._tasks: list[Batch] = []
        if self._reference is not None:
            low, high = recipe.data.context_sizes.range(recipe.num_points)
            with seeded(recipe.seed, GAP_STREAM):
                for size in sorted({round(low + (high - low) * part / (num_sizes - 1)) for part in range(num_sizes)}):
                    count = max(FEWEST, min(MOST, MOST_POINTS // (size + 1)))
                    self._tasks.append(recipe.prior.sample(count, size + 1).split(size))

    @torch.no_grad()
    def measure(self, network: Model) -> float | None:
        """The mean gap in nats on the fixed datasets."""
        if self._reference is None:
            return None
        device = next(network.parameters()).device
        network, tasks = network.in_model_units(), [task.to(device) for task in self._tasks]
        return sum(metrics.gap(network, self._reference, task).mean for task in tasks) / len(tasks)
