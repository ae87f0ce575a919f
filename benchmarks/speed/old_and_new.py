"""A training step and a prediction cost no more processor time than in an older checkout of this library.

    git worktree add --detach build/old-house 101f886      before solvers became one family
    python benchmarks/speed/old_and_new.py build/old-house --save          about four minutes on one core

Both checkouts run in processes of their own, with this Python and one thread, and take turns: old, new, new, old, and
so on. Subjects are `gp-rbf-1d` and `bnn-small` as they are released, trained on by their recipes, and a plain
transformer (width 128, 4 layers, 5 features, 101 points, batch 32); a prediction conditions on 50 points and answers
500 queries. Times are processor seconds, which other processes on the machine disturb less than the clock. Both draw
the same data from the same seeds: the largest difference of a loss or a mean log density is printed too. Printed are
medians with 95 % intervals, and the ratio new / old within pairs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios
from priorfit.provenance import commit, load

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("house_worker.py")
SUBJECTS = ("gp-rbf-1d", "bnn-small", "plain transformer")
ACTIONS = ("train", "predict")
WARMUP = 3


class House:
    """A process in which the library is that of one checkout."""

    def __init__(self, checkout: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str((checkout / "src").resolve()), "OMP_NUM_THREADS": "1"},
        )

    def measure(self, subject: str, action: str) -> dict[str, float]:
        """Processor seconds and the value of one step or prediction."""
        requests, replies = _open(self._process.stdin), _open(self._process.stdout)
        requests.write(json.dumps({"subject": subject, "action": action}) + "\n")
        requests.flush()
        reply = replies.readline()
        if not reply:
            raise RuntimeError(f"the process of a checkout ended at {action} of {subject}; its error is above.")
        return json.loads(reply)

    def close(self) -> None:
        """End the process, which stops where its requests do."""
        self._process.communicate()


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # both were asked for
    return pipe


@contextmanager
def house(checkout: Path) -> Iterator[House]:
    """A process for a checkout, for as long as it is needed."""
    process = House(checkout)
    try:
        yield process
    finally:
        process.close()


def row(old: House, new: House, subject: str, action: str, repetitions: int) -> dict[str, Any]:
    """Times of both checkouts in turns; which one comes first alternates."""
    measured: dict[str, list[dict[str, float]]] = {"old": [], "new": []}
    houses = [("old", old), ("new", new)]
    for repetition in range(WARMUP + repetitions):
        for name, each in houses if repetition % 2 else houses[::-1]:
            measured[name].append(each.measure(subject, action))
    differences = [abs(a["value"] - b["value"]) for a, b in zip(measured["old"], measured["new"], strict=True)]
    before, after = ([each["seconds"] * 1e3 for each in measured[name][WARMUP:]] for name in ("old", "new"))
    return {
        "subject": subject,
        "action": action,
        "repetitions": repetitions,
        "old_milliseconds": median_interval(before),
        "new_milliseconds": median_interval(after),
        "new_over_old": ratios(after, before),
        "largest_difference": max(differences),
    }


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, marked where its code was changed."""
    return commit(checkout.resolve() / "src" / "priorfit" / "provenance.py", script=WORKER)


def table(rows: list[dict[str, Any]]) -> None:
    """Print the rows."""
    lines = [
        [
            f"{each['action']} {each['subject']}",
            f"{each['old_milliseconds']:.2f}",
            f"{each['new_milliseconds']:.2f}",
            f"{each['new_over_old']:.3f}",
            f"{each['largest_difference']:.1e}",
        ]
        for each in rows
    ]
    show("processor milliseconds", ["", "old", "new", "new / old", "largest difference"], lines)


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("old_and_new", __doc__)
    parser.add_argument("old", type=Path, help="the older checkout")
    arguments = parser.parse_args()
    commits = {"old_commit": commit_of(arguments.old), "new_commit": commit_of(ROOT)}
    print(f"load of the machine before: {load()}; {commits}")
    repetitions = arguments.repetitions or (2 if arguments.quick else 60)
    with ExitStack() as stack:
        old, new = (stack.enter_context(house(each)) for each in (arguments.old, ROOT))
        rows = [row(old, new, subject, action, repetitions) | commits for subject in SUBJECTS for action in ACTIONS]
    table(rows)
    if arguments.save:
        save("old_and_new", rows, arguments.seed)


if __name__ == "__main__":
    main()
