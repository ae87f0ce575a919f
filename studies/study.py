"""What all studies share: options, rows that are kept as they come, and a figure that is drawn from rows.

A study is a file with ``run(setup) -> rows``, ``tell(rows) -> str`` and ``draw(rows) -> figure``. Its rows lie in
``studies/results/NAME.jsonl``, one line each: the parameters (``key``), the results, and when, where and by which
code (``about``). A row that is there is not computed again, so a run that was stopped goes on, and a finished one only
draws. With ``--quick`` everything is tiny and lies in ``build/studies/quick`` instead.
"""

import argparse
import io
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from priorfit.checkpoint import write_atomically
from priorfit.provenance import circumstances, date, load

FOLDER = Path(__file__).parent
BUILD = FOLDER.parent / "build" / "studies"
SMALL_SVG = 150_000
"""Bytes up to which a figure is kept as SVG too."""

DATA = "PRIORFIT_DATA"
"""The environment variable that names the folder of data, with ``tabular/`` and ``omniglot/`` in it."""

Row = dict[str, Any]
Key = Mapping[str, str | int]
Choice = TypeVar("Choice")


def data_folder(option: Path | None, room: str) -> Path | None:
    """A room of the folder of data that the command line names, or else the environment; or the room that is named."""
    given = option or (Path(os.environ[DATA]) if os.environ.get(DATA) else None)
    return given / room if given is not None and (given / room).is_dir() else given


class Clock:
    """Seconds since it was made, of this process or of the clock, whichever are fewer."""

    def __init__(self) -> None:
        self._start = time.process_time(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return min(time.process_time() - self._start[0], time.perf_counter() - self._start[1])


class Rows:
    """A file of rows; one is appended as soon as it is found.

    A row is the fields of its key, what was found, and ``about``. No two rows have the same key.
    """

    def __init__(self, file: Path, seed: int) -> None:
        self.file = file
        self._about = circumstances(seed)  # once: the code that runs is that of the start, whatever is committed later
        self._rows: dict[str, Row] = {}
        for line in self._whole_lines():
            row = json.loads(line)
            self._rows[canonical(row["key"])] = row["key"] | row["found"] | {"about": row["about"]}

    def _whole_lines(self) -> list[str]:
        """The lines of the file; what a kill left of a last one is removed."""
        if not self.file.exists():
            return []
        text = self.file.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_atomically(self.file, whole)
        return whole.splitlines()

    def find(self, key: Key) -> Row | None:
        """The row of a key, if it is there."""
        return self._rows.get(canonical(key))

    def every(self) -> list[Row]:
        """All rows, in the order in which they were found."""
        return list(self._rows.values())

    def add(self, key: Key, found: Mapping[str, Any]) -> Row:
        """Append a row to the file."""
        about = self._about | {"date": date(), "load": load()}
        row = {"key": dict(key), "found": dict(found), "about": about}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[canonical(key)] = dict(key) | dict(found) | {"about": about}
        return self._rows[canonical(key)]

    def get(self, key: Key, find_out: Callable[[], Mapping[str, Any]]) -> Row:
        """The row of a key, computed and kept if it is not there."""
        return self.find(key) or self.add(key, find_out())


def canonical(key: Key) -> str:
    """The same text for the same key, in whatever order its fields come."""
    return json.dumps(key, sort_keys=True)


@dataclass(frozen=True)
class Setup:
    """The settings with which a study is run."""

    rows: Rows
    models: Path
    """Where the models that a study trains are kept."""
    seed: int = 0
    quick: bool = False
    datasets: int | None = None
    """Datasets for each point of a curve; None takes the number of the study."""
    options: argparse.Namespace = field(default_factory=argparse.Namespace)
    """The options of the command line, with those that the study adds."""

    def choose(self, full: Choice, quick: Choice) -> Choice:
        """The first value for a full run, the second for a run of seconds."""
        return quick if self.quick else full

    def num_datasets(self, full: int, quick: int = 4) -> int:
        """How many datasets each point of a curve rests on."""
        return self.datasets or self.choose(full, quick)


@dataclass(frozen=True)
class Study:
    """One figure or table: how its rows are made, told and drawn."""

    name: str
    claim: str | None
    run: Callable[[Setup], list[Row]]
    tell: Callable[[Sequence[Row]], str]
    draw: Callable[[Sequence[Row]], Figure]
    kept: Callable[[Setup], list[Row]] | None = None
    """The rows found so far, for studies that run for hours."""
    add_options: Callable[[argparse.ArgumentParser], None] | None = None
    """Adds the options that only this study has."""

    def main(self) -> None:
        """Parse the command line, run, print the table, write the figure."""
        options = parsed_options(self)
        torch.set_num_threads(options.threads)
        place = BUILD / "quick" if options.quick else FOLDER
        file = place / "results" / f"{self.name}.jsonl"
        if options.fresh:
            file.unlink(missing_ok=True)
        models = (BUILD / "quick" if options.quick else BUILD) / "models"
        make = self.kept if self.kept is not None and options.kept else self.run
        rows = make(Setup(Rows(file, options.seed), models, options.seed, options.quick, options.datasets, options))
        print(self.tell(rows))
        print(f"rows: {shown(file)}  figure: {shown(save_figure(self.draw(rows), place / 'figures' / self.name))}")


def parsed_options(study: Study) -> argparse.Namespace:
    """The options that all studies share."""
    parser = argparse.ArgumentParser(description=study.claim, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--seed", type=int, default=0, help="decides datasets and the weights of what is trained")
    parser.add_argument("--datasets", type=int, default=None, help="for each point of a curve")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs (not the trained models)")
    if study.kept is not None:
        parser.add_argument(
            "--kept", action="store_true", help="compute nothing: tell and draw the rows that are there"
        )
    if study.add_options is not None:
        study.add_options(parser)
    options = parser.parse_args()
    if options.datasets is not None and options.datasets < 2:
        parser.error("--datasets must be at least 2, or there is no interval.")
    return options


def save_figure(figure: Figure, place: Path) -> Path:
    """Write ``place.png``, and ``place.svg`` where that is small; each whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    image, drawing = io.BytesIO(), io.BytesIO()
    figure.savefig(image, format="png", dpi=130)
    with plt.rc_context({"svg.hashsalt": place.name}):  # the same drawing, the same file
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    plt.close(figure)
    write_atomically(place.with_suffix(".png"), image.getvalue())
    svg = place.with_suffix(".svg")
    if len(drawing.getvalue()) <= SMALL_SVG:
        write_atomically(svg, drawing.getvalue())
    else:
        svg.unlink(missing_ok=True)
    return place.with_suffix(".png")


def shown(path: Path) -> Path:
    """A path as seen from the root of the clone, if it lies there."""
    root = FOLDER.parent
    return path.relative_to(root) if path.is_relative_to(root) else path


def table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, with its columns aligned."""
    widths = [max(len(cell) for cell in cells) for cells in zip(columns, *lines, strict=True)]
    ruler = ["-" * width for width in widths]
    padded = [
        [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)] for cells in (columns, ruler, *lines)
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)
