"""Files of earlier versions: written here by hand, with the names that those versions wrote."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import priorfit as pf
from priorfit.checkpoint import save_folder
from priorfit.data import Classes, Real
from priorfit.description import describe
from priorfit.errors import CheckpointError, RecipeError
from priorfit.network import PFN, Harmonics, LatentSolver, LinearSolver, NetworkSettings, NormalMixtureHead, Problem
from priorfit.network.older_files import recipe_in
from priorfit.seeding import seeded
from priorfit.training import recipe_from

ONE = Problem(1, Real(), (0.0, 1.0))
TINY = {"width": 16, "layers": 1, "attention_heads": 2, "feedforward": 16}
OLD_TINY = {"type": "NetworkSettings", "width": 16, "layers": 1, "heads": 2, "feedforward": 16}
GONE = {"query_attention": "sink", "qk_norm": False, "query_scale": "fixed", "loops": 1}

CASES: dict[str, tuple[NetworkSettings, dict[str, Any], dict[str, str], Problem]] = {
    "plain": (
        NetworkSettings(**TINY, output=NormalMixtureHead(4)),
        {"head": {"type": "NormalMixtureHead", "components": 4}},
        {},
        ONE,
    ),
    "bars": (
        NetworkSettings(**TINY, output=pf.RiemannHead(20, "plain"), solver=LinearSolver(5, 2, 8)),
        {
            "head": {"type": "RiemannHead", "num_buckets": 20, "shape": "plain", "tails": "half-normal"},
            "regression": {"type": "Regression", "features": 5, "heads": 2, "hidden": 8, "evidence": 0.0},
        },
        {
            "guess_encoder.linear.weight": "regression.told.weight",
            "guess_encoder.linear.bias": "regression.told.bias",
            "solver.slow_log_noise": "regression.slow_log_noise",
            "solver.features.slow_log_gain": "regression.slow_log_gain",
            "solver.features.output.weight": "regression.features.weight",
            "solver.features.output.bias": "regression.features.bias",
            "solver.features.encoder.frequencies": "regression.encoder.frequencies",
            "solver.features.encoder.linear.weight": "regression.encoder.linear.weight",
            "solver.features.encoder.linear.bias": "regression.encoder.linear.bias",
            "head.borders": "head.inner.borders",
        },
        ONE,
    ),
    "labels": (
        NetworkSettings(**TINY, solver=LinearSolver(4, 1, 0)),
        {"regression": {"type": "Regression", "features": 4, "heads": 1, "hidden": 0, "evidence": 0.0}},
        {
            "guess_encoder.linear.weight": "regression.told.weight",
            "guess_encoder.linear.bias": "regression.told.bias",
            "solver.features.slow_log_gain": "regression.slow_log_gain",
            "solver.features.encoder.weight": "regression.encoder.weight",
            "solver.features.encoder.bias": "regression.encoder.bias",
        },
        Problem(3, Classes(2)),
    ),
    "latents": (
        NetworkSettings(**TINY, solver=LatentSolver(Harmonics(3), 2, 5, 4)),
        {
            "regression": {
                "type": "LatentRegression",
                "basis": {"type": "Harmonics", "order": 3, "period": 3.0},
                "latents": 2,
                "places": 5,
                "adapted": 4,
                "evidence": 1.0,
            }
        },
        {
            "guess_encoder.linear.weight": "regression.told.weight",
            "guess_encoder.linear.bias": "regression.told.bias",
            "solver.anchors": "regression.places",
            "solver.offsets": "regression.offsets",
            "solver.log_shares": "regression.log_shares",
            **{
                f"solver.chooser.{i}.{part}": f"regression.chooser.{i}.{part}"
                for i in (0, 2)
                for part in ("weight", "bias")
            },
            **{
                f"solver.family.{name}": f"regression.family.{name}"
                for name in ("slope", "curvature", "start", "log_power")
            },
            **{
                f"solver.family.{layer}.{part}": f"regression.family.{layer}.{part}"
                for layer in ("hidden", "output", "log_prior")
                for part in ("weight", "bias")
            },
        },
        ONE,
    ),
}


def written(folder: Path, case: str, **changes: Any) -> PFN:
    """A network of random weights, and the same in a file as an earlier version wrote it."""
    settings, old, names, problem = CASES[case]
    with seeded(0):
        model = settings.build(problem, target_sample=torch.randn(40, 10))
        for weight in model.parameters():
            weight.data.add_(0.1 * torch.randn_like(weight))
    state = model.state_dict()
    assert set(names) <= set(state)
    assert not any(name.startswith(("solver.", "guess_encoder.")) for name in set(state) - set(names))
    tensors = {names.get(name, name): value for name, value in state.items()}
    network = OLD_TINY | old | GONE | {"target_scaling": "prior", "positions": "none"} | changes
    card = {"name": "old", "prior": {}, "trained_context": None, "recipe": {}, "training": {}, "measured": {}}
    save_folder(folder, {"model": tensors}, {"network": network, "problem": describe(problem), "card": card})
    return model.frozen()


@pytest.mark.parametrize("case", CASES)
def test_a_file_by_older_names_gives_the_same_answer(case: str, tmp_path: Path):
    model = written(tmp_path / "old", case)
    loaded = pf.load(tmp_path / "old")
    assert loaded.settings == model.settings
    with seeded(1):
        x, query = torch.rand(3, 6, model.problem.num_features), torch.rand(3, 4, model.problem.num_features)
        y = torch.randint(2, (3, 6)).float()
    before, after = (each.condition(x, y).predict(query) for each in (model, loaded))
    labels = torch.tensor([[0.0, 1.0, 1.0, 0.0]]).expand(3, -1)
    assert torch.equal(before.log_prob(labels), after.log_prob(labels))


@pytest.mark.parametrize(
    ("name", "value"), [("loops", 2), ("qk_norm", True), ("query_scale", "log-n"), ("query_attention", "self")]
)
def test_a_file_with_a_setting_that_is_gone_is_refused_in_one_clear_line(name: str, value: object, tmp_path: Path):
    written(tmp_path / "old", "plain", **{name: value})
    with pytest.raises(
        CheckpointError, match=f"described with {name}={value!r}, a setting.*no longer has.*0.1.0"
    ) as told:
        pf.load(tmp_path / "old")
    assert "\n" not in str(told.value)


def test_what_was_loaded_by_older_names_is_saved_by_the_present_ones(tmp_path: Path):
    written(tmp_path / "old", "bars")
    pf.load(tmp_path / "old").save(tmp_path / "new")
    network = json.loads((tmp_path / "new" / "config.json").read_text())["network"]
    assert network["attention_heads"] == 2 and network["solver"]["type"] == "LinearSolver"
    assert not {"heads", "head", "regression", "loops"} & set(network)
    assert pf.load(tmp_path / "new").settings == CASES["bars"][0]


RECIPE: dict[str, Any] = {
    "prior": {"type": "GaussianProcess"},
    "num_points": 9,
    "budget": {"steps": 2},
    "network": OLD_TINY | GONE | {"regression": {"type": "Regression", "heads": 3, "evidence": 0.5}},
    "data": {"type": "DataSettings", "one_size": False},
}


def test_a_recipe_by_older_names_is_the_same_recipe():
    recipe = recipe_from(RECIPE)
    assert recipe.network == NetworkSettings(**TINY, solver=LinearSolver(components=3, evidence_weight=0.5))
    assert not recipe.data.same_n
    assert recipe_from(recipe_in(RECIPE)) == recipe == recipe_from(recipe.description())
    without_type = {name: value for name, value in RECIPE["network"].items() if name != "type"}
    assert recipe_from(RECIPE | {"network": without_type}) == recipe


def test_a_recipe_with_a_setting_that_is_gone_is_refused():
    with pytest.raises(RecipeError, match="described with loops=2, a setting that this version no longer has"):
        recipe_from(RECIPE | {"network": OLD_TINY | {"loops": 2}})


def test_a_setting_by_both_of_its_names_is_refused():
    with pytest.raises(
        RecipeError, match="network: NetworkSettings has no field 'heads'. Choose one of: attention_heads"
    ):
        recipe_from(RECIPE | {"network": OLD_TINY | {"attention_heads": 4}})
