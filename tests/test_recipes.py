import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priorfit.training import Recipe, read_recipe, recipe_from
from priorfit.zoo import load, names

FOLDER = Path(__file__).parents[1] / "recipes"
FILES = sorted(FOLDER.glob("*.toml"))
NOT_RELEASED = {"generalist-1d", "strokes-normalised"}
"""Recipes of models that the package does not hold (yet), some of which a study scores."""

FINE_TUNED = {"omniglot": "curves", "omniglot-paper": "strokes"}
"""Models that a study fine-tuned on data which are not committed, and the recipes of those that they started from."""

STARTED_FROM_ANOTHER = {"tabular-regression"}
"""Models whose recipe names another model that the training starts from."""

STAGES = {
    "curves": 2,
    "gp-hyper-1d": 3,
    "gp-rbf-5d": 6,
    "bnn-large-tanh": 3,
    "tabular": 3,
    "tabular-binary-small": 2,
    "tabular-bnn": 2,
    "tabular-gp": 2,
    "tabular-regression": 2,
    "tabular-regression-small": 2,
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_recipe_can_be_read_and_is_named_as_its_file(file: Path):
    recipe = read_recipe(file)
    assert recipe.name == file.stem
    assert recipe_from(json.loads(json.dumps(recipe.description()))) == recipe


def trainings(card: dict[str, Any]) -> list[tuple[Recipe, dict[str, Any]]]:
    """The recipe and the account of each training of a model, the first one first."""
    found = []
    while card:
        found.append((recipe_from(card["recipe"]), card["training"]))
        card = card["training"].get("started_from", {})
    return found[::-1]


def without_stop(recipe: Recipe) -> Recipe:
    return replace(recipe, budget=replace(recipe.budget, stop=None))


@pytest.mark.parametrize("name", sorted(set(names()) - FINE_TUNED.keys()))
def test_every_released_model_is_rebuilt_by_its_recipe(name: str):
    """Card and recipe say the same of every stage, whole; a setting that came later has its default."""
    recipe, card = read_recipe(FOLDER / f"{name}.toml"), load(name).card
    stages, trained = recipe.stage_recipes(), trainings({"recipe": card.recipe, "training": card.training})
    every, trained = trained, trained[-len(stages) :]  # one that starts from another model has that one's before
    assert len(stages) == len(trained) == STAGES.get(name, 1)
    for stage, (kept, training) in zip(stages, trained, strict=True):
        assert without_stop(stage) == without_stop(kept)  # older cards do not have it
        assert training["steps"] == (stage.budget.stop or stage.budget.steps)
        assert training["datasets"] == training["steps"] * stage.data.batch_size * stage.data.micro_batches
    last = stages[-1]
    assert (last.num_points, last.seed, last.data, last.optimiser) == (
        recipe.num_points,
        recipe.seed,
        recipe.data,
        recipe.optimiser,
    )
    assert (len(every) > len(trained)) == (name in STARTED_FROM_ANOTHER)
    assert card.trained_in_all("steps") == sum(training["steps"] for _, training in every)
    assert card.trained_context == last.data.context_sizes.range(last.num_points)
    assert (card.name, card.prior) == (recipe.name, card.recipe["prior"])
    assert card.name == name and card.measured


def test_every_recipe_belongs_to_a_released_model_and_every_model_has_one():
    recipes = {file.stem for file in FILES}
    assert recipes - NOT_RELEASED == set(names()) - FINE_TUNED.keys()
    assert recipes >= NOT_RELEASED


@pytest.mark.parametrize("name", sorted(FINE_TUNED))
def test_a_fine_tuned_model_started_from_the_released_one(name: str):
    start, tuned = load(FINE_TUNED[name]).card, load(name).card
    origin = tuned.training["started_from"]
    assert (origin["recipe"], origin["training"]) == (start.recipe, start.training)
    assert tuned.recipe["prior"]["type"] == "Shown" and tuned.name == name and tuned.measured
