"""A run on disk: its newest checkpoint, its metrics, and how it is resumed."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from priorfit.checkpoint import holds_checkpoint, load_folder, save_folder, write_atomically
from priorfit.errors import CheckpointError, TrainingError
from priorfit.fields import check_fields
from priorfit.training.locks import LOCK

PARTS = re.compile(r"checkpoint|metrics\.jsonl|model|best|stage-\d+")
"""Names of the files and folders of a run."""

OURS = re.compile(rf"{PARTS.pattern}|{re.escape(LOCK)}|\..*\.priorfit-(new|previous)")
"""Names that may stand beside them: the lock, and what a save that was killed left behind."""


@dataclass(frozen=True)
class SavedState:
    """The state from which a run resumes to the bit."""

    step: int
    steps: int
    seconds: float
    skipped: int
    network: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    averaged: dict[str, Tensor]
    config: dict[str, Any]
    fruitless: int = 0

    def __post_init__(self) -> None:
        check_fields(self, CheckpointError)
        if not 0 <= self.step <= self.steps:
            raise CheckpointError(f"a run has taken 0 to all of its steps; got step {self.step} of {self.steps}.")


class RunFolder:
    """``checkpoint/`` (the newest state, replaced as a whole), ``metrics.jsonl`` and, at the end, ``model/``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = path / "metrics.jsonl"
        self.checkpoint = path / "checkpoint"
        self.model = path / "model"
        self.best = path / "best"

    def save(self, state: SavedState) -> None:
        """Replace the checkpoint by this state, all or nothing."""
        groups = {"model": state.network, "optimiser": state.optimiser, "averaged": state.averaged}
        names = ("step", "steps", "seconds", "skipped", "fruitless")
        progress = {name: getattr(state, name) for name in names}
        save_folder(self.checkpoint, groups, state.config | {"progress": progress})

    def load(self) -> SavedState:
        """The newest state."""
        groups, config = load_folder(self.checkpoint, ("model", "optimiser", "averaged"))
        try:
            return SavedState(
                **config.pop("progress"),
                network=groups["model"],
                optimiser=groups["optimiser"],
                averaged=groups["averaged"],
                config=config,
            )
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{self.checkpoint} is no checkpoint of a run that this version knows.") from error

    def save_best(self, weights: dict[str, Tensor]) -> None:
        """Replace the best weights so far, of a run that is judged on left-out tasks."""
        save_folder(self.best, {"model": weights}, {"kind": "best weights of a run"})

    def load_best(self) -> dict[str, Tensor] | None:
        """The best weights so far, if any were kept."""
        return load_folder(self.best, ("model",))[0]["model"] if holds_checkpoint(self.best) else None

    def recipe(self) -> dict[str, Any]:
        """The description of the recipe that the run was started with."""
        return load_folder(self.checkpoint, ())[1].get("recipe", {})

    def make(self) -> None:
        """Make the folder, unless it is there; one that holds anything but a run is refused, as `save` does."""
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path} is a file; a run is a folder. Choose another path.")
        foreign = [name for name in self._inside() if not OURS.fullmatch(name)]
        if foreign:
            raise CheckpointError(
                f"{self.path} holds {foreign[0]}, so it is no folder of a run; nothing in it was touched. Name another "
                "folder, or move it away."
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"cannot make the folder {self.path}: {error.strerror}. Choose another.") from error

    def begin(self, resume_by: str) -> None:
        """Start a new run here; a folder that holds another run is refused.

        ``resume_by`` says how to resume the run that is there, in Python or on the command line.
        """
        self.make()
        if self.holds_run():
            raise TrainingError(
                f"{self.path} already holds a run. Go on with it ({resume_by}), or name another folder."
            )

    def holds_run(self) -> bool:
        """Whether a run was begun here."""
        return any(PARTS.fullmatch(name) for name in self._inside()) or holds_checkpoint(self.checkpoint)

    def _inside(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir()) if self.path.is_dir() else []

    def log(self, row: dict[str, Any]) -> None:
        """Append a row to ``metrics.jsonl``."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def drop_metrics_after(self, step: int) -> None:
        """Delete the metrics of later steps, which a resumed run will repeat."""
        if self.metrics.exists():
            rows = [line for line in self.metrics.read_text(encoding="utf-8").splitlines() if is_until(line, step)]
            write_atomically(self.metrics, "".join(f"{row}\n" for row in rows))


def is_until(line: str, step: int) -> bool:
    """Whether a line of metrics is whole and of a step up to this one."""
    try:
        return json.loads(line)["step"] <= step
    except ValueError:  # a line that a kill cut short
        return False
