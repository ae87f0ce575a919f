"""The readings of a run after each step, and the displays that show them."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any

from priorfit.metrics.estimate import nats


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
    stage: str = ""
    left_out: float | None = None

    def row(self) -> dict[str, Any]:
        """The reading as a row of ``metrics.jsonl``."""
        hidden = {"stage"} if self.left_out is not None else {"stage", "left_out"}
        return {name: value for name, value in asdict(self).items() if name not in hidden}

    def __str__(self) -> str:
        gap = "" if self.gap is None else f"  gap {nats(self.gap)}"
        gap += "" if self.left_out is None else f"  left out {self.left_out:+.3f}"
        skipped = f"  skipped {self.skipped}" if self.skipped else ""
        stage = f"{self.stage}  " if self.stage else ""
        return f"{stage}loss {self.loss:+.3f}{gap}  {self.datasets_per_second:,.0f} datasets/s{skipped}"


class Display(ABC):
    """Shows readings; used as a context."""

    def announce(self, words: str) -> None:
        """Show a line before the first reading; by default nothing is shown."""
        return

    @abstractmethod
    def show(self, reading: Reading) -> None:
        """Receive a reading; a display may skip some."""

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Silent(Display):
    """Shows nothing."""

    def show(self, reading: Reading) -> None:
        """See `Display.show`."""

    def announce(self, words: str) -> None:
        """See `Display.announce`."""


class Staged(Display):
    """Shows the readings of one stage, labelled as such, on another display that is open."""

    def __init__(self, display: Display, stage: str) -> None:
        self._display, self._stage = display, stage

    def show(self, reading: Reading) -> None:
        """See `Display.show`."""
        self._display.show(replace(reading, stage=self._stage))
