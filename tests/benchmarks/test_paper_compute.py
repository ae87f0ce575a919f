"""The compute of the paper's models: the authors' as RESEARCH has it, ours by hand."""

from pathlib import Path

import pytest

from priorfit.network import ModelCard, NetworkSettings
from priorfit.training import Recipe, read_recipe, recipe_from

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script():
    from benchmarks.release import paper_compute  # pyright: ignore[reportMissingImports]

    return paper_compute


def test_the_authors_took_as_many_operations_as_their_sizes_say(script):
    a_dataset = 6 * 50 * 5 * (4 * 512**2 + 2 * 512 * 1024) + 12 * 5 * 50**2 * 512
    assert script.of_authors("tabular-bnn").operations == 5_120_000 * a_dataset
    assert script.of_authors("tabular-bnn").operations == pytest.approx(1.65e16, rel=0.01)


def test_operations_of_a_recipe_are_averaged_over_its_context_sizes(script):
    recipe = read_recipe(ROOT / "recipes" / "tabular-bnn.toml")
    constant = recipe.description()
    constant["data"]["context_sizes"] = {"type": "UniformSizes", "smallest": 100}
    only: Recipe = recipe_from(constant)
    network = recipe.network
    assert isinstance(network, NetworkSettings)
    whole = script.operations(132, network.width, network.layers, network.feedforward)
    assert script.mean_operations(only) == whole
    assert script.operations(32, network.width, network.layers, network.feedforward) < script.mean_operations(recipe)
    assert script.mean_operations(recipe) < whole


def test_the_stages_of_a_training_add_up(script):
    recipe = read_recipe(ROOT / "recipes" / "tabular-gp.toml").stage_recipes()[0].description()
    first = {"recipe": recipe, "training": {"datasets": 100}}
    card = ModelCard(recipe=recipe, training={"datasets": 20, "started_from": first})
    one = script.of_card(ModelCard(recipe=recipe, training={"datasets": 1}))
    assert script.of_card(card).datasets == 120
    assert script.of_card(card).operations == pytest.approx(120 * one.operations)


def test_the_page_of_models_states_the_share(script):
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for name, *_, share in script.rows():
        assert f"`{name}`" in page and share in page
