import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from priorfit.provenance import circumstances, commit


def repository(folder: Path) -> Path:
    """A clone with one tracked file."""
    file = folder / "code.py"
    file.write_text("one\n", encoding="utf-8")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", file.name], [*author, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return file


def test_circumstances_say_when_where_and_by_which_code():
    found = circumstances(seed=4)
    assert found["seed"] == 4
    assert (found["threads"], found["torch"], found["cores"]) == (
        torch.get_num_threads(),
        torch.__version__,
        os.cpu_count(),
    )
    assert datetime.now(UTC) - datetime.fromisoformat(found["date"]) < timedelta(minutes=1)


def test_a_commit_is_marked_where_files_have_been_changed_since(tmp_path: Path):
    file = repository(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", commit(file))
    file.write_text("two\n", encoding="utf-8")
    assert re.fullmatch("[0-9a-f]{40}-dirty", commit(file))


def test_a_file_that_a_clone_does_not_track_has_no_commit(tmp_path: Path):
    installed = repository(tmp_path).with_name("installed.py")
    installed.touch()
    assert commit(installed) == "unknown"


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(file) == "unknown"
