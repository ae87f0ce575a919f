"""What a benchmark leaves behind: a table on the screen and, when asked, rows in ``benchmarks/results``."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from priorfit.metrics import Estimate
from priorfit.provenance import circumstances

RESULTS = Path(__file__).parents[1] / "results"
WIDTH = 150
"""Columns of the screen that a table may take; a narrower one would cut the intervals."""


def parser_for(name: str, claim: str | None) -> argparse.ArgumentParser:
    """The options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=claim, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repetitions", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true", help=f"write benchmarks/results/{name}.json")
    return parser


def show(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a title and a table, both of which stay whole when the output is a file."""
    table = Table()
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    console = Console()
    console.width = max(console.width, WIDTH)
    console.print(title, soft_wrap=True, highlight=False, markup=False)
    console.print(table)


def spelled(estimate: Estimate, digits: int) -> str:
    """A mean with its interval."""
    low, high = estimate.mean - estimate.half_width, estimate.mean + estimate.half_width
    return f"{estimate.mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def save(name: str, rows: Sequence[Mapping[str, Any]], seed: int) -> None:
    """Write rows with all that is needed to judge them."""
    RESULTS.mkdir(exist_ok=True)
    content = {"about": circumstances(seed), "rows": list(rows)}
    text = json.dumps(content, indent=1, default=plain) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"saved in benchmarks/results/{name}.json")


def plain(value: object) -> object:
    """Dataclasses as plain data."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"a row holds numbers, strings and dataclasses; got {type(value).__name__}.")
