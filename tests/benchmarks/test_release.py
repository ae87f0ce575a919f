import dataclasses
import json
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

import priorfit as pf
from priorfit.data import Classes
from priorfit.network import NetworkSettings
from priorfit.predictor import predict
from priorfit.priors import Prior
from priorfit.training import Budget, Recipe, train

TINY_BNN = pf.BayesianNetwork(num_features=2, hidden=(3,), outcome=Classes(2))


def trained(prior: Prior, name: str):
    network = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    return train(Recipe(prior, num_points=6, budget=Budget(steps=1), name=name, network=network))


@pytest.mark.parametrize(
    ("prior", "reference", "columns"),
    [
        (pf.GaussianProcess(), "exact", ["gap", "floor"]),
        (TINY_BNN, "CollapsedBNN", ["accuracy", "standard error"]),
        (pf.Standardized(pf.GaussianProcess(), num_reference=8), "none is known", ["nll", "in 95"]),
        (pf.Binarized(pf.GaussianProcess(), num_reference=8), "none is known", ["nll", "accuracy"]),
    ],
    ids=["reals", "classes", "reals_without_truth", "classes_without_truth"],
)
def test_a_release_has_its_numbers_on_its_card(
    prior: Prior,
    reference: str,
    columns: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    from benchmarks.release import release  # pyright: ignore[reportMissingImports]

    trained(prior, "tiny").save(tmp_path / "run")
    monkeypatch.setattr(release, "FOLDER", tmp_path)
    monkeypatch.setattr(release, "load", lambda name: pf.network.load_pfn(tmp_path / name))
    monkeypatch.setattr(sys, "argv", ["release", "run", "--datasets=8", "--release"])
    release.main()
    printed = " ".join(capsys.readouterr().out.split())  # a narrow terminal breaks lines
    for word in (reference, *columns):
        assert word in printed
    measured = pf.network.load_pfn(tmp_path / "tiny").card.measured
    assert measured["reference"] == reference and measured["num_datasets"] == 8
    assert [row["n"] for row in measured["rows"]] == [1, 2, 5]
    assert all("gap" not in row or row["gap"][0] > 0 for row in measured["rows"])
    assert all(("gap" in row) == (reference != "none is known") for row in measured["rows"])


def test_a_released_model_that_is_measured_again_keeps_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from benchmarks.common import cards  # pyright: ignore[reportMissingImports]
    from benchmarks.release import release  # pyright: ignore[reportMissingImports]

    folder = tmp_path / "tiny"
    trained(pf.GaussianProcess(), "tiny").save(folder, dtype=torch.float16)
    with_card = json.loads((folder / "config.json").read_text())
    with_card["card"]["measured"] = {"half_precision_costs": 0.5, "rows": [], "circumstances": {"commit": "first"}}
    (folder / "config.json").write_text(json.dumps(with_card))
    weights = (folder / "model.safetensors").read_bytes()
    monkeypatch.setattr(release, "names", lambda: ["tiny"])
    monkeypatch.setattr(release, "load", lambda name: pf.network.load_pfn(tmp_path / name))
    monkeypatch.setattr(release, "write_measured", partial(cards.write_measured, zoo=tmp_path))
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["release", "tiny", "--datasets=8", "--remeasure"])
        release.main()
    assert (folder / "model.safetensors").read_bytes() == weights
    after = json.loads((folder / "config.json").read_text())
    measured = after["card"].pop("measured")
    assert [row["n"] for row in measured["rows"]] == [1, 2, 5]
    assert measured["at_release"] == {"half_precision_costs": 0.5, "circumstances": {"commit": "first"}}
    assert measured["circumstances"]["commit"] != "first"
    with_card["card"].pop("measured")
    assert after == with_card
    monkeypatch.setattr(sys, "argv", ["release", str(folder), "--remeasure"])
    with pytest.raises(SystemExit):
        release.main()


def test_a_gp_with_hyper_priors_is_measured_against_its_oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from benchmarks.common import references  # pyright: ignore[reportMissingImports]
    from benchmarks.release import release_truth  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(references, "FOLDER", tmp_path)
    prior = pf.HyperGaussianProcess()
    reference = release_truth.reference_of(prior)
    assert reference.name == "HyperGPOracle" and reference.sizes == (5, 10, 15, 20, 25, 30)
    tasks = prior.sample(2, 7).split(5)
    truth, _ = reference.answer(tasks)
    exact = predict(pf.baselines.HyperGPOracle(prior), tasks)
    assert (truth.mean - exact.mean).abs().max() < 0.1 * exact.stddev.max()


def test_a_network_with_an_activation_is_measured_against_long_runs(monkeypatch: pytest.MonkeyPatch):
    from benchmarks.release import release_truth  # pyright: ignore[reportMissingImports]
    from priorfit.baselines.bnn import long_nuts_bnn
    from priorfit.baselines.bnn.nuts_bnn import NutsBNN

    prior = dataclasses.replace(TINY_BNN, activation="tanh")
    monkeypatch.setattr(
        long_nuts_bnn, "long_chains", lambda prior, seed: NutsBNN(prior, 1_000, num_warmup=2, backend="pyro", seed=seed)
    )
    monkeypatch.setattr(long_nuts_bnn.long_run, "__defaults__", ((4,), 1.01))
    tasks = prior.sample(2, 9).split(5)
    truth, remarks = release_truth.reference_of(prior).answer(tasks)
    assert truth.batch_shape == (2, 4)
    assert remarks["largest_r_hat"] > 0
