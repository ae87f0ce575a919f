"""One run in memory: network, optimisers, averaged weights, and the step they have reached."""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from priorfit.data import Batch
from priorfit.errors import TrainingError
from priorfit.network import Model
from priorfit.training.batches import draw_batch, loss_divisor
from priorfit.training.devices import Processes, StepLoss
from priorfit.training.optimiser import Optimisers
from priorfit.training.recipe import Recipe
from priorfit.training.schedule import learning_rate_factor
from priorfit.training.workers import Source

PATIENCE = 20
"""Consecutive steps without a finite loss and gradient after which a run gives up."""

LAST = 5
"""A run fails if its last steps, this many or all of them, had no finite loss and gradient."""


@dataclass(frozen=True)
class StepResult:
    """The loss and learning rate of a step, and whether its update was skipped."""

    loss: float
    learning_rate: float
    is_skipped: bool


class Trainer:
    """Takes training steps; the same for one process and for several."""

    def __init__(self, network: Model, recipe: Recipe, steps: int, group: Processes | None = None) -> None:
        self.network, self.recipe, self.steps = network, recipe, steps
        self.group = group or Processes()
        if recipe.data.micro_batches % self.group.count:
            raise TrainingError(
                f"micro_batches must be a multiple of the number of processes; got {recipe.data.micro_batches} "
                f"micro-batches for {self.group.count} processes."
            )
        self.source: Source = partial(draw_batch, recipe)
        self.optimisers = Optimisers(network, recipe.optimiser)
        self.step_loss = StepLoss(
            network, loss_divisor(recipe) * recipe.data.micro_batches, self.group, recipe.optimiser.precision
        )
        self.averaged = {name: weight.detach().clone() for name, weight in network.named_parameters()}
        self.step = 0
        self.skipped = 0
        self.fruitless = 0
        """Consecutive steps up to now with a loss or gradient that is not finite."""
        self._loss = math.nan

    def take_step(self) -> StepResult:
        """Draw data, descend, average; a gradient that is not finite changes nothing and is counted."""
        self.optimisers.zero_grad()
        loss = self.backward(self.step)
        factor = learning_rate_factor(self.step, self.steps, self.recipe.optimiser.warmup)
        is_skipped = self.optimisers.step(factor) is None
        self._count(is_skipped, loss)
        self._average()
        self.step += 1
        return StepResult(loss, factor * self.recipe.optimiser.learning_rate, is_skipped)

    def backward(self, step: int) -> float:
        """Gradients of a step's loss over all micro-batches; returns the mean loss of a query."""
        mine = self.group.micro_batches(self.recipe.data.micro_batches)
        most, total = self.recipe.data.num_queries or self.recipe.num_points, 0.0
        for micro_batch in mine:
            batch = self._on_device(self.source(step, micro_batch))
            with self.step_loss.unsynchronised(wait=micro_batch != mine[-1]):
                loss = self.step_loss(batch)
                loss.backward()
            total += loss.item() * most / batch.query_y.shape[-1]  # the loss has the same divisor for every n
        return total

    def _on_device(self, batch: Batch) -> Batch:
        device = next(self.network.parameters()).device
        return batch if batch.query_x.device == device else batch.to(device)

    def _count(self, is_skipped: bool, loss: float) -> None:
        self.skipped += is_skipped
        is_fruitless = self.group.any_of(is_skipped or not math.isfinite(loss))  # each process has its own loss
        self.fruitless = self.fruitless + 1 if is_fruitless else 0
        if self.fruitless >= PATIENCE:
            raise TrainingError(self._failure(f"in {PATIENCE} steps in a row, up to step {self.step}", loss))
        self._loss = loss

    def check_learned(self) -> None:
        """Refuse the result of a run that learned nothing, or lost what it had learned."""
        if self.fruitless >= min(LAST, self.step):
            raise TrainingError(self._failure(f"in the last {self.fruitless} of {self.step} steps", self._loss))
        if not all(bool(weight.isfinite().all()) for weight in self.result().values()):
            raise TrainingError(self._failure("in the last step", self._loss))

    def _failure(self, when: str, loss: float) -> str:
        return (
            f"the training learned nothing: its loss or gradient was not finite {when} (the loss "
            f"was {loss:g}). Look at the prior's targets (check_prior; values beyond 1e18 overflow when squared), at "
            'optimiser.learning_rate, and at a head whose support is bounded (tails="none").'
        )

    @torch.no_grad()
    def _average(self) -> None:
        decay = self.recipe.optimiser.averaging
        if decay:
            decay = min(decay, (1 + self.step) / (10 + self.step))  # so that the first weights have little influence
            torch._foreach_lerp_(list(self.averaged.values()), list(self.network.parameters()), 1 - decay)

    def result(self) -> dict[str, Tensor]:
        """The final weights and buffers, averaged where the recipe says so."""
        state = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        return state | self.averaged if self.recipe.optimiser.averaging else state
