"""A saved posterior answers one row in a small part of the time of condition and predict.

    python benchmarks/speed/saved_posteriors.py --threads 1 --save              about a minute of a processor

For each model and n, in every round: the posterior is read from its folder, then one row is predicted from it; and the
network is conditioned on the same rows anew and predicts that row. Seconds of the processor, each for one row, ratios
formed round by round. Then the complaint that this answers: 247,000 predictions of one row each. Some 2,000 calls with
one row each say what all of them would take in such a loop, and chunks of 1,000 rows what they take together: all of
them are timed for `gp-hyper-1d` and `bnn-small`, a part for the larger models (`rows_timed_in_chunks`). Bytes are those
of the folder, which does not hold the weights of released models, and of the training rows in float64.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import Interval, median_interval, ratios
from priorfit.data import Real
from priorfit.errors import OutsideTrainingWarning

ALL_ROWS, CHUNK, TABLE_COLUMNS = 247_000, 1_000, 10
SIZES = (
    ("gp-rbf-5d", 1000, 2_000, 10_000),
    ("tabular", 500, 100, 1_000),
    ("gp-hyper-1d", 100, 2_000, ALL_ROWS),
    ("bnn-small", 1000, 2_000, ALL_ROWS),
)
"""Models, numbers of rows, calls with one row each that are timed, and rows that are timed in chunks.

`gp-rbf-5d` was trained on up to 2,000 rows, `tabular` on 500, the others on 100.
"""


def cpu_seconds(action: Callable[[], object]) -> float:
    """The time of the processor that one call took, over all threads."""
    start = time.process_time()
    action()
    return time.process_time() - start


def drawn(model: pf.Model, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and targets that a model takes."""
    columns = model.problem.num_features if model.problem.num_features <= TABLE_COLUMNS else TABLE_COLUMNS
    x = torch.rand(rows, columns)
    y = torch.sin(5 * x[:, 0]) + 0.1 * torch.randn(rows)
    return x, y if isinstance(model.problem.outcome, Real) else (y > 0.5).long()


def measured(name: str, n: int, folder: Path, rounds: int, loop: tuple[int, int]) -> dict[str, Any]:
    """One row of the table."""
    model = pf.load(name)
    (x, y), (queries, _) = drawn(model, n), drawn(model, loop[1])
    fitted = model.condition(x, y)
    assert isinstance(fitted, pf.PFNPosterior)
    fitted.save(folder)
    posterior = pf.load_posterior(folder)
    reading, one, anew = [], [], []
    for index in range(rounds):
        row = queries[[index % len(queries)]]
        reading.append(cpu_seconds(lambda: pf.load_posterior(folder, model=model)))
        posterior.predict(row)
        one.append(cpu_seconds(lambda row=row: posterior.predict(row)))
        anew.append(cpu_seconds(lambda row=row: model.condition(x, y).predict(row)))
    calls = cpu_seconds(lambda: [posterior.predict(queries[[index]]) for index in range(loop[0])]) / loop[0]
    chunks = cpu_seconds(lambda: [posterior.predict(chunk) for chunk in queries.split(CHUNK)]) / len(queries)
    return {
        "model": name,
        "n": n,
        "file_bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "row_bytes": 8 * (x.numel() + y.numel()),
        "seconds_read": median_interval(reading),
        "seconds_one_row": median_interval(one),
        "seconds_condition_and_predict": median_interval(anew),
        "times_cheaper": ratios(anew, one),
        "minutes_all_one_by_one": ALL_ROWS * calls / 60,
        "minutes_all_in_chunks": ALL_ROWS * chunks / 60,
        "rows_timed_in_chunks": len(queries),
    }


def line(row: dict[str, Any]) -> list[str]:
    """A row as text."""
    one, anew = (1e3 * row[f"seconds_{key}"].median for key in ("one_row", "condition_and_predict"))
    times: Interval = row["times_cheaper"]
    return [
        f"{row['model']}, n = {row['n']}",
        f"{row['file_bytes'] / 1e3:,.1f}",
        f"{row['row_bytes'] / 1e3:,.1f}",
        f"{1e3 * row['seconds_read'].median:.1f}",
        f"{one:.2f}",
        f"{anew:.1f}",
        f"{times:.0f}",
        f"{row['minutes_all_one_by_one']:.1f}",
        f"{row['minutes_all_in_chunks']:.2f}",
    ]


def main() -> None:
    """Measure, print and, when asked, save."""
    arguments = parser_for("saved_posteriors", __doc__).parse_args()
    torch.set_num_threads(arguments.threads)
    rounds = arguments.repetitions or (2 if arguments.quick else 7)
    sizes = SIZES[-2:] if arguments.quick else SIZES
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder, pf.seeded(arguments.seed):
        warnings.simplefilter("ignore", OutsideTrainingWarning)
        rows = []
        for name, n, *loop in sizes:
            calls, in_chunks = (5, 2 * CHUNK) if arguments.quick else loop
            rows.append(measured(name, n, Path(folder) / f"{name}-{n}", rounds, (calls, in_chunks)))
    columns = [
        "posterior", "file, kB", "rows, kB", "read, ms", "row, ms", "anew, ms", "cheaper",
        "all, min", "chunks, min",
    ]  # fmt: skip
    show(f"one row from a file; {torch.get_num_threads()} threads", columns, [line(row) for row in rows])
    if arguments.save:
        save("saved_posteriors", rows, arguments.seed)


if __name__ == "__main__":
    main()
