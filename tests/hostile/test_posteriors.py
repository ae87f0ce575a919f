"""Posteriors and fits as files: folders of every wrong kind, and points that cannot be added."""

import json
import shutil
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
import torch
from hostile.cases import QUERY, RIGHT, Case, X, Y, check, scratch, waves

import priorfit as pf

INPUT, CHECKPOINT, SHAPE = "`InputError`", "`CheckpointError`", "`ShapeError`"


@cache
def saved() -> Path:
    """The file of a posterior of a released model."""
    pf.load("gp-rbf-1d").condition(X, Y).save(scratch() / "posterior")
    return scratch() / "posterior"


@cache
def own() -> Path:
    """The file of a posterior that holds its model."""
    changed().condition(X, Y).save(scratch() / "own-posterior")
    return scratch() / "own-posterior"


def changed() -> pf.PFN:
    model = pf.load("gp-rbf-1d")
    model.decoder.bias.add_(0.01)
    return model


def clean() -> object:
    return pf.load("gp-rbf-1d").condition(X, Y).predict(QUERY)


def spoilt(change: object, folder: Path | None = None) -> Path:
    """A copy of a saved posterior after something was done to its folder."""
    place = scratch() / uuid4().hex
    shutil.copytree(folder or saved(), place)
    change(place)
    return place


def config(change: object, folder: Path | None = None) -> Path:
    """A copy of a saved posterior whose configuration was edited."""

    def edit(place: Path) -> None:
        told = json.loads((place / "config.json").read_text())
        change(told)
        (place / "config.json").write_text(json.dumps(told))

    return spoilt(edit, folder)


def flipped(name: str, folder: Path | None = None) -> Path:
    """A copy of which one byte in the middle of a file was changed."""

    def flip(place: Path) -> None:
        content = bytearray((place / name).read_bytes())
        content[len(content) // 2] ^= 1
        (place / name).write_bytes(bytes(content))

    return spoilt(flip, folder)


def cut(name: str) -> Path:
    return spoilt(lambda place: (place / name).write_bytes((place / name).read_bytes()[:-9]))


def without(name: str, folder: Path | None = None) -> Path:
    return spoilt(lambda place: (place / name).unlink(), folder)


def model_folder() -> Path:
    waves().save(scratch() / "a-model")
    return scratch() / "a-model"


def file_of() -> Path:
    place = scratch() / uuid4().hex
    place.write_bytes(b"text")
    return place


LOADS = {
    ("type", "a number"): (lambda: 3, INPUT),
    ("type", "None"): (lambda: None, INPUT),
    ("type", "an empty text"): (lambda: "", INPUT),
    ("file", "a folder that is not there"): (lambda: scratch() / "nowhere", CHECKPOINT),
    ("file", "a file"): (file_of, CHECKPOINT),
    ("file", "the folder of a model"): (model_folder, CHECKPOINT),
    ("file", "no tensors"): (lambda: without("context.safetensors"), CHECKPOINT),
    ("file", "no configuration"): (lambda: without("config.json"), CHECKPOINT),
    ("file", "tensors that are cut"): (lambda: cut("context.safetensors"), CHECKPOINT),
    ("file", "a configuration that is cut"): (lambda: cut("config.json"), CHECKPOINT),
    ("file", "a changed byte of the tensors"): (lambda: flipped("context.safetensors"), CHECKPOINT),
    ("file", "a changed byte of the model"): (lambda: flipped("model.safetensors", own()), CHECKPOINT),
    ("file", "no weights of its own model"): (lambda: without("model.safetensors", own()), CHECKPOINT),
    ("file", "a changed number of the context"): (
        lambda: config(lambda told: told["kept"]["fields"]["reading"]["fields"].update(num_columns=2)),
        CHECKPOINT,
    ),
    ("file", "a model that is gone"): (lambda: config(lambda told: told["model"].update(name="gone")), CHECKPOINT),
    ("file", "another model"): (lambda: config(lambda told: told["model"].update(name="gp-rbf-1d-short")), CHECKPOINT),
    ("file", "a model of another hash"): (lambda: config(lambda told: told["model"].update(sha256="0")), CHECKPOINT),
    ("file", "other settings of its own model"): (
        lambda: config(lambda told: told["problem"].update(input_range=[0.0, 2.0]), own()),
        CHECKPOINT,
    ),
    ("type", "no model"): (lambda: config(lambda told: told.pop("model")), CHECKPOINT),
    ("type", "a model of text"): (lambda: config(lambda told: told.update(model="gp-rbf-1d")), CHECKPOINT),
    ("type", "no context"): (lambda: config(lambda told: told.pop("kept")), CHECKPOINT),
    ("type", "a kind that is none"): (lambda: config(lambda told: told.update(kind="code")), CHECKPOINT),
}

SAVES = {
    ("type", "a number"): (lambda: 3, INPUT),
    ("type", "None"): (lambda: None, INPUT),
    ("file", "a null byte"): (lambda: "a\0b", INPUT),
    ("file", "a file"): (file_of, CHECKPOINT),
    ("file", "below a file"): (lambda: file_of() / "fit", CHECKPOINT),
    ("file", "a folder of somebody else"): (lambda: file_of().parent, CHECKPOINT),
    ("file", "the folder of a model"): (model_folder, CHECKPOINT),
}

ADDS = {
    ("shape", "targets of another number"): (lambda: (X, Y[:-1]), SHAPE),
    ("shape", "columns of another number"): (lambda: (torch.rand(3, 2), Y[:3]), SHAPE),
    ("shape", "a batch of datasets"): (lambda: (torch.rand(2, 3, 1), torch.rand(2, 3)), SHAPE),
    ("type", "text"): (lambda: (["a"], ["b"]), INPUT),
    ("NaN", "a target that is NaN"): (lambda: (torch.rand(1, 1), torch.tensor([torch.nan])), INPUT),
    ("NaN", "an infinite input"): (lambda: (torch.tensor([[torch.inf]]), torch.zeros(1)), INPUT),
}

CASES = [
    *(
        Case("load_posterior", kind, fault, lambda path=path: pf.load_posterior(path()).predict(QUERY), gets)
        for (kind, fault), (path, gets) in LOADS.items()
    ),
    Case("load_posterior", "file", "a folder", lambda: pf.load_posterior(saved()).predict(QUERY), RIGHT, clean),
    *(
        Case("posterior.save", kind, fault, lambda path=path: changed().condition(X, Y).save(path()), gets)
        for (kind, fault), (path, gets) in SAVES.items()
    ),
    Case("posterior.save", "NaN", "a model whose weights are NaN", lambda: saved_nan(), INPUT),
    *(
        Case("posterior.add", kind, fault, lambda more=more: waves().condition(X, Y).add(*more()), gets)
        for (kind, fault), (more, gets) in ADDS.items()
    ),
    Case("posterior.add", "size", "no points", lambda: added_none(), RIGHT, clean),
]


def saved_nan() -> None:
    model = pf.load("gp-rbf-1d")
    posterior = model.condition(X, Y)
    model.decoder.bias.fill_(torch.nan)
    posterior.save(scratch() / "nan")


def added_none() -> object:
    posterior = pf.load("gp-rbf-1d").condition(X, Y)
    return posterior.add(torch.zeros(0, 1), torch.zeros(0)).predict(QUERY)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_posteriors_as_files(case: Case) -> None:
    check(case)
    left = [path.name for path in scratch().iterdir() if "priorfit" in path.name or path.name == "nan"]
    assert not left  # nothing is half-written
