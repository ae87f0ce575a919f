"""Early reports and early stops: the loss on tasks that training leaves out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from priorfit.data import Batch
from priorfit.network import Model, NetworkSettings
from priorfit.priors import Prior
from priorfit.seeding import seeded
from priorfit.training.batches import JUDGE_STREAM, count_of
from priorfit.training.recipe import Recipe

State = Mapping[str, Tensor]

NUM_SIZES = 4
"""Context sizes that a judge asks about."""
PATIENCE, JUDGED = 8, 16
"""Readings without a better one after which a network that answers before it is trained is trained no more, and the
datasets of each size that it is judged by."""
NUM_DATASETS = 16
"""Datasets of each size; the same ones at each reading, so that differences are paired."""


@dataclass(frozen=True)
class EarlyStop:
    """Judge a training on ``tasks`` that it does not see, and end it after ``patience`` readings without a better one.

    The best weights at any reading, those of the start included, are the result. ``datasets`` of each of four context
    sizes judge, the same ones at each reading.
    """

    tasks: Prior
    patience: int = 5
    datasets: int = NUM_DATASETS


def kept_best(recipe: Recipe) -> EarlyStop | None:
    """What keeps the best weights, those of the start included, of a network that answers before it is trained."""
    solver = recipe.network.solver if isinstance(recipe.network, NetworkSettings) else None
    if solver is None or not solver.reads_prior:
        return None
    return EarlyStop(recipe.prior, patience=PATIENCE, datasets=JUDGED)


class Judge:
    """The mean loss on fixed datasets of left-out tasks, and the readings so far."""

    def __init__(self, settings: EarlyStop, recipe: Recipe) -> None:
        self.patience = settings.patience
        self.readings: list[tuple[int, float]] = []
        self.best: dict[str, Tensor] | None = None
        low, high = recipe.data.context_sizes.range(recipe.num_points)
        sizes = sorted({round(low + (high - low) * part / (NUM_SIZES - 1)) for part in range(NUM_SIZES)})
        with seeded(recipe.seed, JUDGE_STREAM):
            self._tasks = [judged_batch(settings, size, recipe) for size in sizes]

    @torch.no_grad()
    def measure(self, network: Model) -> float:
        """The mean loss of a query, each context size alike."""
        device = next(network.parameters()).device
        losses = [float(network.loss(task.to(device)).mean()) for task in self._tasks]
        return sum(losses) / len(losses)

    def note(self, step: int, loss: float, state: State) -> bool:
        """Keep a reading, and the weights if it is the best so far; tell whether it is."""
        is_best = not self.readings or loss < min(known for _, known in self.readings)
        self.readings.append((step, loss))
        if is_best:
            self.best = {name: value.detach().clone() for name, value in state.items()}
        return is_best

    def restore(self, readings: Sequence[Sequence[float]], best: State | None) -> None:
        """Go on from saved readings."""
        self.readings = [(int(step), float(loss)) for step, loss in readings]
        self.best = None if best is None else dict(best)

    @property
    def is_over(self) -> bool:
        """Whether the last readings brought nothing."""
        losses = [loss for _, loss in self.readings]
        return len(losses) > self.patience and min(losses[-self.patience :]) >= min(losses[: -self.patience])

    def summary(self) -> dict[str, float | int]:
        """For the card: the loss before, the best, and after which step."""
        if not self.readings:
            return {}
        step, loss = min(self.readings, key=lambda reading: reading[1])
        return {"before": self.readings[0][1], "best": loss, "best_step": step, "readings": len(self.readings)}


def judged_batch(settings: EarlyStop, num_context: int, recipe: Recipe) -> Batch:
    """The datasets of one context size; their latents are asked about one after the other, as joint draws do it."""
    num_queries = recipe.data.num_queries or max(1, recipe.num_points - num_context)
    batch = settings.tasks.sample_split(settings.datasets, num_context, num_queries)
    return replace(batch, chain=tuple(range(count_of(batch))))
