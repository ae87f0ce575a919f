"""Pictures of calibration."""

import math

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.metrics import coverage, pit
from priorfit.plots.canvas import BLACK, BLUE, SKY, axis_or_new, legend_above, tidy
from priorfit.seeding import seeded

with needs_extra("plots"):
    from matplotlib.axes import Axes

NUM_BINS = 10
SURE = 1.96


def plot_pit(ppd: Distribution, y: Num[Tensor, "..."], *, seed: int = 0, ax: Axes | None = None) -> Axes:
    """Draw a histogram of PIT values, the cdf at the outcomes: flat if the predictions are calibrated.

    A hollow in the middle says that the predictions are too narrow, a hill that they are too wide, a slope that they
    lie too low or too high. The band holds 95 % of the bars of a calibrated model.

    Args:
        ppd: The predictions of any predictor.
        y: The outcomes.
        seed: The seed for classes, whose PIT values are drawn within the steps of the cdf.
        ax: Where to draw it; a new figure if not given.

    >>> from torch.distributions import Normal
    >>> ax = plot_pit(Normal(torch.zeros(500), 1.0), torch.randn(500))
    >>> ax.get_xlabel()
    'quantile at which the target came'
    """
    with seeded(seed):
        values = pit(ppd, y).flatten().double().cpu()
    count = _counted(values)
    ax = axis_or_new(ax)
    shares = torch.histc(values.clamp(0, 1), NUM_BINS, 0.0, 1.0) / count * NUM_BINS
    chance = SURE * math.sqrt(NUM_BINS * (1 - 1 / NUM_BINS) / count)
    ax.axhspan(
        max(0.0, 1 - chance), 1 + chance, color="0.3", alpha=0.2, linewidth=0, zorder=3, label="95 % of a right model"
    )
    edges = [i / NUM_BINS for i in range(NUM_BINS)]
    ax.bar(edges, shares.tolist(), width=1 / NUM_BINS, align="edge", color=SKY, edgecolor="white", label="this model")
    ax.axhline(1.0, color=BLACK, linewidth=1.0, linestyle=(0, (1, 2)))
    ax.set(xlabel="quantile at which the target came", ylabel="density", xlim=(0, 1), ylim=(0, None))
    tidy(ax)
    legend_above(ax, columns=2)
    return ax


def plot_calibration(ppd: Distribution, y: Num[Tensor, "..."], *, ax: Axes | None = None) -> Axes:
    """Draw observed frequencies against stated probabilities: the diagonal is calibrated.

    For reals: the share of targets in the central interval of each level. For classes: the accuracy of the most
    probable class, in bins of its probability. Bars are 95 % intervals.

    >>> from torch.distributions import Normal
    >>> ax = plot_calibration(Normal(torch.zeros(500), 1.0), torch.randn(500))
    >>> ax.get_ylabel()
    'share of targets inside'
    """
    _counted(y.flatten())
    stated, found, half_widths, labels = _of_classes(ppd, y) if isinstance(ppd, Categorical) else _of_reals(ppd, y)
    ax = axis_or_new(ax)
    ax.plot([0, 1], [0, 1], color=BLACK, linewidth=1.0, linestyle=(0, (1, 2)), label="right")
    ax.errorbar(
        stated.tolist(),
        found.tolist(),
        yerr=half_widths.tolist(),
        color=BLUE,
        marker="o",
        markersize=5,
        linewidth=1.6,
        capsize=3,
        label="this model",
    )
    ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(0, 1), ylim=(0, 1))
    tidy(ax)
    legend_above(ax, columns=2)
    return ax


Curve = tuple[Float[Tensor, " points"], Float[Tensor, " points"], Float[Tensor, " points"], tuple[str, str]]


def _of_reals(ppd: Distribution, y: Num[Tensor, "..."]) -> Curve:
    levels = torch.tensor([0.05, *(i / 10 for i in range(1, 10)), 0.95, 0.99], dtype=torch.float64)
    shares = coverage(ppd, y, levels).double().cpu()
    return levels, shares, _half_width(shares, y.numel()), ("level of the central interval", "share of targets inside")


def _of_classes(ppd: Categorical, y: Num[Tensor, "..."]) -> Curve:
    confidence, label = (each.flatten().cpu() for each in class_probs(ppd).max(-1))
    is_right = (label == y.flatten().cpu()).double()
    bins = (confidence * NUM_BINS).long().clamp(max=NUM_BINS - 1)
    counts = torch.bincount(bins, minlength=NUM_BINS).double()
    used = counts > 0
    sums = (
        torch.zeros(NUM_BINS, dtype=torch.float64).index_add(0, bins, each) for each in (confidence.double(), is_right)
    )
    stated, found = (total[used] / counts[used] for total in sums)
    return (
        stated,
        found,
        _half_width(found, counts[used]),
        ("probability of the most probable class", "how often it came"),
    )


def _half_width(shares: Float[Tensor, " points"], count: Tensor | int) -> Float[Tensor, " points"]:
    return SURE * (shares * (1 - shares) / count).sqrt()


def _counted(values: Tensor) -> int:
    if values.numel() == 0:
        raise InputError("There is nothing to draw: no targets.")
    return values.numel()
