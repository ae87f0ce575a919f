from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from tiny_recipes import tiny_recipe

from priorfit.baselines import AttentiveNeuralProcess, NeuralProcessSettings
from priorfit.data import Real
from priorfit.network import PFN, LinearSolver, ModelCard, NetworkSettings, Problem
from priorfit.training import Interrupted, RunOptions
from priorfit.training.trainer import Trainer


def test_a_missing_model_is_named_in_one_line_that_says_what_to_do():
    from models import Released  # pyright: ignore[reportMissingImports]

    with pytest.raises(
        SystemExit, match="gp-of-nobody is not in the zoo yet.*train recipes/gp-of-nobody.toml"
    ) as missed:
        Released("gp-of-nobody").model()
    assert "\n" not in str(missed.value)


def test_a_model_is_trained_once_for_each_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import models  # pyright: ignore[reportMissingImports]

    first = models.Trained("one", tiny_recipe(steps=2), tmp_path)
    other = models.Trained("two", tiny_recipe(steps=3), tmp_path)
    assert first.model().card.training["steps"] == 2
    assert other.model().card.training["steps"] == 3
    assert first.fingerprint != other.fingerprint
    monkeypatch.setattr(models, "train", None)
    models.trained.cache_clear()
    assert models.trained(first.recipe, tmp_path).card.training["steps"] == 2


def test_a_training_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import models  # pyright: ignore[reportMissingImports]

    recipe, take_step, steps = tiny_recipe(steps=5), Trainer.take_step, []

    def counted(trainer: Trainer):
        steps.append(trainer.step)
        if len(steps) == 3:
            raise Interrupted("stopped here")
        return take_step(trainer)

    monkeypatch.setattr(Trainer, "take_step", counted)
    monkeypatch.setattr(models, "RunOptions", partial(RunOptions, checkpoint_seconds=0))
    with pytest.raises(Interrupted):
        models.trained(recipe, tmp_path)
    models.trained(recipe, tmp_path)
    assert steps == [0, 1, 2, 2, 3, 4]


def test_a_neural_process_comes_back_as_one(tmp_path: Path):
    import models  # pyright: ignore[reportMissingImports]

    recipe = tiny_recipe(steps=1, network=NeuralProcessSettings(width=16, heads=2, num_latents=2))
    models.trained(recipe, tmp_path)
    models.trained.cache_clear()
    assert isinstance(models.trained(recipe, tmp_path), AttentiveNeuralProcess)


def test_the_time_of_training_includes_that_of_the_models_before():
    from models import training_of  # pyright: ignore[reportMissingImports]

    first = {"steps": 10, "datasets": 80, "seconds": 4.0, "threads": 1}
    second = {"steps": 5, "datasets": 40, "seconds": 2.5, "threads": 2, "started_from": {"training": first}}
    model = PFN(NetworkSettings(width=8, layers=1, attention_heads=1), Problem(1, Real()), ModelCard(training=second))
    assert training_of(model) == {"steps": 15, "datasets": 120, "seconds": 6.5, "threads": 2}


@pytest.mark.parametrize("name", ["neural_process", "gp_nll_vs_n", "head_ablation"])
def test_rows_that_were_kept_under_older_names_are_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is trained or measured again, though the settings of the recipes have other names now."""
    import evaluation  # pyright: ignore[reportMissingImports]
    import models  # pyright: ignore[reportMissingImports]
    from study import FOLDER, Rows, Setup  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(models, "train", None)
    monkeypatch.setattr(Rows, "add", None)
    monkeypatch.setattr(evaluation, "exact", lambda _: object())
    rows = import_module(name).run(Setup(Rows(FOLDER / "results" / f"{name}.jsonl", seed=0), tmp_path))
    assert len(rows) > 20


def test_the_digest_of_a_recipe_is_that_of_its_first_names():
    from models import digest, recipe_digest  # pyright: ignore[reportMissingImports]

    solver = LinearSolver(features=8, components=2, hidden=4)
    recipe = tiny_recipe(network=NetworkSettings(16, 1, 2, 16, solver=solver))
    first = recipe.description()
    del first["optimiser"]["precision"]
    first["data"]["one_size"] = first["data"].pop("same_n")
    first["network"] = {
        **{"type": "NetworkSettings", "width": 16, "layers": 1, "heads": 2, "feedforward": 16, "positions": "none"},
        **{"target_scaling": "prior", "query_attention": "sink", "qk_norm": False, "query_scale": "fixed", "loops": 1},
        "regression": {"type": "Regression", "features": 8, "heads": 2, "hidden": 4, "evidence": 0.0},
    }
    assert recipe_digest(recipe) == digest(first)
