import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from priorfit.checkpoint import holds_checkpoint, load_folder, save_folder
from priorfit.errors import CheckpointError, InputError

WEIGHTS = {"weight": torch.arange(6.0).reshape(2, 3)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save_folder(path, {"model": WEIGHTS}, {"seed": 0})
    return path


def drop_bytes(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-4])


def flip_a_byte(folder: Path) -> None:
    file = folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def drop_the_tensors(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def drop_the_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def cut_the_config(folder: Path) -> None:
    (folder / "config.json").write_bytes((folder / "config.json").read_bytes()[:40])


def garble_the_config(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"\xff\xfe\x00")


def config_is_a_list(folder: Path) -> None:
    (folder / "config.json").write_text("[]")


def edit(**changes: object) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (drop_bytes, r"truncated .* expected \d+ bytes, got \d+\. Copy it anew"),
        (flip_a_byte, r"altered after it was saved: its sha256 differs"),
        (drop_the_tensors, r"model\.safetensors is missing: the checkpoint is incomplete"),
        (drop_the_config, r"has no config\.json"),
        (cut_the_config, r"config\.json is not valid JSON"),
        (garble_the_config, r"config\.json is not valid JSON"),
        (config_is_a_list, r"must hold a JSON object; got a list"),
        (edit(format="transformers"), r"not written by priorfit: expected .* got 'transformers'"),
        (edit(format_version=2), r"format version 2; this priorfit reads up to 1\. Upgrade it"),
        (edit(format_version="1"), r"lacks its format_version"),
        (edit(files=None), r"lacks its format_version or its list of files"),
        (edit(files={"model.safetensors": {}}), r"no record of the size and sha256"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_damage_is_named(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)
    with pytest.raises(CheckpointError, match=message):
        load_folder(folder)


def test_a_file_that_is_no_safetensors_is_named(folder: Path) -> None:
    content = b"\x80\x04a pickle"
    (folder / "model.safetensors").write_bytes(content)
    record = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit(files={"model.safetensors": record})(folder)
    with pytest.raises(CheckpointError, match="is no safetensors file"):
        load_folder(folder)


def test_a_path_without_a_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"No checkpoint at .*nowhere: expected a folder with config\.json"):
        load_folder(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="is a file; expected a folder"):
        load_folder(tmp_path / "file")
    assert not holds_checkpoint(tmp_path / "file")
    assert not holds_checkpoint(tmp_path)


def test_a_config_that_json_cannot_say_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for config in ({"prior": object()}, {"loss": float("nan")}):
        with pytest.raises(InputError, match="only what JSON can say"):
            save_folder(tmp_path / "m", {"model": WEIGHTS}, config)
    with pytest.raises(InputError, match="belong to the format"):
        save_folder(tmp_path / "m", {"model": WEIGHTS}, {"format": "mine"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", ["../model", "Model", "", "a.b", "a/b"])
def test_a_group_cannot_name_a_file_elsewhere(folder: Path, group: str) -> None:
    with pytest.raises(InputError, match="lower case"):
        save_folder(folder, {group: WEIGHTS}, {})
    with pytest.raises(InputError, match="lower case"):
        load_folder(folder, groups=(group,))
