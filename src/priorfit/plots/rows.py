"""Predictions of separate queries, side by side: for tables of many features, where no curve can be drawn."""

from collections.abc import Sequence

from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.plots.canvas import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, axis_or_new, legend_above, quantile, tidy

with needs_extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator

MOST_LABELS, MOST_CHARACTERS = 30, 84
"""Most labels under the axis, and most characters, two of space for each label included; more would overlap."""
HATCHES = ("", "//", "..", "xx", "\\\\", "oo")


def plot_rows(ppd: Distribution, *, labels: Sequence[int] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the prediction of each query: mean with 50 % and 95 % intervals, or the probabilities of the classes.

    Args:
        ppd: The predictions of any predictor, batch shape ``(query,)``.
        labels: The number of each query, such as its row in a file; by default 1, 2, ...
        ax: Where to draw it; a new figure if not given.

    >>> import torch
    >>> ax = plot_rows(torch.distributions.Normal(torch.zeros(4), 1.0), labels=[3, 5, 6, 9])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_xticklabels()]
    ('row', ['3', '5', '6', '9'])
    """
    if len(ppd.batch_shape) != 1 or ppd.batch_shape[0] == 0:
        raise InputError(f"This picture shows queries of one dataset: batch_shape (query,); got {ppd.batch_shape}.")
    ax = axis_or_new(ax)
    places = list(range(ppd.batch_shape[0]))
    if isinstance(ppd, Categorical):
        _draw_classes(ax, places, ppd)
    else:
        _draw_reals(ax, places, ppd)
    names = [str(label) for label in (labels or range(1, len(places) + 1))]
    if len(places) <= MOST_LABELS and sum(len(name) + 2 for name in names) <= MOST_CHARACTERS:
        ax.set_xticks(places, names, fontsize="small" if len(places) > 15 else None)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        ax.xaxis.set_major_formatter(lambda place, _: names[int(place)] if 0 <= place < len(names) else "")
    ax.set(xlabel="row")
    tidy(ax)
    return ax


def _draw_reals(ax: Axes, places: list[int], ppd: Distribution) -> None:
    for mass, width, colour in ((0.95, 2.0, SKY), (0.5, 6.0, SKY)):
        low, high = (quantile(ppd, level).detach().cpu() for level in (0.5 - mass / 2, 0.5 + mass / 2))
        ax.vlines(places, low, high, linewidth=width, color=colour, label=f"{mass:.0%} interval")
    mean = ppd.mean.detach().cpu()
    ax.plot(places, mean, linestyle="none", marker="o", color=BLUE, markeredgecolor="white", label="mean", zorder=3)
    ax.set(ylabel="y")
    legend_above(ax, columns=3)


def _draw_classes(ax: Axes, places: list[int], ppd: Distribution) -> None:
    probs = class_probs(ppd).detach().cpu()  # (query, classes)
    colours = (SKY, ORANGE, GREEN, PURPLE, VERMILION, BLUE)
    below = probs.cumsum(-1) - probs
    for label in range(probs.shape[-1]):
        ax.bar(
            places,
            probs[:, label].tolist(),
            bottom=below[:, label].tolist(),
            width=0.85,
            color=colours[label % len(colours)],
            hatch=HATCHES[label % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
            label=f"class {label}",
        )
    ax.set(ylabel="probability", ylim=(0, 1))
    legend_above(ax, columns=min(6, probs.shape[-1]))
