"""Seconds and memory of the largest table that `tabular` was trained for: 500 rows of 100 columns, and 500 queries.

    python benchmarks/speed/large_table.py [--threads 2] [--save]

Two classes and ten, through `condition` and `predict`; the goal for two is 5 s and 2 GB. Each case is a process of its
own, which answers a small table first, so that nothing is loaded or compiled while the clock runs. Memory is the
largest resident size of that process, torch and the model included.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show
from benchmarks.speed.prediction_memory import peak_bytes
from priorfit.seeding import seeded
from priorfit.zoo import load

CLASSES = (2, 10)
ROWS, COLUMNS, QUERIES = 500, 100, 500


def measured(classes: int, rows: int, threads: int, seed: int) -> dict[str, Any]:
    """What one table costs this process."""
    torch.set_num_threads(threads)
    model = load("tabular")
    with seeded(seed):
        context, queries = torch.randn(rows, COLUMNS), torch.randn(QUERIES, COLUMNS)
    labels = torch.arange(rows) % classes
    model.condition(context[:20, :3], labels[:20]).predict(queries[:5, :3])
    clocks = time.perf_counter(), time.process_time()
    probabilities = model.condition(context, labels).predict(queries).probs
    seconds, processor = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
    if not bool(probabilities.isfinite().all()):
        raise SystemExit("the answer is not finite.")
    cost = {"seconds": seconds, "processor_seconds": processor, "gigabytes": peak_bytes() / 2**30}
    return {"classes": classes, "rows": rows, "threads": threads, **cost}


def in_a_process(classes: int, options: argparse.Namespace) -> dict[str, Any]:
    """The same, measured by a process of its own."""
    rows = 40 if options.quick else ROWS
    given = [f"--case={classes}", f"--rows={rows}", f"--threads={options.threads}", f"--seed={options.seed}"]
    done = subprocess.run([sys.executable, __file__, *given], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Measure each case, or the one that is asked for."""
    parser = parser_for("large_table", __doc__)
    parser.add_argument("--case", type=int, default=None, help="measure this number of classes in this process")
    parser.add_argument("--rows", type=int, default=ROWS)
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(measured(options.case, options.rows, options.threads, options.seed)))
        return
    rows = [in_a_process(classes, options) for classes in CLASSES]
    lines = [
        [str(row["classes"]), f"{row['seconds']:.2f}", f"{row['processor_seconds']:.2f}", f"{row['gigabytes']:.2f}"]
        for row in rows
    ]
    title = f"{rows[0]['rows']} rows of {COLUMNS} columns, {QUERIES} queries, threads: {options.threads}"
    show(title, ["classes", "seconds", "processor seconds", "GB"], lines)
    if options.save:
        save("large_table", rows, options.seed)


if __name__ == "__main__":
    main()
