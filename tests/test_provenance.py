import os
import re
import subprocess
import sys
import types
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from priorfit.provenance import circumstances, commit


def repository(folder: Path) -> Path:
    """A clone of a package with a released model, a script with its rows, and a document; the package's file."""
    file = folder / "src" / "package" / "code.py"
    for path in (file, file.parent / "zoo" / "model" / "config.json", *map(folder.joinpath, BESIDE)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\n", encoding="utf-8")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return file


BESIDE = ("studies/script.py", "studies/other.py", "studies/results/rows.jsonl", "README.md")


def test_circumstances_say_when_where_and_by_which_code():
    found = circumstances(seed=4)
    assert found["seed"] == 4
    assert (found["threads"], found["torch"], found["cores"]) == (
        torch.get_num_threads(),
        torch.__version__,
        os.cpu_count(),
    )
    assert datetime.now(UTC) - datetime.fromisoformat(found["date"]) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("changed", "is_dirty"),
    [
        ("src/package/code.py", True),
        ("src/package/new.py", True),
        ("studies/script.py", True),
        ("studies/other.py", False),
        ("studies/results/rows.jsonl", False),
        ("studies/results/more.jsonl", False),
        ("README.md", False),
        ("src/package/zoo/model/config.json", False),
        ("src/package/zoo/new/model.safetensors", False),
        ("src/package/zoo/catalogue.py", True),
    ],
)
def test_a_commit_is_marked_where_the_code_that_runs_has_been_changed_since(
    changed: str, is_dirty: bool, tmp_path: Path
):
    file, script = repository(tmp_path), tmp_path / "studies" / "script.py"
    assert re.fullmatch("[0-9a-f]{40}", commit(file, script))
    (tmp_path / changed).parent.mkdir(parents=True, exist_ok=True)
    with (tmp_path / changed).open("a", encoding="utf-8") as appended:
        appended.write("two\n")
    assert re.fullmatch("[0-9a-f]{40}" + "-dirty" * is_dirty, commit(file, script))


def test_a_module_that_the_script_has_loaded_counts_as_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, script = repository(tmp_path), tmp_path / "studies" / "script.py"
    (tmp_path / "studies" / "other.py").write_text("two = 2\n", encoding="utf-8")
    loaded = types.ModuleType("other")
    loaded.__file__ = str(tmp_path / "studies" / "other.py")
    assert not commit(file, script).endswith("-dirty")
    monkeypatch.setitem(sys.modules, "other_of_this_test", loaded)
    assert commit(file, script).endswith("-dirty")


@pytest.mark.parametrize("is_package", [True, False])
def test_a_module_of_another_room_counts_where_the_rooms_are_one_package(
    is_package: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = repository(tmp_path)
    script, other = tmp_path / "benchmarks" / "script.py", tmp_path / "studies" / "other.py"
    if is_package:
        (tmp_path / "__init__.py").touch()
    other.write_text("two = 2\n", encoding="utf-8")
    loaded = types.ModuleType("other")
    loaded.__file__ = str(other)
    monkeypatch.setitem(sys.modules, "other_of_this_test", loaded)
    assert commit(file, script).endswith("-dirty") == is_package


def test_a_script_outside_of_the_clone_does_not_matter(tmp_path: Path):
    (tmp_path / "clone").mkdir()
    file, script = repository(tmp_path / "clone"), tmp_path / "script.py"
    script.write_text("changed\n", encoding="utf-8")
    assert re.fullmatch("[0-9a-f]{40}", commit(file, script))
    assert re.fullmatch("[0-9a-f]{40}", commit(file))  # pytest is the script


def test_a_file_that_a_clone_does_not_track_has_no_commit(tmp_path: Path):
    installed = repository(tmp_path).with_name("installed.py")
    installed.touch()
    assert commit(installed) == "unknown"


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(file) == "unknown"
