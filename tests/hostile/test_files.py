"""`load` and `save`: paths and folders of every wrong kind."""

import json
import multiprocessing
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
import torch
from hostile.cases import QUERY, RIGHT, Case, X, Y, check, scratch, waves

import priorfit as pf

INPUT, CHECKPOINT, UNKNOWN = "`InputError`", "`CheckpointError`", "`UnknownModelError`"


@cache
def saved() -> Path:
    waves().save(scratch() / "model")
    return scratch() / "model"


def answer(model: pf.PFN) -> object:
    return model.condition(X, Y).predict(QUERY)


def clean() -> object:
    return answer(waves())


def spoilt(change: object) -> Path:
    """A copy of a saved model after something was done to its folder."""
    folder = scratch() / uuid4().hex
    shutil.copytree(saved(), folder)
    change(folder)
    return folder


def config(change: object) -> Path:
    """A copy of a saved model whose configuration was edited."""

    def edit(folder: Path) -> None:
        told = json.loads((folder / "config.json").read_text())
        change(told)
        (folder / "config.json").write_text(json.dumps(told))

    return spoilt(edit)


def text(content: bytes) -> Path:
    return spoilt(lambda folder: (folder / "config.json").write_bytes(content))


def weights(content: bytes) -> Path:
    return spoilt(lambda folder: (folder / "model.safetensors").write_bytes(content))


def file_of(content: bytes = b"text") -> Path:
    place = scratch() / uuid4().hex
    place.write_bytes(content)
    return place


def loop() -> Path:
    place = scratch() / uuid4().hex
    place.symlink_to(place)
    return place


def network(told: dict, **fields: object) -> None:
    told["network"].update(fields)


LOADS = {
    ("type", "a number"): (lambda: 3, INPUT),
    ("type", "None"): (lambda: None, INPUT),
    ("type", "bytes"): (lambda: b"gp-rbf-1d", INPUT),
    ("type", "a list"): (lambda: ["gp-rbf-1d"], INPUT),
    ("type", "a model"): (lambda: waves(), INPUT),
    ("type", "an empty text"): (lambda: "", INPUT),
    ("file", "a name that is none"): (lambda: "gp-rbf", UNKNOWN),
    ("file", "a name in capitals"): (lambda: "GP-RBF-1D", UNKNOWN),
    ("file", "a folder that is not there"): (lambda: scratch() / "nowhere", UNKNOWN),
    ("file", "a null byte"): (lambda: "gp\0rbf", INPUT),
    ("file", "a name too long"): (lambda: "a" * 5000, INPUT),
    ("file", "a loop of links"): (loop, INPUT),
    ("file", "a file"): (file_of, UNKNOWN),
    ("file", "a device"): (lambda: "/dev/null", UNKNOWN),
    ("file", "below a file"): (lambda: file_of() / "model", UNKNOWN),
    ("file", "an empty folder"): (lambda: scratch(), CHECKPOINT),
    ("file", "weights alone"): (lambda: spoilt(lambda folder: (folder / "config.json").unlink()), CHECKPOINT),
    ("file", "a configuration alone"): (
        lambda: spoilt(lambda folder: (folder / "model.safetensors").unlink()),
        CHECKPOINT,
    ),
    ("file", "an empty configuration"): (lambda: text(b""), CHECKPOINT),
    ("file", "JSON that is cut"): (lambda: text(b'{"format": 1, '), CHECKPOINT),
    ("file", "JSON that is a list"): (lambda: text(b"[]"), CHECKPOINT),
    ("file", "JSON that is a number"): (lambda: text(b"3"), CHECKPOINT),
    ("file", "JSON that is nested without end"): (lambda: text(b"[" * 100_000), CHECKPOINT),
    ("file", "a binary configuration"): (lambda: text(bytes(range(256))), CHECKPOINT),
    ("file", "an empty file of weights"): (lambda: weights(b""), CHECKPOINT),
    ("file", "weights of zeros"): (lambda: weights(bytes(4096)), CHECKPOINT),
    ("file", "weights that are a pickle"): (lambda: weights(b"\x80\x04}q\x00."), CHECKPOINT),
    ("size", "a width of 60,000"): (lambda: config(lambda told: network(told, width=60_000)), CHECKPOINT),
    ("size", "20,000 layers"): (lambda: config(lambda told: network(told, layers=20_000)), CHECKPOINT),
    ("range", "a width of -1"): (lambda: config(lambda told: network(told, width=-1)), CHECKPOINT),
    ("type", "a width of text"): (lambda: config(lambda told: network(told, width="wide")), CHECKPOINT),
    ("type", "a network of an unknown type"): (
        lambda: config(lambda told: network(told, type="os.system")),
        CHECKPOINT,
    ),
    ("type", "no network"): (lambda: config(lambda told: told.pop("network")), CHECKPOINT),
    ("type", "no card"): (lambda: config(lambda told: told.pop("card")), CHECKPOINT),
    ("type", "a card of text"): (lambda: config(lambda told: told.update(card="a card")), CHECKPOINT),
    ("type", "a newer format"): (lambda: config(lambda told: told.update(format=10**6, version=10**6)), CHECKPOINT),
    ("type", "a problem that is null"): (lambda: config(lambda told: told.update(problem=None)), CHECKPOINT),
}

SAVES = {
    ("type", "a number"): (lambda: waves().save(3), INPUT),
    ("type", "None"): (lambda: waves().save(None), INPUT),
    ("type", "an empty text"): (lambda: waves().save(""), INPUT),
    ("file", "a null byte"): (lambda: waves().save("a\0b"), INPUT),
    ("file", "a file"): (lambda: waves().save(file_of()), CHECKPOINT),
    ("file", "below a file"): (lambda: waves().save(file_of() / "model"), CHECKPOINT),
    ("file", "a device"): (lambda: waves().save("/dev/null"), CHECKPOINT),
    ("file", "a folder of somebody else"): (lambda: waves().save(file_of().parent), CHECKPOINT),
    ("dtype", "weights in int8"): (lambda: waves().save(scratch() / "int8", dtype=torch.int8), INPUT),
    ("dtype", "a dtype as text"): (lambda: waves().save(scratch() / "text", dtype="float16"), INPUT),
    ("dtype", "weights in complex numbers"): (lambda: waves().save(scratch() / "c", dtype=torch.complex64), INPUT),
    ("NaN", "weights that are NaN"): (lambda: broken().save(scratch() / "nan"), INPUT),
}


def broken() -> pf.PFN:
    model = pf.load("gp-rbf-1d")
    model.decoder.bias.fill_(torch.nan)
    return model


def saved_at_once() -> object:
    """Many threads save to one folder; whatever is there in the end is whole."""
    place = scratch() / "at-once"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: waves().save(place), range(16)))
    return answer(pf.load(place))


def save_often(place: Path) -> None:
    for _ in range(6):
        waves().save(place)


def saved_by_processes() -> object:
    """Two processes save to one folder, again and again; new ones, since a fork of one with threads may hang."""
    place = scratch() / "by-processes"
    together = multiprocessing.get_context("spawn")
    writers = [together.Process(target=save_often, args=(place,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return [answer(pf.load(place)).mean, *(float(writer.exitcode != 0) for writer in writers)]


def loaded_at_once() -> object:
    with ThreadPoolExecutor(8) as pool:
        return [answer(model).mean for model in pool.map(pf.load, ["gp-rbf-1d"] * 8)]


def saved_in(dtype: torch.dtype) -> object:
    place = scratch() / str(dtype)
    waves().save(place, dtype=dtype)
    return answer(pf.load(place))


RIGHTS = [
    Case(
        "save",
        "concurrency",
        "two processes to one folder",
        saved_by_processes,
        RIGHT,
        lambda: [clean().mean, 0.0, 0.0],
    ),
    Case("save", "concurrency", "eight threads to one folder", saved_at_once, RIGHT, clean),
    Case("load", "concurrency", "eight threads at once", loaded_at_once, RIGHT, lambda: [clean().mean] * 8),
    Case("save", "dtype", "weights in float16", lambda: saved_in(torch.float16), RIGHT, clean, 0.02),
    Case("save", "dtype", "weights in float64", lambda: saved_in(torch.float64), RIGHT, clean),
    Case(
        "save",
        "file",
        "over a model that is there",
        lambda: (waves().save(saved()), answer(pf.load(saved())))[1],
        RIGHT,
        clean,
    ),
    Case("load", "type", "a path as text", lambda: answer(pf.load(str(saved()))), RIGHT, clean),
]

CASES = [
    *(Case("load", *key, lambda make=make: pf.load(make()), gets) for key, (make, gets) in LOADS.items()),
    *(Case("save", *key, ask, gets) for key, (ask, gets) in SAVES.items()),
    *RIGHTS,
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_paths_and_folders(case: Case) -> None:
    check(case)
