import json
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from priorfit import metrics
from priorfit.distributions import UnboundedRiemann, best_fit
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.metrics import divergence
from priorfit.network import NetworkSettings, RiemannHead
from priorfit.training import fit

FOLDER = Path(__file__).parents[2] / "benchmarks"
TINY = ["--set", "network.width=16", "--set", "network.layers=1", "--set", "data.batch_size=4"]


@pytest.fixture
def references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    from benchmarks.common import references  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(references, "FOLDER", tmp_path / "references")
    return references


@pytest.fixture
def pilot_tasks(references: ModuleType) -> ModuleType:
    from benchmarks.common import pilot_tasks  # pyright: ignore[reportMissingImports]

    return pilot_tasks


@pytest.fixture
def pilots_table() -> ModuleType:
    from benchmarks.pilots import pilots_table  # pyright: ignore[reportMissingImports]

    return pilots_table


def run_pilot(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["pilot", "--steps=2", "--threads=1", *TINY, *options])
    runpy.run_path(str(FOLDER / "pilots" / "pilot.py"), run_name="__main__")


@pytest.mark.parametrize(
    ("task", "datasets"),
    [("quickstart", 20), ("gp-5d", 2), ("hyper-1d", 2), ("bnn-small", 2)],
    ids=lambda each: str(each),
)
def test_a_pilot_trains_with_its_changes_and_saves_gap_and_floor(
    task: str,
    datasets: int,
    references: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from benchmarks.common import report  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    run_pilot(monkeypatch, f"--task={task}", f"--datasets={datasets}", "--set", "data.targets=expected", "--save")
    printed = capsys.readouterr().out
    assert "'steps': 2" in printed and "network.width=16" in printed and "floor of the head" in printed
    (row,) = (json.loads(line) for line in (tmp_path / "pilots.jsonl").read_text(encoding="utf-8").splitlines())
    assert (row["task"], row["targets"], row["training"]["steps"]) == (task, "expected", 2)
    assert row["gap"] > 0 and row["half_width"] > 0 and row["floor"] < 0.01
    assert len(row["gaps"]) == len(row["floors"]) > 1


def test_a_pilot_with_few_datasets_says_that_they_are_too_few(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_pilot(monkeypatch, "--datasets=4")
    assert "judge by more --datasets" in capsys.readouterr().out


def test_a_pilot_is_judged_as_metrics_judges(pilot_tasks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    task = pilot_tasks.TASKS["quickstart"]
    settings = NetworkSettings(
        width=16, layers=1, attention_heads=2, feedforward=16, output=RiemannHead(num_buckets=20)
    )
    model = fit(task.prior, num_points=24, steps=2, network=settings, progress=False)
    monkeypatch.setattr(pilot_tasks, "AT_ONCE", 7)
    found = pilot_tasks.judged(model, task, num_datasets=20)
    reference = pilot_tasks.ExactGP(task.prior)
    for size in task.sizes:
        tasks = task.questions(size, 20)
        assert found.gaps[size].mean == pytest.approx(metrics.gap(model, reference, tasks).mean, rel=1e-5)
        assert found.floors[size].mean == pytest.approx(metrics.floor(model, reference, tasks).mean, rel=1e-5)
    assert found.gap.half_width < max(each.half_width for each in found.gaps.values())


def test_a_table_of_a_mixture_gives_its_divergence_and_floor(references: ModuleType) -> None:
    generator = torch.Generator().manual_seed(0)

    def mixture(components: int, log_scale: float) -> NormalMixture:
        logits, loc, scale = torch.randn(3, 20, 2, components, generator=generator, dtype=torch.float64)
        return NormalMixture(logits, loc, (scale / 2 + log_scale).exp())

    truth, ppd = mixture(8, -2.0), mixture(3, -1.0)
    table = references.tabulated(truth, num_cells=1024)
    bars = UnboundedRiemann(torch.linspace(-5, 5, 101).double(), torch.zeros(20, 2, 100).double())
    for guess in (ppd, bars):
        torch.testing.assert_close(divergence(table, guess), divergence(truth, guess), rtol=2e-3, atol=1e-3)
    floor = divergence(table, best_fit(bars, table))
    torch.testing.assert_close(floor, divergence(truth, best_fit(bars, truth)), rtol=0.02, atol=1e-3)
    assert divergence(table, best_fit(ppd, table)).abs().max() < 1e-12


def test_what_takes_minutes_is_computed_once(references: ModuleType, pilot_tasks: ModuleType) -> None:
    task = pilot_tasks.TASKS["hyper-1d"]
    calls = []

    def compute(tasks: object) -> torch.distributions.Distribution:
        calls.append(tasks)
        return references.Tabulated(torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[0.4, 0.6]]), torch.zeros(1, 2))

    answers = [
        references.kept("key", references.Tabulated, task.questions(5, count), compute).entropy() for count in (3, 3, 4)
    ]
    assert len(calls) == 2, "the same datasets are answered from the disk, others are not"
    assert torch.equal(answers[0], answers[1])


def pilot_row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "task": "quickstart",
        "changes": ["network.width=96", "data.targets=expected"],
        "note": "wider",
        "budget": {"steps": 1200, "minutes": None},
        "targets": "expected",
        "training": {"steps": 1200, "seconds": 61.4},
        "gap": 0.04567,
        "half_width": 0.00123,
        "floor": 0.0,
        "threads": 1,
        "seed": 0,
    }
    return row | changes


def test_the_tables_of_the_pilots_group_by_task_and_budget(pilots_table: ModuleType) -> None:
    rows = [pilot_row(), pilot_row(task="gp-5d", changes=[], note="", seed=3), pilot_row(changes=["a=b|c"], note="")]
    printed = pilots_table.tables(rows).splitlines()
    assert [line for line in printed if line.startswith("###")] == [
        "### `quickstart`, 1,200 steps, 1 thread",
        "### `gp-5d`, 1,200 steps, 1 thread",
    ]
    first = "| wider, `network.width=96` | expected | 1,200 | 61 | 0.0457 ± 0.0012 | 0.0000 |"
    assert printed[3:5] == [first, "| `a=b\\|c` | expected | 1,200 | 61 | 0.0457 ± 0.0012 | 0.0000 |"]
    assert printed[-1].startswith("| seed 3 |")


def test_the_docs_can_be_made_anew_from_the_rows(
    pilots_table: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, rows = tmp_path / "page.md", tmp_path / "pilots.jsonl"
    page.write_text(f"above\n{pilots_table.BEGIN}\nstale\n{pilots_table.END}\nbelow\n", encoding="utf-8")
    rows.write_text(json.dumps(pilot_row()) + "\n", encoding="utf-8")
    monkeypatch.setattr(pilots_table, "PAGE", page)
    monkeypatch.setattr(pilots_table, "ROWS", rows)
    monkeypatch.setattr(sys, "argv", ["pilots_table", "--write"])
    pilots_table.main()
    text = page.read_text(encoding="utf-8")
    assert "0.0457 ± 0.0012" in text and "stale" not in text
    assert text.startswith("above\n") and text.endswith("below\n")


def test_the_docs_are_in_step_with_the_rows(pilots_table: ModuleType) -> None:
    page = pilots_table.PAGE.read_text(encoding="utf-8")
    fresh = pilots_table.written(page, pilots_table.tables(pilots_table.read(pilots_table.ROWS)))
    assert fresh == page, "run python benchmarks/pilots/pilots_table.py --write"
