"""The probabilities of classes over one feature."""

from priorfit.distributions.class_probabilities import class_probs
from priorfit.extras import needs_extra
from priorfit.plots.canvas import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, Slice
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib.axes import Axes

COLOURS = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "osD^vP"


def draw_probabilities(ax: Axes, dataset: Slice, predictor: Predictor, reference: Predictor | None) -> None:
    """Draw a curve for each class (class 1 alone of two), dashed for the reference, and the labels as marks."""
    lines = [(predictor, "-", 2.0), *([] if reference is None else [(reference, (0, (4, 2)), 1.4)])]
    for one, style, width in lines:
        probs = class_probs(dataset.predict(one)).cpu()  # (query, classes)
        classes = [1] if probs.shape[-1] == 2 else range(probs.shape[-1])
        for label in classes:
            name = f"{type(one).__name__} P(class {label})"
            colour = COLOURS[label % len(COLOURS)]
            x = dataset.query_x[:, 0].cpu()
            ax.plot(x, probs[:, label], linestyle=style, linewidth=width, color=colour, label=name)
    _draw_labels(ax, dataset)
    ax.set(xlabel="x", ylabel="probability", ylim=(-0.06, 1.06))


def _draw_labels(ax: Axes, dataset: Slice) -> None:
    """Draw the context: at the height of its class where there are two, along the lower edge where there are more."""
    x, y = dataset.context_x[:, 0].detach().cpu(), dataset.context_y.detach().cpu().long()
    is_binary = len(y) == 0 or int(y.max()) < 2
    for label in sorted(set(y.tolist())):
        colour, marker = COLOURS[label % len(COLOURS)], MARKERS[label % len(MARKERS)]
        here = x[y == label]
        height = [float(label) if is_binary else 0.0] * len(here)
        style = {"linestyle": "none", "marker": marker, "markersize": 6, "markeredgecolor": "white", "zorder": 5}
        ax.plot(here, height, color=colour, label=f"context of class {label}", **style)
