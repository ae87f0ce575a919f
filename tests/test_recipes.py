from pathlib import Path

import pytest

from priorfit.training import read_recipe, recipe_from
from priorfit.zoo import load, names

FILES = sorted((Path(__file__).parents[1] / "recipes").glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_recipe_can_be_read_and_is_named_as_its_file(file: Path):
    assert read_recipe(file).name == file.stem


@pytest.mark.parametrize("name", names())
def test_every_released_model_has_the_recipe_that_trained_it(name: str):
    recipe = read_recipe(Path(__file__).parents[1] / "recipes" / f"{name}.toml")
    card = load(name).card
    assert recipe_from(card.recipe) == recipe  # a setting that came later has its default
    assert card.name == name and card.measured
