"""Tampered and foreign files: a `CheckpointError` each, soon, and before anything large is allocated."""

import hashlib
import json
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import nn

import priorfit as pf
from priorfit.baselines import AttentiveNeuralProcess, NeuralProcessSettings
from priorfit.errors import CheckpointError
from priorfit.network import PFN, LatentSolver, LinearSolver, ModelCard, NetworkSettings, Problem, load_pfn
from priorfit.network.allowance import Allowance, TooLarge
from priorfit.zoo import load, names

SETTINGS = NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16, solver=LinearSolver(8, 2, 16))
SOON = 10.0
"""Seconds; most take milliseconds, a machine under load some hundred times as long."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    card = ModelCard("x", trained_context=(0, 9), training={"steps": 3, "started_from": {"training": {"steps": 4}}})
    PFN(SETTINGS, Problem(2, pf.Real(), (0.0, 1.0)), card).save(tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, *place: str, value: Any) -> None:
    """Change one entry of the config."""
    config = json.loads((folder / "config.json").read_text())
    part = config
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    (folder / "config.json").write_text(json.dumps(config))


def replace_weights(folder: Path, content: bytes) -> None:
    """Another file of weights, with the record that belongs to it."""
    (folder / "model.safetensors").write_bytes(content)
    record = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit(folder, "files", value={"model.safetensors": record})


def change_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        weights = safetensors.torch.load((folder / "model.safetensors").read_bytes())
        change(weights)
        replace_weights(folder, safetensors.torch.save(weights))

    return tamper


NETWORK = {
    "width": 60_000,
    "layers": 20_000,
    "feedforward": 10**15,
    "attention_heads": 3,
    "loops": 0,
    "width as text": ("width", "16"),
    "width as float": ("width", 16.0),
    "width as nan": ("width", float("nan")),
    "absurd width": ("width", 10**30),
    "features": ("solver", {"type": "LinearSolver", "features": 10**8, "components": 2, "hidden": 16}),
    "many heads": ("solver", {"type": "LinearSolver", "features": 8, "components": 10**12, "hidden": 16}),
    "polynomials": ("encoder", {"type": "PolynomialEncoder", "degree": 10**9}),
    "harmonics": ("solver", {"type": "LatentSolver", "basis": {"type": "Harmonics", "order": 10**9}}),
    "latents": ("solver", {"type": "LatentSolver", "latents": 10**9}),
    "anchors": ("solver", {"type": "LatentSolver", "anchors": 10**12}),
    "frequencies": ("encoder", {"type": "FourierEncoder", "num_frequencies": 10**12}),
    "buckets": ("output", {"type": "RiemannHead", "num_buckets": 10**12}),
    "components": ("output", {"type": "NormalMixtureHead", "components": 10**12}),
    "no components": ("output", {"type": "NormalMixtureHead", "components": -5}),
    "another head": ("output", {"type": "NormalHead"}),
    "a head for classes": ("output", {"type": "SoftmaxHead"}),
    "an unknown part": ("output", {"type": "os.system"}),
    "a part of a type that is a list": ("output", {"type": ["NormalHead"]}),
    "a part as text": ("output", "NormalHead"),
    "an unknown setting": ("depth", 5),
}
PROBLEM = {
    "num_features": 10**12,
    "no features": ("num_features", 0),
    "other features": ("num_features", 3),
    "features as float": ("num_features", 2.0),
    "a range of words": ("input_range", ["low", "high"]),
    "a range of three": ("input_range", [0, 1, 2]),
    "classes": ("outcome", {"type": "Classes", "count": 10**12}),
    "one class": ("outcome", {"type": "Classes", "count": 1}),
}
CARD = {
    "name": 5,
    "prior": "GaussianProcess",
    "recipe": [1],
    "training": "long",
    "measured": None,
    "trained_context": 5,
    "trained_context of words": ("trained_context", ["few", "many"]),
    "trained_context of three": ("trained_context", [1, 2, 3]),
    "trained_context backwards": ("trained_context", [9, 0]),
    "an unknown field": ("author", "x"),
    "steps": ("training", {"steps": "many"}),
    "the start": ("training", {"started_from": "elsewhere"}),
    "the steps of the start": ("training", {"started_from": {"training": {"steps": [4]}}}),
    "the training of the start": ("training", {"started_from": {"training": 7}}),
}


def config_edits() -> dict[str, Callable[[Path], None]]:
    found: dict[str, Callable[[Path], None]] = {}
    for part, entries in {"network": NETWORK, "problem": PROBLEM, "card": CARD}.items():
        for name, entry in entries.items():
            field, value = entry if isinstance(entry, tuple) else (name, entry)
            found[f"{part} {name}"] = lambda folder, at=(part, field), value=value: edit(folder, *at, value=value)
        for value in (None, [], "text", 3, {}):
            if (part, value) != ("card", {}):  # a card may be empty
                found[f"{part} is {value!r}"] = lambda folder, part=part, value=value: edit(folder, part, value=value)
    return found


def huge_header(folder: Path) -> None:
    replace_weights(folder, struct.pack("<Q", 2**62) + b"{}")


def lying_header(folder: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    replace_weights(folder, struct.pack("<Q", len(header)) + header)


def strange_dtype(folder: Path) -> None:
    header = json.dumps({"a": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [0, 4]}}).encode()
    replace_weights(folder, struct.pack("<Q", len(header)) + header + bytes(4))


def nested_header(folder: Path) -> None:
    header = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    replace_weights(folder, struct.pack("<Q", len(header)) + header)


def folder_as_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").mkdir()


def folder_as_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()


def nested_config(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000 + "]" * 100_000)


def nested_encoder(folder: Path) -> None:
    """Not too deep for JSON, but for whoever builds it."""
    deep: dict[str, Any] = {"type": "FourierEncoder"}
    for _ in range(300):
        deep = {"type": "LatentSolver", "basis": deep}
    edit(folder, "network", "solver", value=deep)


FILES: dict[str, Callable[[Path], None]] = {
    "nan": change_weights(lambda weights: weights["decoder.bias"].fill_(torch.nan)),
    "infinity": change_weights(lambda weights: weights["decoder.weight"].fill_(torch.inf)),
    "a missing weight": change_weights(lambda weights: weights.pop("decoder.bias")),
    "one more weight": change_weights(lambda weights: weights.update(more=torch.zeros(3))),
    "another shape": change_weights(lambda weights: weights.update({"decoder.bias": torch.zeros(1)})),
    "whole numbers": change_weights(lambda weights: weights.update({"decoder.bias": weights["decoder.bias"].long()})),
    "complex numbers": change_weights(lambda weights: weights.update({"decoder.bias": torch.zeros(1).cfloat()})),
    "no weights": change_weights(lambda weights: weights.clear()),
    **{
        tamper.__name__.replace("_", " "): tamper
        for tamper in (huge_header, lying_header, strange_dtype, nested_header, folder_as_config)
    },
    **{tamper.__name__.replace("_", " "): tamper for tamper in (folder_as_weights, nested_config, nested_encoder)},
}


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("tamper", (config_edits() | FILES).values(), ids=(config_edits() | FILES).keys())
def test_a_tampered_file_is_refused_soon(tamper: Callable[[Path], None], folder: Path):
    load_pfn(folder)
    tamper(folder)
    started = time.process_time()
    with pytest.raises(CheckpointError):
        load_pfn(folder)
    assert time.process_time() - started < SOON


@pytest.mark.parametrize("field", ["width", "layers", "self_attention"])
def test_an_absurd_neural_process_is_refused_soon(field: str, tmp_path: Path):
    settings = NeuralProcessSettings(width=16, heads=2, layers=2)
    AttentiveNeuralProcess(settings, Problem(1, pf.Real(), (0.0, 1.0))).save(tmp_path / "np")
    assert load(tmp_path / "np").settings == settings
    edit(tmp_path / "np", "network", field, value=60_000)
    started = time.process_time()
    with pytest.raises(CheckpointError, match="far larger"):
        load(tmp_path / "np")
    assert time.process_time() - started < SOON


@pytest.mark.parametrize("change", ["width", "layers"])
def test_a_network_far_larger_than_its_weights_is_told_from_one_of_another_shape(change: str, folder: Path):
    edit(folder, "network", change, value=60_000)
    with pytest.raises(CheckpointError, match="far larger than its .* tensors"):
        load_pfn(folder)
    edit(folder, "network", "width", value=32)
    edit(folder, "network", "layers", value=2)
    with pytest.raises(CheckpointError, match=r"should have shape .* the file has"):
        load_pfn(folder)


def test_the_released_models_allocate_about_as_much_as_their_files_hold():
    """The allowance is generous: no network that we save comes near it."""
    for name in names():
        model = load(name)
        weights = model.state_dict()
        allowance = Allowance(2e6 + sum(weight.numel() for weight in weights.values()), 2 * len(weights))
        with allowance:
            model.settings.build(model.problem)


def test_latent_regression_loads(tmp_path: Path):
    settings = NetworkSettings(width=16, layers=1, attention_heads=2, solver=LatentSolver())
    PFN(settings, Problem(1, pf.Real(), (0.0, 1.0))).save(tmp_path / "model")
    assert load_pfn(tmp_path / "model").settings == settings


def test_an_allowance_counts_numbers_and_tensors():
    with Allowance(numbers=12, tensors=3):
        torch.zeros(3, 2), torch.ones((2, 3))
        with pytest.raises(TooLarge, match="1 numbers"):
            torch.empty(1)
    with Allowance(numbers=100, tensors=3), pytest.raises(TooLarge, match="too many tensors"):
        nn.Sequential(*(nn.Linear(2, 2) for _ in range(2)))
    for make in (lambda: torch.linspace(0, 1, 50), lambda: torch.arange(50), lambda: torch.eye(50)):
        with Allowance(numbers=49, tensors=10), pytest.raises(TooLarge):
            make()
