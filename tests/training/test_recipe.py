from pathlib import Path

import pytest
from tiny_recipes import TINY_TOML, tiny_recipe

from priorfit.errors import RecipeError
from priorfit.network import NetworkSettings, RiemannHead
from priorfit.training import Budget, read_recipe, recipe_from


def test_a_recipe_in_toml_equals_the_recipe_in_python(tmp_path: Path):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY_TOML.format(steps=8, micro_batches=1))
    assert read_recipe(file) == tiny_recipe()


def test_a_described_recipe_comes_back_equal():
    recipe = tiny_recipe(network=NetworkSettings(output=RiemannHead(num_buckets=30)))
    assert recipe_from(recipe.description()) == recipe


WHOLE = TINY_TOML.format(steps=8, micro_batches=1)
WRONG = {
    "an unknown setting": (WHOLE.replace("width", "widht"), r"network: NetworkSettings has no field 'widht'.*'width'"),
    "an unknown prior": (WHOLE.replace("GaussianProcess", "GaussianProces"), "prior: unknown type.*'GaussianProcess'"),
    "two budgets": (WHOLE.replace("steps = 8", "steps = 8\nminutes = 1.0"), "exactly one positive value"),
    "a word for a number": (WHOLE.replace("width = 16", 'width = "wide"'), "network.width: expected a whole number"),
    "no prior": ("num_points = 5\n[budget]\nsteps = 1", "Recipe needs the field 'prior'"),
    "broken TOML": ("name = ", "not valid TOML"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_recipe_is_named(text, message, tmp_path: Path):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(file)


def test_a_missing_recipe_is_named(tmp_path: Path):
    with pytest.raises(RecipeError, match=r"no recipe at .*nowhere\.toml"):
        read_recipe(tmp_path / "nowhere.toml")


def test_a_budget_is_one_positive_number():
    with pytest.raises(RecipeError, match="exactly one"):
        Budget()
    with pytest.raises(RecipeError, match="exactly one"):
        Budget(steps=0)
