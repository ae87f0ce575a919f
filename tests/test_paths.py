"""Whatever is passed as a path, through every door that takes one: one of our errors, and nothing is written."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_recipes import TINY_NETWORK

import priorfit as pf
from priorfit.errors import InputError, PriorfitError
from priorfit.network import PFN, Problem, load_pfn
from priorfit.paths import usable_path

pytestmark = pytest.mark.usefixtures("as_users_run_it")

MODEL = PFN(TINY_NETWORK, Problem(1, pf.Real(), (0.0, 1.0)))
DOORS: dict[str, Callable[[object], object]] = {
    "load": pf.load,
    "load_pfn": load_pfn,
    "save": MODEL.save,
    "fit": lambda path: pf.fit(pf.GaussianProcess(), num_points=3, steps=1, folder=path, progress=False),
    "resume": lambda path: pf.fit(pf.GaussianProcess(), num_points=3, steps=1, folder=path, resume=True),
    "read_recipe": pf.read_recipe,
}
NO_PATHS = {"number": 5, "empty": "", "bytes": b"model", "null byte": "a\0b", "long": "x" * 300, "list": ["model"]}


@pytest.mark.parametrize("path", NO_PATHS.values(), ids=NO_PATHS.keys())
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_what_is_no_path_is_refused(door, path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="expected a path, as text or a pathlib.Path; got|cannot be used as a path"):
        door(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["file", "file/below", "folder", "loop", "loop/below"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_a_path_to_something_else_is_refused_and_nothing_is_touched(door, where: str, tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(PriorfitError):
        door(tmp_path / where)
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "file",
        "folder",
        "loop",
        "thesis.tex",
    ]


def test_a_path_that_is_free_is_taken_as_it_is(tmp_path: Path):
    assert usable_path(str(tmp_path / "new")) == tmp_path / "new"
