"""A run on a screen: a live bar on a terminal, plain lines elsewhere. (Imported late: rich loads slowly.)"""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from priorfit.training.progress import Display, Reading

LINE_SECONDS = 10.0
"""Seconds between two plain lines."""


class PlainLines(Display):
    """One line every few seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = time.monotonic() + LINE_SECONDS

    def announce(self, words: str) -> None:
        """See `Display.announce`."""
        write_line(self._console, words)

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
        self._console = console
        self._task: TaskID | None = None

    def announce(self, words: str) -> None:
        """See `Display.announce`."""
        write_line(self._console, words)

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


def write_line(console: Console, words: str) -> None:
    """Write a line without markup, since names in it may contain brackets or numbers."""
    console.print(words, highlight=False, markup=False, soft_wrap=True)


def display_for(console: Console) -> Display:
    """A bar on a terminal, plain lines elsewhere."""
    return LiveBar(console) if console.is_terminal else PlainLines(console)
