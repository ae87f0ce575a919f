"""The models that studies compare: released ones, and those that a study trains itself and keeps in ``build/``."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from priorfit.checkpoint import holds_checkpoint
from priorfit.network import Model
from priorfit.network.older_files import DATA_FIELDS, DROPPED_FIELDS, NETWORK_FIELDS, SOLVER_FIELDS, SOLVER_TYPES
from priorfit.priors import Prior
from priorfit.training import Recipe, RunOptions, recipe_from, train
from priorfit.training.fit import screen
from priorfit.zoo import load, names

LATER_DEFAULT = ("precision", "float32")
"""A setting that came after the first rows, with the value that all of them had."""


class Entrant(ABC):
    """A model by its name; it is loaded or trained when it is first asked for."""

    label: str

    @abstractmethod
    def model(self) -> Model:
        """The network."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of the weights, under which rows are kept."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest context size of its training."""


@dataclass(frozen=True)
class Released(Entrant):
    """A model of the zoo."""

    label: str

    def model(self) -> Model:
        """See `Entrant.model`."""
        return released(self.label)

    @property
    def fingerprint(self) -> str:
        """See `Entrant.fingerprint`."""
        card = self.model().card
        return digest([card.recipe, card.training])

    @property
    def largest(self) -> int:
        """See `Entrant.largest`."""
        trained = self.model().card.trained_context
        assert trained is not None  # every recipe says so
        return trained[1]

    @property
    def prior(self) -> Prior:
        """The prior that it was trained on."""
        return recipe_from(self.model().card.recipe).prior


@dataclass(frozen=True)
class Trained(Entrant):
    """A model that a study trains by a recipe; a run that was stopped goes on."""

    label: str
    recipe: Recipe
    folder: Path

    def model(self) -> Model:
        """See `Entrant.model`."""
        return trained(self.recipe, self.folder)

    @property
    def fingerprint(self) -> str:
        """See `Entrant.fingerprint`."""
        return recipe_digest(self.recipe)

    @property
    def largest(self) -> int:
        """See `Entrant.largest`."""
        return self.recipe.data.context_sizes.range(self.recipe.num_points)[1]


@cache
def released(name: str) -> Model:
    """A model of the zoo; a line says what to do about a missing one."""
    if name not in names():
        raise SystemExit(
            f"the model {name} is not in the zoo yet (there: {', '.join(names())}): train recipes/{name}.toml and "
            "release it with benchmarks/release/release.py first."
        )
    return load(name)


@cache
def trained(recipe: Recipe, folder: Path) -> Model:
    """The network of a recipe, from the folder if it was trained before."""
    place = folder / f"{recipe.name}-{recipe_digest(recipe)}"
    if holds_checkpoint(place / "model"):
        return load(place / "model")
    print(f"training {recipe.name} in {place.name} ...", flush=True)
    return train(recipe, RunOptions(place, resume=holds_checkpoint(place / "checkpoint")), screen())


def present(entrants: Iterable[Released]) -> list[Entrant]:
    """The models that have been released; a line names those that are missing."""
    there = []
    for entrant in entrants:
        if entrant.label in names():
            there.append(entrant)
        else:
            print(f"without {entrant.label}, which is not in the zoo yet.")
    return there


def digest(description: Any) -> str:
    """Eight letters that differ where plain data differ."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:8]


def recipe_digest(recipe: Recipe) -> str:
    """The digest of a recipe by the first names of its settings: a new name does not make a kept row another one."""
    return digest(first_names(recipe.description()))


def first_names(description: dict[str, Any]) -> dict[str, Any]:
    """The description of a recipe as the version wrote it under which the first rows were kept."""
    network, data = description["network"], swapped(description["data"], DATA_FIELDS)
    if network["type"] == "NetworkSettings":
        network = swapped(network, NETWORK_FIELDS) | DROPPED_FIELDS
        types = {new: old for old, new in SOLVER_TYPES.items()}
        solver = network.get("regression")
        if solver is not None and solver["type"] in types:
            network["regression"] = swapped(solver, SOLVER_FIELDS) | {"type": types[solver["type"]]}
    optimiser = {name: value for name, value in description["optimiser"].items() if (name, value) != LATER_DEFAULT}
    return description | {"network": network, "data": data, "optimiser": optimiser}


def swapped(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The fields by their old names; ``names`` are the new ones by the old."""
    old = {new: name for name, new in names.items()}
    return {old.get(name, name): value for name, value in fields.items()}


def training_of(model: Model) -> dict[str, Any]:
    """Steps, datasets and seconds of a model's training, with those of the models that it went on from."""
    card = model.card
    total = {name: card.trained_in_all(name) for name in ("steps", "datasets", "seconds")}
    return total | {"threads": card.training["threads"]}
