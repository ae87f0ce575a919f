"""A run on disk: its newest checkpoint, its metrics, and the way back in."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from priorfit.checkpoint import load_folder, save_folder, write_atomically
from priorfit.errors import TrainingError


@dataclass(frozen=True)
class SavedState:
    """Everything that a run needs to go on as if it had never stopped."""

    step: int
    steps: int
    seconds: float
    skipped: int
    network: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    averaged: dict[str, Tensor]
    config: dict[str, Any]


class RunFolder:
    """``checkpoint/`` (the newest state, replaced as a whole), ``metrics.jsonl`` and, at the end, ``model/``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.checkpoint = path / "checkpoint"
        self.model = path / "model"

    def save(self, state: SavedState) -> None:
        """Replace the checkpoint by this state, all or nothing."""
        groups = {"model": state.network, "optimiser": state.optimiser, "averaged": state.averaged}
        progress = {"step": state.step, "steps": state.steps, "seconds": state.seconds, "skipped": state.skipped}
        save_folder(self.checkpoint, groups, state.config | {"progress": progress})

    def load(self) -> SavedState:
        """The newest state."""
        groups, config = load_folder(self.checkpoint, ("model", "optimiser", "averaged"))
        progress = config.pop("progress")
        return SavedState(
            **progress,
            network=groups["model"],
            optimiser=groups["optimiser"],
            averaged=groups["averaged"],
            config=config,
        )

    def begin(self) -> None:
        """Start a new run here; a folder that holds another run is refused."""
        if self.checkpoint.exists() or self.metrics.exists():
            raise TrainingError(
                f"{self.path} already holds a run. Go on with it (--resume), or name another folder (--folder)."
            )
        self.path.mkdir(parents=True, exist_ok=True)

    def log(self, row: dict[str, Any]) -> None:
        """Append a row to ``metrics.jsonl``."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def drop_metrics_after(self, step: int) -> None:
        """Forget the metrics of later steps, which a resumed run will repeat."""
        if self.metrics.exists():
            rows = [line for line in self.metrics.read_text(encoding="utf-8").splitlines() if is_until(line, step)]
            write_atomically(self.metrics, "".join(f"{row}\n" for row in rows))


def is_until(line: str, step: int) -> bool:
    """Whether a line of metrics is whole and of a step up to this one."""
    try:
        return json.loads(line)["step"] <= step
    except ValueError:  # the line that a kill cut short
        return False
