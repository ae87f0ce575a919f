import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from priorfit.network import NetworkSettings
from priorfit.priors import LinearRegression

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(script for script in FOLDER.glob("*/*.py") if script.name != "__init__.py")
RUNS = [
    ["speed/training_step", "--alone"],
    ["speed/predict_latency"],
    ["speed/baseline_cost"],
    ["speed/gp_speed"],
    ["speed/saved_posteriors"],
    ["release/hand_placed"],
    ["pilots/label_regression"],
    ["pilots/smooth_features"],
    ["release/surprise_power"],
    ["release/joint_density"],
    ["pilots/objectives"],
    ["speed/time_to_quality", "--peers"],
]


@pytest.fixture
def training_step() -> ModuleType:
    from benchmarks.speed import training_step  # pyright: ignore[reportMissingImports]

    return training_step


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run[0])
def test_a_benchmark_runs_and_prints_an_interval(
    run: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [*run, "--quick", "--threads=1", "--repetitions=2"])
    runpy.run_path(str(FOLDER / f"{run[0]}.py"), run_name="__main__")
    check_printed(capsys.readouterr().out)


def test_the_benchmark_of_drawing_runs_and_prints_an_interval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With networks and blocks that are smaller than those of its quick form, which trains a network of width 256."""
    from benchmarks.speed import prior_sampling  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(prior_sampling, "WIDE", NetworkSettings(width=32, layers=1, attention_heads=2, feedforward=32))
    monkeypatch.setattr(prior_sampling, "BLOCK", 3)
    monkeypatch.setattr(prior_sampling, "priors", lambda: {"linear": (LinearRegression(num_features=2), 20)})
    monkeypatch.setattr(sys, "argv", ["prior_sampling", "--threads=1", "--repetitions=2"])
    prior_sampling.main()
    check_printed(capsys.readouterr().out)


def check_printed(printed: str) -> None:
    assert "1 threads" in printed
    assert "[" in printed


def test_the_operations_counted_are_those_that_torch_counts(training_step: ModuleType) -> None:
    sizes = training_step.Sizes(num_points=12, batch_size=3, width=16, layers=3, feedforward=24, buckets=10)
    step = training_step.OwnStep(sizes, "adam", seed=0)
    batch = training_step.draw_batch(step.recipe, 0, 0)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        step.trainer.step_loss(batch).backward()
    assert step.flops == counter.get_total_flops()


def test_the_operations_of_muon_are_those_that_torch_counts(training_step: ModuleType) -> None:
    sizes = training_step.Sizes(num_points=12, batch_size=3, width=16, layers=3, feedforward=24, buckets=10)
    step = training_step.OwnStep(sizes, "muon", seed=0)
    step.take()
    with FlopCounterMode(display=False) as counter:
        step.trainer.optimisers.step(1.0)
    assert step.optimiser_flops == counter.get_total_flops()


def test_the_process_of_a_checkout_trains_and_predicts() -> None:
    from benchmarks.speed import old_and_new  # pyright: ignore[reportMissingImports]

    with old_and_new.house(FOLDER.parent) as process:
        row = old_and_new.row(process, process, "bnn-small", "predict", repetitions=2)
        first, second = (process.measure("bnn-small", "train") for _ in range(2))
    assert row["largest_difference"] == 0
    assert row["new_over_old"].median > 0
    assert min(first["seconds"], second["seconds"]) > 0
    assert first["value"] != second["value"]


def test_a_saved_result_says_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.common import report  # pyright: ignore[reportMissingImports]
    from benchmarks.common.timing import median_interval  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    report.save("some", [{"name": "one", "ms": median_interval([1.0, 2.0, 3.0])}], seed=4)
    saved = json.loads((tmp_path / "some.json").read_text(encoding="utf-8"))
    assert saved["about"]["seed"] == 4
    assert {"commit", "date", "threads", "cpu", "torch", "load"} <= saved["about"].keys()
    assert saved["rows"] == [{"name": "one", "ms": {"median": 2.0, "low": 1.0, "high": 3.0}}]


def test_the_interval_of_a_median_is_that_of_order_statistics() -> None:
    from benchmarks.common.timing import median_interval  # pyright: ignore[reportMissingImports]

    interval = median_interval(range(1, 21))
    assert (interval.median, interval.low, interval.high) == (10.5, 6, 15)


@pytest.mark.parametrize(
    ("num_queries", "num_context", "limit"),
    [(5_000, 200, 1024), pytest.param(20_000, 2_000, 1024, marks=pytest.mark.slow)],
)
def test_a_large_prediction_takes_little_memory_beyond_its_answer(
    num_queries: int, num_context: int, limit: int
) -> None:
    command = [sys.executable, str(FOLDER / "speed" / "prediction_memory.py"), str(num_queries), str(num_context)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(answer)["beyond_answer"] < limit


def test_every_benchmark_is_in_the_index() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"`{script.name}`" in index, f"{script.name} is not in benchmarks/README.md."


def test_a_script_finds_the_other_rooms_wherever_it_is_run(tmp_path: Path) -> None:
    for script in SCRIPTS:
        lines = script.read_text(encoding="utf-8").splitlines()
        uses_others = any(line.startswith("from benchmarks.") for line in lines)
        if uses_others and 'if __name__ == "__main__":' in lines:
            assert any(line.startswith("sys.path.insert(0, str(Path(__file__).parents[2]))") for line in lines), script
    command = [sys.executable, str(FOLDER / "pilots" / "pilots_table.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "|" in done.stdout
