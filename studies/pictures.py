"""Curves with their intervals, in colours that all can tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter
from study import Row

from priorfit.metrics import Estimate
from priorfit.plots.canvas import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, tidy

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "osD^vP"
GREY = "0.45"


@dataclass(frozen=True)
class Look:
    """How a curve is drawn."""

    colour: str = BLACK
    marker: str = "o"
    dashes: str = "-"


def look(index: int) -> Look:
    """The look of each curve of a figure."""
    return Look(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])


def draw_curve(ax: Axes, x: Sequence[float], y: Sequence[Estimate], label: str, style: Look) -> None:
    """A line through the means, and the 95 % intervals as a band."""
    means = [each.mean for each in y]
    low, high = ([each.mean + sign * each.half_width for each in y] for sign in (-1, 1))
    ax.fill_between(x, low, high, color=style.colour, alpha=0.18, linewidth=0)
    ax.plot(
        x,
        means,
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=4,
        linewidth=1.6,
        label=label,
    )


def draw_bars(ax: Axes, x: Sequence[float], y: Sequence[Estimate], label: str, style: Look) -> None:
    """A line through the means, and the 95 % intervals as bars: for curves whose bands would cover each other."""
    means, ends = [each.mean for each in y], [each.half_width for each in y]
    ax.errorbar(
        x,
        means,
        yerr=ends,
        color=style.colour,
        marker=style.marker,
        markersize=4,
        linewidth=1.4,
        capsize=3,
        label=label,
    )


def draw_points(ax: Axes, points: Sequence[tuple[float, float]], label: str, style: Look) -> None:
    """A curve of the paper, which has no intervals here: open marks."""
    x, y = zip(*points, strict=True)
    ax.plot(
        x,
        y,
        color=style.colour,
        linestyle=":",
        marker=style.marker,
        markersize=4,
        markerfacecolor="white",
        linewidth=1.2,
        label=label,
    )


def finish(ax: Axes, title: str, x: str, y: str) -> None:
    """Set the names of the axes, a faint grid and no frame."""
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.set(xlabel=x, ylabel=y)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    tidy(ax)


def log_sizes(ax: Axes, ticks: Sequence[int]) -> None:
    """A logarithmic axis of context sizes with plain numbers."""
    ax.set_xscale("log")
    ax.set_xticks(ticks, minor=False)
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter(ScalarFormatter())


def log_nats(ax: Axes) -> None:
    """A logarithmic axis of gaps with plain numbers."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def legend_below(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend for several axes, under them: each label once."""
    found = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize="small",
        handlelength=2.6,
    )


def of_method(rows: Sequence[Row], method: str) -> list[Row]:
    """The rows of one method, by n."""
    return sorted((row for row in rows if row["method"] == method), key=lambda row: row["n"])


def methods(rows: Sequence[Row]) -> list[str]:
    """The methods of some rows, in the order of their first ones."""
    return list(dict.fromkeys(row["method"] for row in rows))
