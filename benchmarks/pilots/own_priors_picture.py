"""Draw docs/images/own_priors.png: the gap of each own prior after three minutes, from the rows that are kept.

    python benchmarks/pilots/own_priors_picture.py

For each prior the mean gap to the truth over n = 3, 10, 30, with its 95 % interval over datasets: what `fit` makes of
the program, what it makes of a function that only draws, and the package pfns for the same time.
"""

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks.common.kept_rows import KeptRows
from benchmarks.pilots.own_priors import ALL
from benchmarks.pilots.own_priors_gaps import DRAWS, FIT, PFNS, ROWS, SEED, SIZES, mean_gap, told_rows

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "own_priors.png"
MINUTES, LEAST = 3.0, 1e-5
LOOKS = {
    FIT: ("a program: its law is read", "#0072B2", "o"),
    DRAWS: ("a simulator: draws alone", "#D55E00", "s"),
    PFNS: ("pfns 0.4.2", "0.45", "^"),
}


def half_width(row: dict[str, Any]) -> float:
    """Of the mean gap over context sizes, whose datasets are independent."""
    return math.hypot(*(row[f"half-width at {size}"] for size in SIZES)) / len(SIZES)


def drawn(rows: list[dict[str, Any]]) -> Figure:
    """The figure, a line for each prior."""
    names = [name for name in ALL if any(row["prior"] == name for row in rows)]
    figure, axis = plt.subplots(figsize=(7.2, 0.34 * len(names) + 1.2), layout="constrained")
    for way, (label, colour, mark) in LOOKS.items():
        own = [row for row in rows if row["way"] == way and row["minutes"] == MINUTES]
        means = [max(mean_gap(row), LEAST) for row in own]
        low = [mean - max(mean - half_width(row), LEAST) for mean, row in zip(means, own, strict=True)]
        places = [names.index(row["prior"]) for row in own]
        bars = [low, [half_width(row) for row in own]]
        axis.errorbar(means, places, xerr=bars, fmt=mark, color=colour, markersize=5, linewidth=1, label=label)
    axis.axvline(0.02, color="0.8", linewidth=1, zorder=0)
    axis.set(xscale="log", yticks=range(len(names)), yticklabels=[name.replace("_", " ") for name in names])
    axis.set_xlabel("gap to the truth after three minutes of one core, nats (line: 0.02)")
    axis.invert_yaxis()
    axis.grid(axis="y", color="0.93")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=len(LOOKS), frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    drawn(told_rows(KeptRows(ROWS, SEED))).savefig(PICTURE, dpi=150)
    print(PICTURE.relative_to(Path.cwd()) if PICTURE.is_relative_to(Path.cwd()) else PICTURE.name)
