"""A recipe: everything that decides a training run, as frozen dataclasses and as TOML."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from priorfit.baselines.neural_process.settings import NeuralProcessSettings
from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import RecipeError
from priorfit.fields import check_fields
from priorfit.network import NETWORK_TYPES, NetworkSettings, TableSettings
from priorfit.network.older_files import recipe_in
from priorfit.paths import usable_path
from priorfit.priors import PRIORS, Prior
from priorfit.training.context_sizes import (
    ContextSizes,
    Growth,
    LogUniformSizes,
    PaperSizes,
    PowerSizes,
    UniformSizes,
)
from priorfit.training.optimiser import OptimiserSettings
from priorfit.training.other_contexts import OtherContexts

MOST_POINTS = 2**24
"""Most points of a dataset: `torch.multinomial`, which draws context sizes, takes no more weights."""

MOST_LETTERS = 100
"""Most letters of a recipe's name, so that its folder can be made on any file system."""

WINDOWS_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}
"""Names that no file can have on Windows."""


BUDGETS = {"steps", "datasets", "minutes"}
"""The units of a budget, which has one of them; a stage's budget replaces the recipe's as a whole."""


@dataclass(frozen=True)
class Budget:
    """How long to train: exactly one of steps, datasets and minutes.

    ``stop`` ends a run at an earlier step, while its learning rate follows the schedule of all steps.
    """

    steps: int | None = None
    datasets: int | None = None
    minutes: float | None = None
    stop: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        given = [value for value in (self.steps, self.datasets, self.minutes) if value is not None]
        if len(given) != 1 or given[0] <= 0:
            raise RecipeError(
                "a budget needs exactly one positive value of steps, datasets, minutes; "
                f"got steps={self.steps}, datasets={self.datasets}, minutes={self.minutes}."
            )
        if self.stop is not None and not (self.steps is not None and 1 <= self.stop <= self.steps):
            raise RecipeError(f"stop is one of a budget's steps; got stop={self.stop}, steps={self.steps}.")


@dataclass(frozen=True)
class DataSettings:
    """The data of a training step: ``micro_batches`` times ``batch_size`` datasets with one n for all.

    ``num_queries=None`` predicts all N - n points outside of the context, as in the paper; a number of queries
    is drawn in addition to n. ``targets="expected"`` takes the expectation over y where the prior knows it.
    ``same_n=False`` draws an n for each micro-batch. ``growth`` lets N grow during the first steps.
    ``contexts`` replaces some of the prior's contexts by others, with the prior's own answers to them.
    """

    batch_size: int = 64
    micro_batches: int = 1
    num_queries: int | None = None
    context_sizes: ContextSizes = UniformSizes()
    targets: Literal["sampled", "expected"] = "sampled"
    same_n: bool = True
    growth: Growth | None = None
    contexts: OtherContexts | None = None

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if self.batch_size < 1 or self.micro_batches < 1 or (self.num_queries is not None and self.num_queries < 1):
            raise RecipeError(f"batch_size, micro_batches and num_queries must be at least 1; got {self}.")


@dataclass(frozen=True)
class Stage:
    """The settings in which a stage differs from its recipe; None takes the recipe's."""

    budget: Budget | None = None
    prior: Prior | None = None
    num_points: int | None = None
    seed: int | None = None
    data: DataSettings | None = None
    optimiser: OptimiserSettings | None = None


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training. The same recipe and seed give the same weights on the same machine.

    With ``stages`` the training is a sequence of runs: the first from random weights, each other from the one before.
    They share the network; the recipe's own values are those that a stage does not change. Another prior must have the
    same columns and outcome.
    """

    prior: Prior
    num_points: int
    budget: Budget
    name: str = "unnamed"
    seed: int = 0
    units: Literal["fixed", "free"] = "fixed"
    network: NetworkSettings | TableSettings | NeuralProcessSettings = field(default_factory=NetworkSettings)
    data: DataSettings = field(default_factory=DataSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    stages: Sequence[Stage] | None = None

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if self.stages is not None:
            object.__setattr__(self, "stages", tuple(self.stages))
            if not self.stages:
                raise RecipeError("a recipe with stages needs at least one; got none. Leave stages out, or add some.")
            for stage in self.stage_recipes():
                self._check_prior(stage.prior)
        if self.num_points < 1:
            raise RecipeError(f"num_points must be at least 1; got {self.num_points}.")
        if self.num_points > MOST_POINTS:
            raise RecipeError(f"num_points must be at most {MOST_POINTS:,}; got {self.num_points}.")
        if self.seed < 0:
            raise RecipeError(f"seed must be at least 0; got {self.seed}.")
        if file_name(self.name) != self.name:
            raise RecipeError(
                "the name of a recipe becomes that of a folder: letters, digits, spaces and . _ + - within it; got "
                f"{self.name!r}. Such as {file_name(self.name)!r}."
            )

    def _check_prior(self, other: Prior) -> None:
        """Refuse a stage's prior that another network would be needed for."""
        if (other.num_features, other.outcome) != (self.prior.num_features, self.prior.outcome):
            raise RecipeError(
                "a stage's prior must have the columns and the outcome of the recipe's: "
                f"{self.prior.num_features}, {self.prior.outcome}; got {other.num_features}, {other.outcome}."
            )

    def stage_recipes(self) -> "list[Recipe]":
        """The recipe of each stage, which has none itself; of a recipe without stages, the recipe alone."""
        if self.stages is None:
            return [self]
        own = ({field.name: getattr(stage, field.name) for field in fields(stage)} for stage in self.stages)
        changes = ({name: value for name, value in each.items() if value is not None} for each in own)
        return [replace(self, stages=None, **each) for each in changes]

    def description(self) -> dict[str, Any]:
        """The recipe as plain data; TOML and checkpoints hold it."""
        return describe(self)


def file_name(text: str) -> str:
    """The text as the name of a folder, on any system: what such a name may not hold is replaced or dropped.

    >>> file_name("gp-rbf-1d"), file_name("../../evil"), file_name("<lambda>"), file_name(""), file_name("con")
    ('gp-rbf-1d', 'evil', 'lambda', 'unnamed', 'con_')
    """
    name = re.sub(r"[^\w.+ -]+", "_", text).strip("._ -")[:MOST_LETTERS].rstrip("._ -")
    return f"{name}_" if name.split(".")[0].upper() in WINDOWS_DEVICES else name or "unnamed"


RECIPE_TYPES: dict[str, type] = {
    **PRIORS,
    **NETWORK_TYPES,
    NetworkSettings.__name__: NetworkSettings,
    TableSettings.__name__: TableSettings,
    **{
        kind.__name__: kind
        for kind in (
            Budget,
            DataSettings,
            Growth,
            OtherContexts,
            Recipe,
            Stage,
            OptimiserSettings,
            UniformSizes,
            PaperSizes,
            LogUniformSizes,
            PowerSizes,
        )
    },
    NeuralProcessSettings.__name__: NeuralProcessSettings,
    **{kind.__name__: kind for kind in (Real, Classes)},
}


def recipe_from(description: dict[str, Any]) -> Recipe:
    """The recipe that plain data describes; by present names or older ones; an unknown or missing setting is named.

    The tables of a stage are laid over those of the recipe, so it names only what is different. A recipe whose stages
    all have a budget needs none of its own.
    """
    if not isinstance(description, dict):
        raise RecipeError(f"a recipe is described by a dict, a table of TOML; got {description!r}.")
    description = recipe_in(description)
    whole = {"type": "Recipe", **description}
    stages = description.get("stages")
    if isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages):
        whole["stages"] = [
            {name: overlaid(description.get(name), new) for name, new in each.items()} for each in stages
        ]
        if "budget" not in description and stages and "budget" in stages[-1]:
            whole["budget"] = stages[-1]["budget"]
    recipe = build(whole, RECIPE_TYPES)
    assert isinstance(recipe, Recipe)
    return recipe


def overlaid(old: Any, new: Any) -> Any:
    """A value of a stage laid over that of its recipe: tables of one type by field, all else as a whole.

    >>> overlaid({"batch_size": 4, "targets": "expected"}, {"batch_size": 12})
    {'batch_size': 12, 'targets': 'expected'}
    >>> overlaid({"type": "LogUniformSizes", "offset": 100.0}, {"type": "UniformSizes"})
    {'type': 'UniformSizes'}
    """
    is_table = isinstance(old, dict) and isinstance(new, dict)
    if not is_table or new.get("type", old.get("type")) != old.get("type") or new.keys() & BUDGETS:
        return new
    return {**old, **{name: overlaid(old.get(name), value) for name, value in new.items()}}


def read_recipe(path: str | Path) -> Recipe:
    """The recipe of a TOML file."""
    file = usable_path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecipeError(f"no recipe at {path}; expected a TOML file.") from None
    except OSError as error:
        raise RecipeError(f"{path} cannot be read as a recipe, a TOML file: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is no text, so it is no recipe; expected a TOML file in UTF-8.") from error
    try:
        return recipe_from(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise RecipeError(f"{path} is nested too deeply to be a recipe.") from error
