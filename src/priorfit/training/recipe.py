"""A recipe: everything that decides a training run, as frozen dataclasses and as TOML."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from priorfit.baselines.neural_process_settings import NeuralProcessSettings
from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import RecipeError
from priorfit.network import NETWORK_TYPES, NetworkSettings
from priorfit.priors import PRIORS, Prior
from priorfit.training.context_sizes import ContextSizes, Growth, LogUniformSizes, PaperSizes, UniformSizes
from priorfit.training.optimiser import OptimiserSettings


@dataclass(frozen=True)
class Budget:
    """How long to train: exactly one of steps, datasets and minutes."""

    steps: int | None = None
    datasets: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.steps, self.datasets, self.minutes) if value is not None]
        if len(given) != 1 or given[0] <= 0:
            raise RecipeError(
                "a budget needs exactly one positive value of steps, datasets, minutes; "
                f"got steps={self.steps}, datasets={self.datasets}, minutes={self.minutes}."
            )


@dataclass(frozen=True)
class DataSettings:
    """What a training step draws: ``micro_batches`` times ``batch_size`` datasets with one n for all.

    ``num_queries=None`` asks about all N - n points that are not revealed, as in the paper; a number is drawn
    on top of n, whatever n is. ``targets="expected"`` takes the expectation over y where the prior knows it.
    ``one_size=False`` draws an n for each micro-batch. ``growth`` lets N grow during the first steps.
    """

    batch_size: int = 64
    micro_batches: int = 1
    num_queries: int | None = None
    context_sizes: ContextSizes = UniformSizes()
    targets: Literal["sampled", "expected"] = "sampled"
    one_size: bool = True
    growth: Growth | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.micro_batches < 1 or (self.num_queries is not None and self.num_queries < 1):
            raise RecipeError(f"batch_size, micro_batches and num_queries must be at least 1; got {self}.")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a run. The same recipe and seed give the same weights on the same machine."""

    prior: Prior
    num_points: int
    budget: Budget
    name: str = "unnamed"
    seed: int = 0
    units: Literal["fixed", "free"] = "fixed"
    network: NetworkSettings | NeuralProcessSettings = field(default_factory=NetworkSettings)
    data: DataSettings = field(default_factory=DataSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)

    def __post_init__(self) -> None:
        if self.num_points < 1:
            raise RecipeError(f"num_points must be at least 1; got {self.num_points}.")
        if self.seed < 0:
            raise RecipeError(f"seed must be at least 0; got {self.seed}.")

    def description(self) -> dict[str, Any]:
        """The recipe as plain data; TOML and checkpoints hold it."""
        return describe(self)


RECIPE_TYPES: dict[str, type] = {
    **PRIORS,
    **NETWORK_TYPES,
    **{
        kind.__name__: kind
        for kind in (Budget, DataSettings, Growth, Recipe, OptimiserSettings, UniformSizes, PaperSizes, LogUniformSizes)
    },
    NeuralProcessSettings.__name__: NeuralProcessSettings,
    **{kind.__name__: kind for kind in (Real, Classes)},
}


def recipe_from(description: dict[str, Any]) -> Recipe:
    """The recipe that plain data describes; an unknown or missing setting is named."""
    recipe = build({"type": "Recipe", **description}, RECIPE_TYPES)
    assert isinstance(recipe, Recipe)
    return recipe


def read_recipe(path: str | Path) -> Recipe:
    """The recipe of a TOML file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecipeError(f"no recipe at {path}; expected a TOML file.") from None
    try:
        return recipe_from(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path} is not valid TOML: {error}.") from error
