"""Gap and NLL against the size of the context."""

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

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
LINES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
"""Line styles that keep curves on top of each other visible."""


def plot_gap(rows: Sequence[Row], *, ax: Axes | None = None) -> Axes:
    """Draw the gap to the exact answer against n, each with its interval.

    Args:
        rows: One mapping for each point: ``n``, ``gap``, the ends ``low`` and ``high`` of the gap's interval, and
            ``label`` where several curves are to be told apart. `metrics.gap_rows` makes them.
        ax: Where to draw it; a new figure if not given.

    >>> ax = plot_gap([{"n": 3, "gap": 0.1, "low": 0.08, "high": 0.12}, {"n": 10, "gap": 0.2, "low": 0.1, "high": 0.3}])
    >>> ax.get_xlabel()
    'context points n'
    """
    curves = _curves(rows, "gap")
    ax = axis_or_new(ax)
    ax.axhline(0.0, color=BLACK, linewidth=1.0, linestyle=(0, (1, 2)), label="exact")
    return _draw_curves(ax, curves, "gap", ylabel="gap to exact NLL (nats)")


def plot_nll(rows: Sequence[Row], *, ax: Axes | None = None) -> Axes:
    """Draw the negative log likelihood of one or more predictors against n, each with its interval.

    Args:
        rows: One mapping for each point: ``n``, ``nll``, the ends ``low`` and ``high`` of its interval, and ``label``
            where several curves are to be told apart. `metrics.nll_rows` makes them for any predictors.
        ax: Where to draw it; a new figure if not given.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess(lengthscale=0.6)
    >>> rows = pf.metrics.nll_rows({"exact": pf.exact(gp)}, gp, context_sizes=[1, 4], num_datasets=20)
    >>> plot_nll(rows).get_ylabel()
    'NLL (nats)'
    """
    curves = _curves(rows, "nll")
    return _draw_curves(axis_or_new(ax), curves, "nll", ylabel="NLL (nats)")


def _draw_curves(ax: Axes, curves: dict[str, list[Row]], column: str, ylabel: str) -> Axes:
    styles = zip(cycle(COLOURS), cycle("osD^vP"), cycle(LINES), strict=False)
    for (label, points), (color, marker, line) in zip(curves.items(), styles, strict=False):
        n, value, low, high = ([point[name] for point in points] for name in ("n", column, "low", "high"))
        below = [middle - end for middle, end in zip(value, low, strict=True)]
        above = [end - middle for middle, end in zip(value, high, strict=True)]
        style = {"color": color, "marker": marker, "markersize": 6, "linestyle": line, "linewidth": 1.6, "capsize": 3.5}
        ax.errorbar(n, value, yerr=[below, above], label=label, **style)
    _scale_of_sizes(ax, sorted({row["n"] for points in curves.values() for row in points}))
    ax.set(xlabel="context points n", ylabel=ylabel)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # a factor such as 1e-5 would lie over the legend
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    tidy(ax)
    legend_above(ax, columns=4)
    return ax


def _curves(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    """The rows of each label, by n."""
    if not rows:
        raise InputError("There is nothing to draw: rows is empty.")
    columns = ("n", column, "low", "high")
    curves: dict[str, list[Row]] = {}
    for row in rows:
        missing = [name for name in columns if name not in row]
        if missing:
            raise InputError(f"Each row must have {', '.join(columns)}; one lacks {', '.join(missing)}: {dict(row)}.")
        if not row["low"] <= row[column] <= row["high"]:
            raise InputError(f"Each row must have low <= {column} <= high; got {dict(row)}.")
        curves.setdefault(row.get("label", f"{column} with 95% interval"), []).append(row)
    return {label: sorted(points, key=lambda row: row["n"]) for label, points in curves.items()}


def _scale_of_sizes(ax: Axes, sizes: list[int]) -> None:
    """A logarithmic axis where n spans more than a factor of ten, with the measured sizes as its ticks."""
    if sizes[0] > 0 and sizes[-1] > 10 * sizes[0]:
        ax.set_xscale("log")
    if len(sizes) <= 12:
        ax.xaxis.set_major_locator(FixedLocator(sizes))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
