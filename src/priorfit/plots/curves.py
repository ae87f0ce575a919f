"""Numbers against the size of the context."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.plots.canvas import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, axis_or_new, legend_above, tidy

with needs_extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

Row = Mapping[str, Any]

_COLUMNS = ("n", "gap", "low", "high")


def plot_gap(rows: Sequence[Row], *, ax: Axes | None = None) -> Axes:
    """Draw the gap to the exact answer against n, each with its interval.

    Args:
        rows: One mapping for each point: ``n``, ``gap``, the ends ``low`` and ``high`` of the gap's interval, and
            ``label`` where several curves are to be told apart.
        ax: Where to draw it; a new figure if not given.

    >>> ax = plot_gap([{"n": 3, "gap": 0.1, "low": 0.08, "high": 0.12}, {"n": 10, "gap": 0.2, "low": 0.1, "high": 0.3}])
    >>> ax.get_xlabel()
    'context points n'
    """
    curves = _curves(rows)
    ax = axis_or_new(ax)
    ax.axhline(0.0, color=BLACK, linewidth=1.0, linestyle=(0, (1, 2)), label="exact")
    for (label, points), color, marker in zip(
        curves.items(), cycle((BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)), cycle("osD^vP"), strict=False
    ):
        n, gap, low, high = ([point[column] for point in points] for column in _COLUMNS)
        ends = [[g - end for g, end in zip(gap, low, strict=True)], [end - g for g, end in zip(gap, high, strict=True)]]
        ax.errorbar(
            n, gap, yerr=ends, label=label, color=color, marker=marker, markersize=6, linewidth=1.6, capsize=3.5
        )
    _scale_of_sizes(ax, sorted({row["n"] for row in rows}))
    ax.set(xlabel="context points n", ylabel="gap to exact NLL (nats)")
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    tidy(ax)
    legend_above(ax, columns=4)
    return ax


def _curves(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each label, by n."""
    if not rows:
        raise InputError("There is nothing to draw: rows is empty.")
    curves: dict[str, list[Row]] = {}
    for row in rows:
        missing = [column for column in _COLUMNS if column not in row]
        if missing:
            raise InputError(f"Each row must have {', '.join(_COLUMNS)}; one lacks {', '.join(missing)}: {dict(row)}.")
        if not row["low"] <= row["gap"] <= row["high"]:
            raise InputError(f"Each row must have low <= gap <= high; got {dict(row)}.")
        curves.setdefault(row.get("label", "gap with 95% interval"), []).append(row)
    return {label: sorted(points, key=lambda row: row["n"]) for label, points in curves.items()}


def _scale_of_sizes(ax: Axes, sizes: list[int]) -> None:
    """A logarithmic axis where n spans more than a factor of ten, with the measured sizes as its ticks."""
    if sizes[0] > 0 and sizes[-1] > 10 * sizes[0]:
        ax.set_xscale("log")
    if len(sizes) <= 12:
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
