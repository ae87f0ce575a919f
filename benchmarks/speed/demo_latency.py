"""What a moved point costs the server of the demo; at most 50 ms from event to new curves are wanted.

    python benchmarks/speed/demo_latency.py --save           a minute on two cores

A page of `priorfit demo` with 20 points. Without a browser, each repetition moves one point, as a drag does, and times
what the server does from the browser's message to the last byte of its answer: the new state, the network on the page's
grid, quantiles, heat map, the exact posterior, the cut, and the messages to the browser, serialised. Then it moves the
cursor alone, which asks only for a new cut. Not in it: the way to the browser and back, and its painting. Printed are
medians and 95 % intervals, in milliseconds of the clock and of this process on a processor: beside other work, the
clock also counts the waiting for a core.
"""

import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from bokeh.document import Document
from bokeh.protocol import Protocol

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval
from priorfit.demo.background import Background
from priorfit.demo.page import Page
from priorfit.demo.state import answer
from priorfit.demo.subject import NUM_QUERIES, NUM_VALUES, Subject, subjects
from priorfit.provenance import load

EXAMPLE = "twenty points"
WARMUP = 3
LIMIT = 50
"""Milliseconds that a moved point may take."""


class Drag:
    """A page, and a hand that moves one of its points up and down."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.document, self.protocol, self.random = Document(), Protocol(), random.Random(seed)
        self.page = Page([subject], Background(), self.document)
        self.page.start_from(EXAMPLE)
        self.start = dict(self.page.view.sources.points.data)
        self.document.on_change(self.send)
        self.serial, self.num_bytes = 0, 0

    def send(self, event: Any) -> None:
        """Send a change to the browser, as the server does."""
        message = self.protocol.create("PATCH-DOC", [event])
        self.num_bytes += len(message.content_json) + sum(memoryview(buffer.data).nbytes for buffer in message.buffers)

    def move_point(self) -> None:
        """A message with a moved point, answered."""
        y = list(self.start["y"])
        y[0] += 0.02 * self.random.uniform(-1, 1)
        self.page.view.sources.points.data = {"x": self.start["x"], "y": y}
        self.take_turn(None)

    def move_cursor(self) -> None:
        """A message with a moved cursor, answered."""
        self.take_turn(self.random.random())

    def take_turn(self, cursor: float | None) -> None:
        """One message of the browser, answered."""
        self.serial += 1
        self.page.take_turn(self.serial, cursor)


def measured_rows(subject: Subject, repetitions: int, seed: int) -> list[dict[str, Any]]:
    """Both kinds of event, and what the network alone takes of the first."""
    drag = Drag(subject, seed)
    points = drag.page.points
    actions = {
        "a point moves": drag.move_point,
        "... of which the network and its quantiles": lambda: answer(subject, points),
        "the cursor moves": drag.move_cursor,
    }
    clock: dict[str, list[float]] = {name: [] for name in actions}
    processor: dict[str, list[float]] = {name: [] for name in actions}
    sizes: dict[str, int] = {}
    for _ in range(WARMUP + repetitions):
        for name, action in actions.items():
            drag.num_bytes, began, began_work = 0, time.perf_counter(), time.process_time()
            action()
            clock[name].append(1e3 * (time.perf_counter() - began))
            processor[name].append(1e3 * (time.process_time() - began_work))
            sizes[name] = drag.num_bytes
    return [
        {
            "name": name,
            "ms": median_interval(clock[name][WARMUP:]),
            "processor_ms": median_interval(processor[name][WARMUP:]),
            "bytes": sizes[name],
        }
        for name in actions
    ]


def line(row: dict[str, Any]) -> list[str]:
    """A row as it is printed."""
    return [row["name"], f"{row['ms']:.1f}", f"{row['processor_ms']:.1f}", f"{row['bytes']:,}"]


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("demo_latency", __doc__)
    parser.set_defaults(threads=1)  # as in the demo
    parser.add_argument("--model", default=None, help="a released model's name or a folder; else the demo's first")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"load of the machine before: {load()}")
    subject = subjects(arguments.model)[0]
    repetitions = arguments.repetitions or (3 if arguments.quick else 50)
    rows = measured_rows(subject, repetitions, arguments.seed)
    title = (
        f"{subject.name}, {EXAMPLE}, {NUM_QUERIES} x {NUM_VALUES} cells, {arguments.threads} threads, "
        f"{repetitions} repetitions; at most {LIMIT} ms are wanted"
    )
    show(title, ["event", "ms", "ms on a processor", "bytes"], [line(row) for row in rows])
    if arguments.save:
        about = {"model": subject.name, "example": EXAMPLE, "repetitions": repetitions}
        save("demo_latency", [{**row, **about} for row in rows], arguments.seed)


if __name__ == "__main__":
    main()
