import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from forked import run_forked
from torch import Tensor

from priorfit import checkpoint
from priorfit.checkpoint import load_folder, save_folder, write_atomically
from priorfit.errors import CheckpointError

WEIGHTS = {"weight": torch.arange(6.0).reshape(2, 3), "count": torch.tensor(7)}
CONFIG = {"prior": {"name": "GaussianProcess", "lengthscale": 0.3}, "seed": 0, "measured": [0.1, None, "x"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save_folder(path, {"model": WEIGHTS}, CONFIG)
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_tensors_and_config_come_back_as_they_were(folder: Path) -> None:
    groups, config = load_folder(folder)
    assert config == CONFIG
    assert groups.keys() == {"model"}
    for name, tensor in WEIGHTS.items():
        assert torch.equal(groups["model"][name], tensor)
        assert groups["model"][name].dtype == tensor.dtype
    assert names(folder) == ["config.json", "model.safetensors"]
    assert names(folder.parent) == ["model"]


def test_the_config_file_names_format_version_and_hashes(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert config["format"] == "priorfit"
    assert config["format_version"] == 1
    record = config["files"]["model.safetensors"]
    assert record["bytes"] == (folder / "model.safetensors").stat().st_size
    assert len(record["sha256"]) == 64


def test_groups_are_loaded_as_asked_for(tmp_path: Path) -> None:
    save_folder(tmp_path / "run", {"model": WEIGHTS, "optimiser": {"step": torch.tensor(3)}}, {})
    groups, _ = load_folder(tmp_path / "run")
    assert groups.keys() == {"model"}
    groups, _ = load_folder(tmp_path / "run", groups=("model", "optimiser"))
    assert groups["optimiser"]["step"] == 3
    with pytest.raises(CheckpointError, match=r"saved without average\.safetensors; it has model\.safetensors, opt"):
        load_folder(tmp_path / "run", groups=("average",))


@pytest.mark.parametrize(
    "tensors",
    [
        {"transposed": torch.arange(6.0).reshape(2, 3).mT},
        {"expanded": torch.ones(1, 3).expand(4, 3)},
        {"slice": torch.arange(10.0)[2:5], "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)},
        {"half": torch.ones(2, dtype=torch.float16), "bfloat": torch.ones(2, dtype=torch.bfloat16)},
        {"flag": torch.tensor([True, False]), "long": torch.tensor([2**40]), "nan": torch.tensor(float("inf"))},
        {"parameter": torch.nn.Parameter(torch.ones(2))},
        {},
    ],
    ids=lambda tensors: "-".join(tensors) or "none",
)
def test_any_layout_and_dtype_is_saved(tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    save_folder(tmp_path / "m", {"model": tensors}, {})
    loaded = load_folder(tmp_path / "m")[0]["model"]
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor)
        assert loaded[name].dtype == tensor.dtype
        assert not loaded[name].requires_grad


def test_tensors_that_share_memory_are_saved_apart(tmp_path: Path) -> None:
    shared = torch.arange(4.0)
    save_folder(tmp_path / "m", {"model": {"a": shared, "b": shared, "c": shared[1:]}}, {})
    loaded = load_folder(tmp_path / "m")[0]["model"]
    loaded["a"].zero_()
    assert torch.equal(loaded["b"], shared)
    assert torch.equal(loaded["c"], shared[1:])


def test_a_checkpoint_is_replaced_and_nothing_else_is_left(folder: Path) -> None:
    save_folder(folder, {"optimiser": {"m": torch.ones(1)}}, {"seed": 1})
    assert load_folder(folder, groups=("optimiser",))[1] == {"seed": 1}
    assert names(folder) == ["config.json", "optimiser.safetensors"]
    assert names(folder.parent) == ["model"]


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "a" / "b" / "model"):
        save_folder(path, {"model": WEIGHTS}, CONFIG)
        assert load_folder(path)[1] == CONFIG


def test_a_link_to_a_checkpoint_stays_a_link(folder: Path) -> None:
    link = folder.parent / "latest"
    link.symlink_to(folder)
    save_folder(link, {"model": WEIGHTS}, {"seed": 1})
    assert link.is_symlink()
    assert load_folder(folder)[1] == {"seed": 1}


def test_files_of_others_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match="is no priorfit checkpoint"):
        save_folder(tmp_path / "thesis", {"model": WEIGHTS}, CONFIG)
    (tmp_path / "thesis" / "config.json").write_text('{"format": "other"}')
    with pytest.raises(CheckpointError, match="is no priorfit checkpoint"):
        save_folder(tmp_path / "thesis", {"model": WEIGHTS}, CONFIG)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match="is a file"):
        save_folder(tmp_path / "file", {"model": WEIGHTS}, CONFIG)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == ["file", "thesis"]


def test_a_note_put_into_a_checkpoint_is_not_deleted_with_it(folder: Path) -> None:
    (folder / "notes.md").write_text("mine")
    with pytest.raises(CheckpointError, match=r"holds notes\.md, .* would be lost"):
        save_folder(folder, {"model": WEIGHTS}, {"seed": 1})
    assert load_folder(folder)[1] == CONFIG
    assert (folder / "notes.md").read_text() == "mine"


def full_disk_after(files: int) -> Callable[[Path, bytes], None]:
    def write(path: Path, content: bytes) -> None:
        nonlocal files
        path.write_bytes(content[:5])
        if files == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        files -= 1

    return write


@pytest.mark.parametrize("files", [0, 1])
def test_a_full_disk_raises_and_leaves_the_checkpoint_of_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    monkeypatch.setattr(checkpoint, "_write_file", full_disk_after(files))
    with pytest.raises(OSError, match="No space left"):
        save_folder(folder, {"model": {"weight": torch.zeros(5)}}, {"seed": 1})
    assert load_folder(folder)[1] == CONFIG
    assert names(folder.parent) == ["model"]


def test_a_rename_that_fails_puts_the_checkpoint_of_before_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def fails_for_the_new_one(self: Path, target: Path) -> Path:
        if self.name.endswith("-new"):
            raise PermissionError("read-only")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(PermissionError):
        save_folder(folder, {"model": WEIGHTS}, {"seed": 1})
    assert load_folder(folder)[1] == CONFIG
    assert names(folder.parent) == ["model"]


KILLED_AT_EVERY_STEP = """
import os, sys
from pathlib import Path
import torch
from priorfit.checkpoint import holds_checkpoint, load_folder, save_folder

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "os.scandir", "os.listdir"}
place = Path(sys.argv[1]) / "model"

def save(value):
    save_folder(place, {"model": {"value": torch.full((3,), float(value))}}, {"value": value})

def die_at(step):
    def hook(event, arguments):
        nonlocal step
        if event in STEPS:
            step -= 1
            if step == 0:
                os._exit(9)
    sys.addaudithook(hook)

save(0)
seen = set()
for step in range(1, 200):
    before = load_folder(place)[1]["value"]
    child = os.fork()
    if child == 0:
        die_at(step)
        save(before + 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert holds_checkpoint(place)
    groups, config = load_folder(place)
    assert config["value"] in (before, before + 1), (before, config)
    assert torch.equal(groups["model"]["value"], torch.full((3,), float(config["value"])))
    seen.add((config["value"] - before, place.exists()))
    if status == 0:
        break
assert step > 10, step
assert seen == {(0, True), (0, False), (1, True)}, seen   # also the instant between the two renames
assert sorted(os.listdir(sys.argv[1])) == ["model"], os.listdir(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_kill_at_any_step_leaves_one_complete_checkpoint(tmp_path: Path) -> None:
    done = run_forked(KILLED_AT_EVERY_STEP, tmp_path)
    assert done.returncode == 0, done.stderr


def test_one_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    write_atomically(path, "å\n")
    assert path.read_bytes() == "å\n".encode()
    write_atomically(path, b"\x00\x01")
    monkeypatch.setattr(checkpoint, "_write_file", full_disk_after(0))
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_bytes() == b"\x00\x01"
    assert names(tmp_path) == ["table.csv"]
