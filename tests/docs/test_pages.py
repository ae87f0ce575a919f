"""The code on the pages of the site runs, top to bottom, one namespace a page."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import priorfit as pf

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
TESTED_ELSEWHERE = {"estimators.md"}  # tests/estimators holds its table to its words, too


def pages() -> dict[str, str]:
    files = sorted(file for file in DOCS.rglob("*.md") if "_build" not in file.parts)
    texts = {str(file.relative_to(DOCS)): file.read_text(encoding="utf-8") for file in files}
    return {name: "\n".join(BLOCK.findall(text)) for name, text in texts.items() if name not in TESTED_ELSEWHERE}


CODE = {name: code for name, code in pages().items() if code}


def test_the_tutorials_have_code():
    names = ("own_prior", "simulator", "classification", "finetuning", "many_machines", "saved_posteriors")
    tutorials = {f"tutorials/{name}.md" for name in names}
    how_tos = {f"how_to/add_a_{name}.md" for name in ("prior", "head", "solver", "baseline")}
    assert {"idea.md", "models.md", "faq.md", *tutorials, *how_tos} <= CODE.keys()


@pytest.mark.timeout(900)  # seconds on an idle machine, minutes beside trainings
@pytest.mark.usefixtures("as_users_run_it", "few_surprises", "few_comparisons", "few_steps")
@pytest.mark.parametrize("page", CODE)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some save a model or a picture
    exec(compile(CODE[page], page, "exec"), {"__name__": "page"})


MODULES = {"priorfit": "priorfit", "torchrun": "torch.distributed.run"}


@pytest.mark.slow  # four interpreters that load torch
@pytest.mark.timeout(900)
def test_the_commands_for_many_machines_run_and_give_the_same_model(tmp_path: Path):
    page = (DOCS / "tutorials" / "many_machines.md").read_text(encoding="utf-8")
    (recipe,), (commands,) = (re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL) for kind in ("toml", "sh"))
    (tmp_path / "waves.toml").write_text(recipe, encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for line in commands.splitlines():
        program, *arguments = shlex.split(line)
        command = [sys.executable, "-m", MODULES[program], *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    one, two = (pf.load(tmp_path / "runs" / run / "model").state_dict() for run in ("one", "two"))
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, atol=1e-4, rtol=1e-3)


ENTRY = ("- **What:** ", "- **Why:** ", "- **Measured:** ", "- **Result:** ", "- **Decided:** ")


def test_an_entry_of_the_log_is_five_lines_and_the_newest_comes_first():
    entries = (DOCS / "log.md").read_text(encoding="utf-8").split("\n## ")[1:]
    for entry in entries:
        title, *lines = entry.strip().splitlines()
        assert re.match(r"\d{4}-\d\d-\d\d: ", title), title
        assert all(line.startswith(part) for line, part in zip(lines, ENTRY, strict=True)), title
    dates = [entry[:10] for entry in entries]
    assert dates == sorted(dates, reverse=True)


def test_no_number_rests_on_a_script_that_is_not_kept():
    for file in DOCS.rglob("*.md"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert "not kept" not in line or "no numbers are given" in line or not re.search(r"\d\.\d", line), line
