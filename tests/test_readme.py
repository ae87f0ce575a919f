"""The README is short, its code runs, its links lead somewhere, and its numbers are those that were measured."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
METHODS = ("tabular", "tuned XGBoost", "TabPFN v1")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def results(name: str) -> list[dict]:
    (file,) = (ROOT / "benchmarks").rglob(f"results/{name}.json")
    return json.loads(file.read_text(encoding="utf-8"))["rows"]


def test_the_readme_fits_on_a_screen_or_two():
    assert len(TEXT.splitlines()) <= 60


def test_the_readme_has_an_example():
    assert len(BLOCKS) == 1


@pytest.mark.usefixtures("as_users_run_it", "few_surprises", "few_steps")
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_code_of_the_readme_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_a_type_checker_accepts_the_readme(tmp_path: Path):
    (tmp_path / "example.py").write_text(BLOCKS[0], encoding="utf-8")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", TEXT))
def test_the_links_of_the_readme_lead_somewhere(link: str):
    assert link.startswith("https://") or (ROOT / link).exists()


@pytest.mark.parametrize("command", re.findall(r"`python (benchmarks/\S+)", TEXT))
def test_every_number_has_a_script_that_prints_it(command: str):
    assert (ROOT / command).exists()


def test_the_gap_after_five_minutes_is_the_measured_one():
    ours, *_, peer = results("time_to_quality")
    assert ours["name"] == "priorfit, fit" and peer["name"].startswith("pfns")
    ratio, low, high = peer["times_ours"]
    assert f"a gap of {ours['gap']['mean']:.4f} nats" in WORDS
    assert f"{ratio:,.0f} [{low:,.0f}, {high:,.0f}] times as much" in WORDS


def test_the_times_of_other_methods_are_the_measured_ones():
    rows = {row["baseline"]: row["times_pfn_64"] for row in results("gp_speed")}
    mle, nuts = rows["MLE-II, BoTorch"], rows["NUTS 256 + 256, Pyro"]
    assert f"{mle['median']:.0f} [{mle['low']:.0f}, {mle['high']:.0f}] times" in WORDS
    assert (
        f"{round(nuts['median'], -2):,.0f} [{round(nuts['low'], -2):,.0f}, {round(nuts['high'], -2):,.0f}] times"
        in WORDS
    )


def test_the_scores_of_small_tables_are_those_of_the_study(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    from tabular_board import Board  # pyright: ignore[reportMissingImports]
    from tabular_statistics import signed_rank_p  # pyright: ignore[reportMissingImports]

    lines = (ROOT / "studies" / "results" / "tabular.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row["key"] | row["found"] for row in map(json.loads, lines) if "timing" not in row["key"]]
    board = Board([row for row in rows if row["source"] == "folder"])
    means = {name: [f"{board.mean(name, score):.3f}" for score in ("auc", "log_loss")] for name in METHODS}
    ours, tuned, peer = means.values()
    assert f"AUC {ours[0]} and log loss {ours[1]}, tuned XGBoost {tuned[0]} and {tuned[1]}" in WORDS
    assert f"TabPFN v1 {peer[0]} and {peer[1]}" in WORDS
    areas = ([board.of_set(name, one, "auc") for one in board.sets] for name in METHODS[:2])
    assert f"p = {signed_rank_p(*areas):.3f}" in WORDS
