"""Algorithm 1 of the paper: draw datasets, reveal n points, predict the others, descend."""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from priorfit.errors import CheckpointError, InputError, TrainingError
from priorfit.fields import check_fields
from priorfit.network import Model, ModelCard
from priorfit.network.binding import fingerprint
from priorfit.paths import usable_path
from priorfit.training.devices import Processes, training_device
from priorfit.training.gap import GapMeter, summary
from priorfit.training.interrupts import StopRequest
from priorfit.training.judge import EarlyStop, Judge
from priorfit.training.networks import start_network
from priorfit.training.plan import Clockwork, planned_steps
from priorfit.training.progress import Display, Reading
from priorfit.training.recipe import Recipe
from priorfit.training.resume import RunFolder, SavedState
from priorfit.training.trainer import StepResult, Trainer
from priorfit.training.workers import batch_source

GAP_READINGS = 20
"""How many times in a run the gap to the exact answer is measured."""


@dataclass(frozen=True)
class RunOptions:
    """The folder, device and workers of a run; nothing here changes its result.

    ``folder=None`` keeps everything in memory. ``checkpoint_seconds=0`` saves after every step. ``workers`` is
    how many background processes draw the prior (with one thread each); a script that asks for some needs the usual
    ``if __name__ == "__main__":``.
    """

    folder: Path | None = None
    resume: bool = False
    device: str | None = None
    checkpoint_seconds: float = 120.0
    workers: int = 0
    resume_by: str = "resume=True"
    """How a user resumes a run, for messages; Python and the command line spell it differently."""

    def __post_init__(self) -> None:
        if self.folder is not None:
            object.__setattr__(self, "folder", usable_path(self.folder))
        check_fields(self)
        if self.checkpoint_seconds < 0:
            raise InputError(f"checkpoint_seconds must be at least 0; got {self.checkpoint_seconds}.")
        if self.resume and self.folder is None:
            raise TrainingError("a run is resumed from its folder; none was given.")

    def at(self, folder: Path | None, resume: bool) -> "RunOptions":
        """The same options in another folder."""
        return replace(self, folder=folder, resume=resume)


class Interrupted(KeyboardInterrupt):
    """A run was stopped between two steps; what it had is saved where it has a folder."""


class Run:
    """A training run from its first step, or from where it was saved, to its model."""

    def __init__(
        self,
        recipe: Recipe,
        options: RunOptions,
        group: Processes,
        start: Model | None,
        stop: EarlyStop | None = None,
    ) -> None:
        device = training_device(options.device, group)
        self.recipe, self.options, self.group = recipe, options, group
        self.folder = RunFolder(options.folder) if options.folder is not None else None
        saved = self._saved()
        network = start_network(recipe, start, is_resumed=saved is not None).to(device)
        steps = planned_steps(recipe, network, group) if saved is None else saved.steps
        self.trainer = Trainer(network, recipe, steps, group)
        self.seconds = 0.0
        self.origin = None if start is None else origin_of(start)
        self.known = start.card.trained_context if start is not None and recipe.prior.shows_as_read else None
        self.judge = None if stop is None or not group.is_first else Judge(stop, recipe)
        self.left_out: float | None = None
        if saved is not None:
            self._restore(saved)
        self.gap_meter = GapMeter(recipe) if group.is_first else None
        self.gap: float | None = None

    def _saved(self) -> SavedState | None:
        if self.options.resume:
            assert self.folder is not None  # the options say so
            saved = self.folder.load()
            if saved.config["recipe"] != self.recipe.description():
                raise TrainingError(
                    f"the run in {self.folder.path} was started with another recipe. Resume it with its own, or "
                    "start a new run in another folder."
                )
            if self.group.is_first:
                self.folder.drop_metrics_after(saved.step)
            return saved
        if self.folder is not None and self.group.is_first:
            self.folder.begin(self.options.resume_by)
        return None

    def _restore(self, saved: SavedState) -> None:
        trainer = self.trainer
        try:
            trainer.network.load_state_dict(saved.network)
            trainer.optimisers.load_tensors(saved.optimiser)
            with torch.no_grad():
                for name, weight in trainer.averaged.items():
                    weight.copy_(saved.averaged[name])
        except (KeyError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"the checkpoint in {self.options.folder} does not fit its recipe: {error}"
            ) from error
        trainer.step, trainer.skipped, self.seconds = saved.step, saved.skipped, saved.seconds
        trainer.fruitless = saved.fruitless
        self.origin = saved.config.get("started_from")
        if self.judge is not None and self.folder is not None:
            self.judge.restore(saved.config.get("judged", []), self.folder.load_best())

    @contextmanager
    def data(self) -> Iterator[None]:
        """Keep the background workers that draw batches, if the options ask for some, while this is open."""
        trainer, mine = self.trainer, self.group.micro_batches(self.recipe.data.micro_batches)
        with batch_source(self.recipe, self.options.workers, trainer.step, mine) as trainer.source:
            yield

    def go(self, display: Display, request: StopRequest) -> None:
        """Take all steps that are left; save before the first, at intervals, and on a request to stop."""
        trainer = self.trainer
        if trainer.step == 0:
            if self.judge is not None and not self.judge.readings:
                self._judge()
            self._save()  # so that a run killed before its first checkpoint can be resumed too
        started = time.perf_counter() - self.seconds
        saved_at = time.perf_counter()
        clockwork = Clockwork(self.recipe.budget, self.group)
        while trainer.step < min(trainer.steps, self.recipe.budget.stop or trainer.steps):
            result = trainer.take_step()
            self.seconds = time.perf_counter() - started
            trainer.steps = clockwork.steps(trainer.step, trainer.steps, self.seconds)
            self._report(result, display)
            if self.group.any_of(self.judge is not None and self.judge.is_over):
                return
            is_stopping = self.group.any_of(request.is_made)  # the signal may reach processes at different steps
            if time.perf_counter() - saved_at >= self.options.checkpoint_seconds or is_stopping:
                self._save()
                saved_at = time.perf_counter()
            if is_stopping:
                where = (
                    ""
                    if self.folder is None
                    else f"; it is saved in {self.folder.path}, go on with {self.options.resume_by}"
                )
                raise Interrupted(f"stopped after step {trainer.step} of {trainer.steps}{where}.")

    def _report(self, result: StepResult, display: Display) -> None:
        if not self.group.is_first:
            return
        trainer = self.trainer
        is_reading = trainer.step % max(1, trainer.steps // GAP_READINGS) == 0 or trainer.step == trainer.steps
        if is_reading and self.gap_meter is not None:
            self.gap = self.gap_meter.measure(trainer.network)
        if is_reading:
            self._judge()
        datasets = trainer.step * self.recipe.data.batch_size * self.recipe.data.micro_batches
        reading = Reading(
            step=trainer.step,
            steps=trainer.steps,
            loss=result.loss,
            gap=self.gap,
            datasets_per_second=datasets / self.seconds,
            seconds=self.seconds,
            learning_rate=result.learning_rate,
            skipped=trainer.skipped,
            left_out=self.left_out,
        )
        display.show(reading)
        if self.folder is not None:
            self.folder.log(reading.row())

    def _judge(self) -> None:
        """Measure the loss on left-out tasks, if there are some, with the weights that the run would end in now."""
        if self.judge is None:
            return
        network, state = self.trainer.network, self.trainer.result()
        current = {name: value.detach().clone() for name, value in network.state_dict().items()}
        network.load_state_dict(state)
        self.left_out = self.judge.measure(network)
        network.load_state_dict(current)
        if self.judge.note(self.trainer.step, self.left_out, state) and self.folder is not None:
            self.folder.save_best(state)

    def _save(self) -> None:
        if self.folder is None or not self.group.is_first:
            return
        trainer = self.trainer
        self.folder.save(
            SavedState(
                step=trainer.step,
                steps=trainer.steps,
                seconds=self.seconds,
                skipped=trainer.skipped,
                network=dict(trainer.network.state_dict()),
                optimiser=trainer.optimisers.tensors(),
                averaged=dict(trainer.averaged),
                config={
                    "recipe": self.recipe.description(),
                    "started_from": self.origin,
                    **({} if self.judge is None else {"judged": self.judge.readings}),
                },
                fruitless=trainer.fruitless,
            )
        )

    def finish(self) -> Model:
        """The model, with its card; saved in the run's folder as ``model``."""
        trainer = self.trainer
        network = trainer.network
        trainer.check_learned()
        self._save()  # before averaged weights take the place of the last ones
        best = None if self.judge is None else self.judge.best
        network.load_state_dict(trainer.result() if best is None else best)
        network.card = card_of(self.recipe, trainer, self.seconds, self.origin)
        if self.known is not None:  # fine-tuning leaves the sizes of contexts that the model knew
            network.card = network.card.with_contexts(*self.known)
        if self.judge is not None:
            network.card.training["left_out"] = self.judge.summary()
        if self.gap_meter is not None and self.gap_meter.has_truth:
            network.card.training["gap"] = summary(self.gap_meter.estimate(network))
        if self.folder is not None and self.group.is_first:
            network.save(self.folder.model)
        return network.frozen()


def opening_words(recipe: Recipe) -> str:
    """The first line that a run prints, before its first step."""
    minutes = recipe.budget.minutes
    plan = "" if minutes is None else f" and timing some steps to plan {minutes:g} minutes"
    return f"{recipe.name}: building the network{plan} ..."


def origin_of(start: Model) -> dict[str, Any]:
    """What the card keeps of the model that a run starts from: its name, recipe and own training."""
    return {"name": start.card.name, "recipe": start.card.recipe, "training": start.card.training}


def card_of(recipe: Recipe, trainer: Trainer, seconds: float, origin: dict[str, Any] | None) -> ModelCard:
    """The card of the finished model; ``origin`` describes the model that the run started from, if any."""
    description = recipe.description()
    return ModelCard(
        name=recipe.name,
        prior=description["prior"],
        trained_context=recipe.data.context_sizes.range(recipe.num_points),
        recipe=description,
        training={
            "steps": trainer.step,
            "datasets": trainer.step * recipe.data.batch_size * recipe.data.micro_batches,
            "seconds": round(seconds, 3),
            "skipped_steps": trainer.skipped,
            "processes": trainer.group.count,
            "threads": torch.get_num_threads(),
            "machine": platform.machine(),
            "torch": torch.__version__,
            **({"fingerprint": fingerprint(recipe.prior)} if recipe.prior.latents else {}),
            **({} if origin is None else {"started_from": origin}),
        },
    )
