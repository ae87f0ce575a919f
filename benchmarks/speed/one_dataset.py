"""One dataset at a time: `gp-hyper-1d` at n = 30 beside MLE-II, and beside an earlier version of this library.

    git worktree add /tmp/before 5d83030
    python benchmarks/speed/one_dataset.py --threads 1 --before /tmp/before/src --save          about two minutes

A user's loop asks for one dataset after the other. Each source tree has a process of its own, which stays loaded; in
every round each of them answers the same ten datasets, one at a time, down to the log density of one query, and fits a
`PFNClassifier` of `tabular-binary-small` to 30 rows of five columns and predicts one; then MLE-II (BoTorch) fits one of
the datasets. "After other work" is the first answer behind MLE-II, when caches hold other things; "in a loop" the mean
of the ten. Seconds of the processor; medians and 95 % intervals; ratios are formed round by round, since the machine
may be busy. The answers of both versions are compared as well.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import numpy as np
import torch

import priorfit as pf
from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios
from benchmarks.speed.baseline_cost import answer, one_of

PRIOR = pf.HyperGaussianProcess(num_features=1)
NUM_CONTEXT, DATASETS, ROWS, COLUMNS = 30, 10, 30, 5


def cpu_seconds(action: Callable[[], object]) -> float:
    """The time of the processor that one call took, over all threads."""
    start = time.process_time()
    action()
    return time.process_time() - start


class Worker:
    """A process that answers with the package of one source tree."""

    def __init__(self, source: Path, seed: int) -> None:
        command = [sys.executable, __file__, "--worker", "--seed", str(seed)]
        path = f"{source}:{Path(__file__).parents[2]}"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": path}
        )

    def asked(self) -> dict[str, Any]:
        """One round: the seconds, and the log densities."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def work(seed: int) -> None:
    """Answer as often as a line comes in."""
    from priorfit.estimators import PFNClassifier

    torch.set_num_threads(1)
    batch, model = drawn(seed), pf.load("gp-hyper-1d")
    tasks = [one_of(batch, index) for index in range(DATASETS)]
    random = np.random.RandomState(seed)
    rows = random.rand(ROWS, COLUMNS)
    labels = rows[:, 0] > rows[:, 1]

    def classify() -> object:
        return PFNClassifier("tabular-binary-small").fit(rows, labels).predict_proba(rows[:1])

    for _ in range(2):
        classify()
    for _ in sys.stdin:
        first = cpu_seconds(lambda: answer(model, tasks[0]))
        loop = cpu_seconds(lambda: [answer(model, task) for task in tasks]) / DATASETS
        classify()  # so that caches hold what it needs
        row = {"after other work": first, "in a loop": loop, "PFNClassifier": cpu_seconds(classify)}
        densities = [
            float(model.condition(t.context_x, t.context_y).predict(t.query_x).log_prob(t.query_y)) for t in tasks
        ]
        print(json.dumps({"seconds": row, "answers": densities}), flush=True)


def drawn(seed: int) -> pf.Batch:
    """The datasets."""
    with pf.seeded(seed):
        return PRIOR.sample(64, NUM_CONTEXT + 1).split(NUM_CONTEXT)


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("one_dataset", __doc__)
    parser.add_argument("--before", type=Path, default=None, help="the src folder of an earlier version")
    parser.add_argument("--worker", action="store_true", help="be one of the processes")
    arguments = parser.parse_args()
    if arguments.worker:
        return work(arguments.seed)
    torch.set_num_threads(arguments.threads)
    sources = {"now": Path(pf.__file__).parents[1]}
    sources |= {} if arguments.before is None else {"before": arguments.before}
    workers = {name: Worker(source, arguments.seed) for name, source in sources.items()}
    rounds = arguments.repetitions or (2 if arguments.quick else 25)
    baseline, batch = pf.baselines.MLE2GP(PRIOR, seed=arguments.seed), drawn(arguments.seed)
    answer(baseline, one_of(batch, 0))
    times: dict[tuple[str, str], list[float]] = {}
    answers: dict[str, list[float]] = {}
    for index in range(rounds):
        seconds = cpu_seconds(lambda index=index: answer(baseline, one_of(batch, index % 64)))
        times.setdefault(("MLE-II", "one dataset"), []).append(seconds)
        for name, worker in workers.items():
            found = worker.asked()
            answers[name] = found["answers"]
            for kind, took in found["seconds"].items():
                times.setdefault((name, kind), []).append(took)
    for worker in workers.values():
        worker.process.terminate()
    rows = rows_of(times)
    show(
        f"n = {NUM_CONTEXT}, one query; {rounds} rounds", list(rows[0]), [list(map(str, row.values())) for row in rows]
    )
    if "before" in answers:
        print(
            f"largest difference of a log density: {np.abs(np.subtract(answers['now'], answers['before'])).max():.1e}"
        )
    if arguments.save:
        save("one_dataset", rows, arguments.seed)
    return None


def rows_of(times: dict[tuple[str, str], list[float]]) -> list[dict[str, str]]:
    """Each measurement with its ratios to MLE-II and to the version before."""
    mle, rows = times["MLE-II", "one dataset"], []
    for (name, kind), seconds in times.items():
        before = times.get(("before", kind)) if name == "now" else None
        is_gp = name != "MLE-II" and kind != "PFNClassifier"
        rows.append(
            {
                "version": name,
                "what": kind,
                "ms": f"{median_interval([1e3 * each for each in seconds]):.2f}",
                "MLE-II takes times": f"{ratios(mle, seconds):.0f}" if is_gp else "",
                "before took times": "" if before is None else f"{ratios(before, seconds):.2f}",
            }
        )
    return rows


if __name__ == "__main__":
    main()
