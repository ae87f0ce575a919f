"""A conditioned model answers again in a small part of the time of a full pass, and large questions fit in memory.

    python benchmarks/speed/predict_latency.py --save        about 3 minutes on two cores
    python benchmarks/speed/predict_latency.py --memory      half a minute: 100,000 queries against 2,000 points

Each repetition times, one after the other, ``posterior.predict`` of m queries by a model conditioned before, and
``model.condition`` and ``predict`` together, on the same context of n points and the same queries; then, for the last
table, one prediction for a batch of 16 datasets beside 16 predictions for single ones. Width 256, 6 layers, 4 heads,
feed-forward 512, 1000 buckets, 5 features, float32. Ratios are formed within a repetition; printed are their medians
and 95 % intervals. ``--memory``: the peak of a fresh process, Python and torch included, less the answer's logits.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios, seconds
from benchmarks.speed.prediction_memory import FEATURES, SETTINGS, untrained_model
from priorfit.network import PFN, NetworkSettings, RiemannHead
from priorfit.provenance import load
from priorfit.seeding import seeded

FULL = [(num_context, num_queries) for num_context in (100, 1000, 2000) for num_queries in (1, 10, 100)]
QUICK = [(10, 1), (20, 5)]
QUICK_SETTINGS = NetworkSettings(width=32, layers=2, feedforward=64, output=RiemannHead(num_buckets=50))
DATASETS = 16
WARMUP = 2
MEMORY_LIMIT = 2048
"""Megabytes that a prediction of 100,000 queries may take beyond its answer."""

Action = Callable[[], object]


def side_by_side(first: Action, second: Action, repetitions: int) -> tuple[list[float], list[float]]:
    """The seconds of two actions, in turn."""
    times = [(seconds(first), seconds(second)) for _ in range(WARMUP + repetitions)][WARMUP:]
    return [pair[0] for pair in times], [pair[1] for pair in times]


def cached_row(model: PFN, num_context: int, num_queries: int, repetitions: int) -> dict[str, Any]:
    """A conditioned model against a full pass."""
    context_x, context_y = torch.rand(num_context, FEATURES), torch.randn(num_context)
    query_x = torch.rand(num_queries, FEATURES)
    posterior = model.condition(context_x, context_y)
    again, whole = side_by_side(
        lambda: posterior.predict(query_x),
        lambda: model.condition(context_x, context_y).predict(query_x),
        repetitions,
    )
    return row("again / whole pass", num_context, num_queries, (again, whole))


def batched_row(model: PFN, num_context: int, num_queries: int, repetitions: int) -> dict[str, Any]:
    """One prediction for many datasets against one for each."""
    context_x, context_y = torch.rand(DATASETS, num_context, FEATURES), torch.randn(DATASETS, num_context)
    query_x = torch.rand(DATASETS, num_queries, FEATURES)
    together = model.condition(context_x, context_y)
    single = [model.condition(x, y) for x, y in zip(context_x, context_y, strict=True)]
    batched, one_by_one = side_by_side(
        lambda: together.predict(query_x),
        lambda: [posterior.predict(x) for posterior, x in zip(single, query_x, strict=True)],
        repetitions,
    )
    return row(f"batch of {DATASETS} / one by one", num_context, num_queries, (batched, one_by_one))


def row(name: str, num_context: int, num_queries: int, times: tuple[list[float], list[float]]) -> dict[str, Any]:
    """Milliseconds of both, and how many times as fast the first is."""
    first, second = times
    return {
        "name": name,
        "num_context": num_context,
        "num_queries": num_queries,
        "repetitions": len(first),
        "first_ms": median_interval([1e3 * value for value in first]),
        "second_ms": median_interval([1e3 * value for value in second]),
        "times_as_fast": ratios(second, first),
    }


def table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of one comparison."""
    names = rows[0]["name"].split(" / ")
    title = f"{names[0]} beside {names[1]}, {torch.get_num_threads()} threads, {rows[0]['repetitions']} repetitions"
    lines = [
        [
            f"n = {row['num_context']}, m = {row['num_queries']}",
            *(format(row[key], ".2f") for key in ("first_ms", "second_ms", "times_as_fast")),
        ]
        for row in rows
    ]
    show(title, ["", f"{names[0]} (ms)", f"{names[1]} (ms)", "times as fast"], lines)


def measured_memory(num_queries: int, num_context: int) -> dict[str, float]:
    """The memory of a prediction, measured in a process of its own."""
    child = Path(__file__).with_name("prediction_memory.py")
    command = [sys.executable, str(child), str(num_queries), str(num_context)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def report_memory(num_queries: int, num_context: int) -> dict[str, float]:
    """Measure, print, and say whether the limit holds."""
    memory = measured_memory(num_queries, num_context)
    show(
        f"{num_queries:,} queries against {num_context:,} points, width 256, 6 layers, 1000 buckets, in MB",
        ["the answer", "process before", "process at its peak", f"peak less answer (limit {MEMORY_LIMIT})"],
        [[f"{memory[key]:.0f}" for key in ("answer", "before", "peak", "beyond_answer")]],
    )
    if memory["beyond_answer"] >= MEMORY_LIMIT:
        raise SystemExit("the limit of memory is broken")
    return memory


def report_latency(quick: bool, repetitions: int, seed: int) -> list[dict[str, Any]]:
    """Measure and print both comparisons."""
    model = untrained_model(QUICK_SETTINGS if quick else SETTINGS, seed)
    with seeded(seed):
        cached = [cached_row(model, *sizes, repetitions) for sizes in (QUICK if quick else FULL)]
        table(cached)
        batched = [batched_row(model, *sizes, repetitions) for sizes in (QUICK if quick else FULL[:3])]
        table(batched)
    return cached + batched


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("predict_latency", __doc__)
    parser.add_argument("--memory", action="store_true", help="memory instead of time")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"load of the machine before: {load()}")
    if arguments.memory:
        rows = [report_memory(*((2_000, 200) if arguments.quick else (100_000, 2_000)))]
    else:
        rows = report_latency(arguments.quick, arguments.repetitions or (3 if arguments.quick else 30), arguments.seed)
    if arguments.save:
        save("predict_memory" if arguments.memory else "predict_latency", rows, arguments.seed)


if __name__ == "__main__":
    main()
