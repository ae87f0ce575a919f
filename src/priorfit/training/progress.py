"""What a person sees of a run: a live line on a terminal, plain lines elsewhere, or nothing."""

import logging
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

logger = logging.getLogger(__name__)

LINE_SECONDS = 10.0
"""How often a plain line is written."""


@dataclass(frozen=True)
class Reading:
    """The state of a run after a step."""

    step: int
    steps: int
    loss: float
    gap: float | None
    datasets_per_second: float
    seconds: float
    learning_rate: float
    skipped: int

    def row(self) -> dict[str, Any]:
        """The reading as a row of ``metrics.jsonl``."""
        return asdict(self)

    def __str__(self) -> str:
        gap = "" if self.gap is None else f"  gap {self.gap:.3f}"
        skipped = f"  skipped {self.skipped}" if self.skipped else ""
        return f"loss {self.loss:+.3f}{gap}  {self.datasets_per_second:,.0f} datasets/s{skipped}"


class Display(ABC):
    """Shows readings; used as a context."""

    @abstractmethod
    def show(self, reading: Reading) -> None:
        """Take in a reading; whether anything is drawn is the display's affair."""

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Silent(Display):
    """Shows nothing."""

    def show(self, reading: Reading) -> None:
        """See `Display.show`."""


class PlainLines(Display):
    """One line every few seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + LINE_SECONDS

    def show(self, reading: Reading) -> None:
        """See `Display.show`."""
        if time.monotonic() < self._next and reading.step < reading.steps:
            return
        self._next = time.monotonic() + LINE_SECONDS
        left = reading.seconds / reading.step * (reading.steps - reading.step)
        self._console.print(f"step {reading.step}/{reading.steps}  {reading}  {left:.0f} s left", highlight=False)


class LiveBar(Display):
    """A bar on a terminal."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task: TaskID | None = None

    def show(self, reading: Reading) -> None:
        """See `Display.show`."""
        if self._task is None:
            self._task = self._bar.add_task("", total=reading.steps)
        self._bar.update(self._task, completed=reading.step, total=reading.steps, description=str(reading))

    def __enter__(self) -> "LiveBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def display_for(console: Console) -> Display:
    """A bar on a terminal, plain lines elsewhere."""
    return LiveBar(console) if console.is_terminal else PlainLines(console)
