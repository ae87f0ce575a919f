"""A training of one stage or several: the first starts from random weights, each next from those of the one before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priorfit.checkpoint import holds_checkpoint
from priorfit.errors import InputError, TrainingError
from priorfit.network import Model
from priorfit.training.devices import Processes, processes, training_device
from priorfit.training.interrupts import stop_requests
from priorfit.training.judge import EarlyStop
from priorfit.training.locks import locked
from priorfit.training.loop import Interrupted, Run, RunOptions, opening_words
from priorfit.training.memory import check_batch, readable_memory_errors
from priorfit.training.networks import load_network
from priorfit.training.progress import Display, Silent, Staged
from priorfit.training.recipe import Recipe
from priorfit.training.resume import RunFolder


def train(
    recipe: Recipe,
    options: RunOptions | None = None,
    display: Display | None = None,
    start: Model | None = None,
    stop: EarlyStop | None = None,
) -> Model:
    """Train a network by a recipe, stage after stage, from random weights or from those of ``start``.

    The folder of a recipe with stages holds one of each stage, ``stage-1`` and so on, and ``model`` of the last. A run
    that was stopped, or killed, goes on with the stage that it was in. With ``stop`` each run ends early where it no
    longer gains on tasks that it does not see, and the best weights are its result.
    """
    if not isinstance(recipe, Recipe):
        raise InputError(f"train takes a Recipe; got {recipe!r}. Read one from a TOML file with read_recipe(path).")
    if start is not None and not isinstance(start, Model):
        raise InputError(f"a training starts from a model; got {start!r}. Load one with load(name or path).")
    options = options or RunOptions()
    with processes() as group, readable_memory_errors(), readable_stop(options):
        training = Training(recipe, options, group, stop)
        shown = display if display is not None and group.is_first else Silent()
        shown.announce(opening_words(recipe))  # before the first steps: planning a budget in minutes takes a while
        with claimed_folder(options, group), shown:
            return training.go(shown, start)


class Training:
    """The stages of a recipe, each a `Run` with a place of its own."""

    def __init__(self, recipe: Recipe, options: RunOptions, group: Processes, stop: EarlyStop | None = None) -> None:
        """Refuse what this machine cannot train, before any folder is made."""
        self.stages, self.options, self.group, self.stop = recipe.stage_recipes(), options, group, stop
        training_device(options.device, group)
        for stage in self.stages:
            check_batch(stage)

    def go(self, display: Display, start: Model | None) -> Model:
        """Train all stages that are left, and give the model of the last."""
        done = self._num_done()
        model = self._finished(done - 1) if done else start
        for index in range(done, len(self.stages)):
            model = self._train(index, display, model)
        assert model is not None  # there is at least one stage
        if len(self.stages) > 1 and self.options.folder is not None and self.group.is_first:
            model.save(self.options.folder / "model")
        return model

    def _train(self, index: int, display: Display, start: Model | None) -> Model:
        shown = display if len(self.stages) == 1 else Staged(display, f"stage {index + 1}/{len(self.stages)}")
        run = Run(self.stages[index], self._options(index), self.group, start, self.stop)
        with stop_requests() as request, run.data():
            run.go(shown, request)
        return run.finish()

    def _place(self, index: int) -> Path | None:
        folder = self.options.folder
        return folder if folder is None or len(self.stages) == 1 else folder / f"stage-{index + 1}"

    def _options(self, index: int) -> RunOptions:
        """The options of one stage, which resumes from its own checkpoint if there is one; the first must have one."""
        place = self._place(index)
        if not self.options.resume or index == 0 or place is None:
            return self.options.at(place, self.options.resume)
        is_begun = self.group.same_everywhere(int(holds_checkpoint(place / "checkpoint")))
        return self.options.at(place, resume=bool(is_begun))

    def _num_done(self) -> int:
        """How many stages are complete, the same in all processes; a single stage is resumed by its own run."""
        folder = self.options.folder
        if not self.options.resume and folder is not None and self.group.is_first:
            RunFolder(folder).begin(self.options.resume_by)
        if not self.options.resume or len(self.stages) == 1:
            return 0
        done = 0
        while done < len(self.stages) and self._is_done(done):
            done += 1
        return self.group.same_everywhere(done)

    def _is_done(self, index: int) -> bool:
        place = self._place(index)
        return place is not None and holds_checkpoint(place / "model")

    def _finished(self, index: int) -> Model:
        """The model that a stage ended in; it must be the one of this recipe."""
        place, recipe = self._place(index), self.stages[index]
        assert place is not None  # only a training with a folder is resumed
        model = load_network(recipe, place / "model")
        if model.card.recipe != recipe.description():
            raise TrainingError(
                f"stage {index + 1} in {self.options.folder} was trained with another recipe. Resume the training with "
                "its own, or start a new one in another folder."
            )
        return model


@contextmanager
def claimed_folder(options: RunOptions, group: Processes) -> Iterator[None]:
    """Make the folder of a training, if it has one, and lock it against other trainings while this is open."""
    if options.folder is None or not group.is_first:
        yield
        return
    if not options.resume:
        RunFolder(options.folder).make()
    elif not RunFolder(options.folder).holds_run():
        raise TrainingError(f"there is no run in {options.folder} to go on with. Check the path, or start a new run.")
    with locked(options.folder):
        yield


@contextmanager
def readable_stop(options: RunOptions) -> Iterator[None]:
    """Ctrl-C outside of the steps, or for the second time, also says how to resume."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        where = (
            "" if options.folder is None else f"; what was saved is in {options.folder}, go on with {options.resume_by}"
        )
        raise Interrupted(f"stopped at once{where}.") from None
