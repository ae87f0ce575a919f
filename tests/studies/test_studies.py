import json
import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "studies"
SCRIPTS = sorted(file.stem for file in FOLDER.glob("*.py") if "STUDY.main()" in file.read_text(encoding="utf-8"))


def refuse(*_: object) -> None:
    raise AssertionError("this was computed before")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_study_leaves_rows_and_a_figure_and_does_nothing_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import models  # pyright: ignore[reportMissingImports]
    import study  # pyright: ignore[reportMissingImports]

    def run() -> str:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        printed = capsys.readouterr().out
        return printed[printed.index("| ") :]  # from the first table on

    monkeypatch.setattr(study, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", [name, "--quick", "--threads=1"])
    table = run()
    rows, figure = (tmp_path / "quick" / place for place in (f"results/{name}.jsonl", f"figures/{name}.png"))
    before = rows.read_text(encoding="utf-8")
    for row in map(json.loads, before.splitlines()):
        assert {"commit", "date", "seed", "cpu", "threads", "load"} <= row["about"].keys()
    assert figure.read_bytes().startswith(b"\x89PNG")
    figure.unlink()

    monkeypatch.setattr(study.Rows, "add", refuse)
    monkeypatch.setattr(models, "train", refuse)
    assert run() == table
    assert figure.exists()
    assert rows.read_text(encoding="utf-8") == before


def test_every_study_is_in_the_index_with_its_command():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert f"`python studies/{name}.py`" in index


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_index_says_which_studies_have_not_been_run(name: str):
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith("|") and f"studies/{name}.py" in line]
    assert ("not yet run" in line) != (FOLDER / "results" / f"{name}.jsonl").exists()


@pytest.mark.parametrize("name", SCRIPTS)
def test_make_runs_every_study_and_its_docstring_says_what_it_shows(name: str):
    makefile = (FOLDER.parent / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^STUDIES := .*\b{name}\b", makefile, flags=re.MULTILINE)
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    docstring = text.split('"""')[1]
    for part in ("Figure ", f"python studies/{name}.py", "Claim", "The paper", "Cost"):
        assert part in docstring
