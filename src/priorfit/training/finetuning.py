"""Fine-tuning: the same training from a model's weights, on tasks of one's own mixed with the model's prior."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Batch, Datasets, Outcome
from priorfit.description import build
from priorfit.errors import InputError, PriorfitError
from priorfit.fields import check_fields
from priorfit.network import Model, Problem
from priorfit.network.reading import reading_of
from priorfit.paths import usable_path
from priorfit.priors import PRIORS, Prior, ResampledTables
from priorfit.priors.inputs import Inputs
from priorfit.training.context_sizes import UniformSizes
from priorfit.training.fit import PLACEHOLDER, screen
from priorfit.training.judge import EarlyStop
from priorfit.training.loop import RunOptions
from priorfit.training.progress import Silent
from priorfit.training.recipe import Budget, DataSettings, Recipe, file_name, recipe_from
from priorfit.training.stages import train
from priorfit.training.tasks import Tasks, split_tasks

MOST_POINTS = 4096
"""A number of points that any distribution of context sizes allows."""

SLOWER = 0.2
"""The learning rate of fine-tuning in units of that of the model's own training."""


@dataclass(frozen=True)
class Shown(Prior):
    """Tasks as a model sees them, in its units and padded; a share ``keep`` of the batches are of its ``original``."""

    tasks: Prior
    problem: Problem
    original: Prior | None = None
    keep: float = 0.0

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)

    draws_own_inputs = True
    shares_latents = True
    shows_as_read = True

    def __post_init__(self) -> None:
        """Check that a model of the problem can answer the tasks."""
        check_fields(self)
        if self.tasks.outcome != self.problem.outcome:
            raise InputError(
                f"the tasks have {self.tasks.outcome}, the model {self.problem.outcome}; both must be the same."
            )
        fewest = self.tasks.fewest_features or self.tasks.num_features
        if not self.problem.fewest_features <= fewest <= self.tasks.num_features <= self.problem.num_features:
            found = f"{fewest} to " if fewest < self.tasks.num_features else ""
            raise InputError(f"the model takes {self.problem.takes}; the tasks have {found}{self.tasks.num_features}.")
        derived = {"num_features": self.problem.num_features, "outcome": self.problem.outcome}
        for name, value in (derived | {"inputs": (self.original or self.tasks).inputs}).items():
            object.__setattr__(self, name, value)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        return self.sample(*x.shape[:2])

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`; units are those of all points."""
        batch = self.sample_split(batch_size, num_points, 1)
        return Datasets(batch.context_x, batch.context_y)

    def sample_split(self, batch_size: int, num_context: int, num_queries: int) -> Batch:
        """See `Prior.sample_split`."""
        if self.original is not None and bool(torch.rand(()) < self.keep):
            return self.original.sample_split(batch_size, num_context, num_queries)
        return shown(self.tasks.sample_split(batch_size, num_context, num_queries), self.problem)


def shown(batch: Batch, problem: Problem) -> Batch:
    """A batch in the model's units, as `PFN.condition` reads it; networks that know gaps take columns as they are."""
    if problem.missing:
        return batch
    reading = reading_of(batch.context_x, batch.context_y, problem)
    dtype = batch.context_x.dtype
    return Batch(
        reading.inputs(batch.context_x).to(dtype),
        reading.targets(batch.context_y).to(dtype),
        reading.inputs(batch.query_x).to(dtype),
        reading.targets(batch.query_y).to(dtype),
    )


def finetune(  # noqa: PLR0913  as many names as `fit` has
    model: Model,
    tasks: Tasks,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    num_points: int | None = None,
    learning_rate: float | None = None,
    keep: float = 0.5,
    left_out: Prior | float = 0.2,
    patience: int = 5,
    seed: int = 0,
    progress: bool = True,
    folder: str | Path | None = None,
    resume: bool = False,
    device: str | None = None,
) -> Model:
    """Go on training a model on tasks of your own; the model that is given stays as it is.

    Twenty times in a run the loss on left-out tasks is measured. The best weights then, perhaps those of the start,
    become the result; ``result.card.training["left_out"]`` tells the loss before and at the best.

    Args:
        model: What `fit`, `train` or `load` returned.
        tasks: A prior such as `Empirical`, tables ``(x, y)`` in a list (or images and labels), or a folder: ``*.csv``
            with the target in the last column, or images in ``GROUP/CLASS/*.png``.
        minutes: The budget; 2 where neither minutes nor steps, the budget as a number of steps, are given.
        steps: See ``minutes``.
        num_points: N: contexts of up to N - 1 points; by default as in the model's own training.
        learning_rate: By default a fifth of that of the model's own training.
        keep: The share of batches that are drawn from the model's own prior, against forgetting; 0 for none.
        left_out: A prior to judge by, or the share of the tables that judge and are not trained on.
        patience: So many readings in a row without a better one end the run.
        seed: Decides data and what is left out.
        progress: As in `fit`, like ``folder``, ``resume`` and ``device``.
        folder: See `fit`.
        resume: See `fit`.
        device: See `fit`.

    >>> import priorfit as pf
    >>> model = pf.fit(pf.GaussianProcess(), num_points=10, steps=2, progress=False)
    >>> tables = [(torch.rand(30, 1), torch.randn(30)) for _ in range(4)]
    >>> tuned = pf.finetune(model, tables, steps=2, progress=False)
    >>> sorted(tuned.card.training["left_out"])
    ['before', 'best', 'best_step', 'readings']
    """
    check_arguments(model, keep, patience)
    split = split_tasks(tasks, model.problem, left_out, seed)
    budget = Budget(steps=steps, minutes=minutes if minutes or steps else 2.0)
    recipe = replace(tuning_recipe(model, split.shown, keep, num_points), budget=budget, seed=seed)
    if learning_rate is not None:
        recipe = replace(recipe, optimiser=replace(recipe.optimiser, learning_rate=learning_rate))
    options = RunOptions(None if folder is None else usable_path(folder), resume, device)
    judged = None if split.left_out is None else EarlyStop(Shown(split.left_out, model.problem), patience)
    return train(recipe, options, screen() if progress else Silent(), model, judged)


def check_arguments(model: Model, keep: float, patience: int) -> None:
    """Refuse what no fine-tuning can do."""
    if not isinstance(model, Model):
        raise InputError(f"finetune takes a model; got {type(model).__name__}. Load one with load(name or path).")
    if not 0 <= keep < 1:
        raise InputError(f"keep must be a share from 0 to below 1; got {keep}.")
    if patience < 1:
        raise InputError(f"patience must be at least 1; got {patience}.")


def tuning_recipe(model: Model, tasks: Prior, keep: float, num_points: int | None) -> Recipe:
    """The recipe of a fine-tuning, but for its budget and seed."""
    base = own_recipe(model, num_points)
    data, most = fitting_data(base, tasks)
    return replace(
        base,
        prior=Shown(tasks, model.problem, own_prior(model) if keep else None, keep),
        num_points=most,
        name=file_name(f"{model.card.name}-tuned"),
        data=data,
        optimiser=replace(base.optimiser, learning_rate=SLOWER * base.optimiser.learning_rate),
    )


def own_recipe(model: Model, num_points: int | None = None) -> Recipe:
    """The recipe that a model was trained by, with a placeholder for its prior, and perhaps another N."""
    known = {name: value for name, value in model.card.recipe.items() if name not in ("stages", "prior")}
    base = {"num_points": 100, "budget": {"steps": 1}, **known, "prior": PLACEHOLDER}
    base |= {} if num_points is None else {"num_points": num_points}
    return replace(recipe_from(base), network=model.settings, units=model.problem.units)


def own_prior(model: Model) -> Prior:
    """The prior that a model began with, or an error that says what to do where it cannot be built."""
    try:
        return build(first_prior(model.card.recipe, model.card.training), PRIORS)
    except (KeyError, PriorfitError) as error:
        raise InputError(
            "the prior of this model is not in its file, so that it cannot be mixed in against forgetting: "
            f"{error}. Give keep=0, or a Mixture of your tasks and the prior as tasks, and keep=0."
        ) from error


def first_prior(recipe: dict[str, Any], training: dict[str, Any]) -> dict[str, Any]:
    """The description of the prior of a card; of a model that was fine-tuned, that of the model it started from."""
    description = recipe["prior"]
    if description["type"] != Shown.__name__:
        return description
    start = training["started_from"]
    return first_prior(start["recipe"], start["training"])


def fitting_data(base: Recipe, tasks: Prior) -> tuple[DataSettings, int]:
    """Data settings and N of the model's own training, as far as tables have rows enough."""
    data, num_points = replace(base.data, targets="sampled", contexts=None, growth=None), base.num_points
    if isinstance(tasks, ResampledTables):
        queries = min(data.num_queries or 1, max(1, tasks.most_points // 2))
        data = data if data.num_queries is None else replace(data, num_queries=queries)
        num_points = min(num_points, tasks.most_points - (queries - 1))
    smallest = base.data.context_sizes.range(MOST_POINTS)[0]
    if smallest >= num_points:
        data = replace(data, context_sizes=UniformSizes())
    return data, num_points
