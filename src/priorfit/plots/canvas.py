"""What all pictures share: colours, a new axis where none is given, and one dataset on a grid of queries."""

import io
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.checkpoint import write_atomically
from priorfit.errors import InputError, ShapeError
from priorfit.extras import needs_extra
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with any kind of colour vision, and in grey by their lightness.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)

NUM_QUERIES = 401


def axis_or_new(ax: Axes | None) -> Axes:
    """The given axis, or the only one of a new figure that leaves room for a legend beside it."""
    if ax is None:
        _, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    return ax


def unkept_axis(width: float, height: float) -> Axes:
    """The only axis of a new figure that pyplot does not manage, for pictures that are only written to files."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def as_png(ax: Axes, dpi: int = 110) -> bytes:
    """The figure of an axis as the content of a PNG file."""
    buffer = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def picture_format(path: Path) -> str:
    """The format that a file's name asks for, such as png; refused where matplotlib knows none."""
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    if path.suffix[1:].lower() not in known:
        raise InputError(f"cannot draw {path}: its name must end in one of {', '.join(known)}; got {path.suffix!r}.")
    return path.suffix[1:].lower()


def save_picture(ax: Axes, path: Path, dpi: int = 130) -> None:
    """Write the figure of an axis to a file, whole or not at all."""
    buffer = io.BytesIO()
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(buffer, format=picture_format(path), dpi=dpi)
    write_atomically(path, buffer.getvalue())


def legend_above(ax: Axes, columns: int) -> None:
    """A legend over the axis, where it covers nothing."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize="small",
        handlelength=2.4,
        columnspacing=1.4,
        borderaxespad=0.3,
    )


def tidy(ax: Axes) -> None:
    """Hide the upper and right edge of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


@dataclass(frozen=True)
class Slice:
    """One dataset of one feature and the queries at which it is drawn."""

    context_x: Float[Tensor, "context 1"]
    context_y: Num[Tensor, " context"]
    query_x: Float[Tensor, "query 1"]

    @torch.no_grad()
    def predict(self, predictor: Predictor) -> Distribution:
        """The posterior predictive at the queries: ``batch_shape (query,)``."""
        return predictor.condition(self.context_x, self.context_y).predict(self.query_x)

    def draw_context(self, ax: Axes) -> None:
        """The context points, dark with a light rim: legible on bands and on a heat map."""
        ax.plot(
            self.context_x[:, 0].detach().cpu(),
            self.context_y.detach().cpu(),
            linestyle="none",
            marker="o",
            markersize=6,
            color=BLACK,
            markeredgecolor="white",
            markeredgewidth=1.0,
            label="context",
            zorder=5,
        )


def slice_of(
    context_x: Float[Tensor, "*batch context features"],
    context_y: Num[Tensor, "*batch context"],
    query_range: tuple[float, float] | None,
) -> Slice:
    """Check that this is one dataset of one feature, and lay queries over ``query_range``.

    Without a range the queries span the context and no more, so a picture extrapolates only on request.
    """
    if context_x.ndim != 2 or context_x.shape[-1] != 1:
        raise ShapeError(
            f"This picture shows one dataset of one feature: context_x must have shape (context, 1); got "
            f"{tuple(context_x.shape)}. Choose one dataset by its index."
        )
    low, high = query_range or _span(context_x[:, 0])
    if not low < high:
        raise InputError(f"query_range must be (low, high) with low < high; got ({low}, {high}).")
    grid = torch.linspace(low, high, NUM_QUERIES, dtype=context_x.dtype, device=context_x.device)
    return Slice(context_x, context_y, grid[:, None])


def _span(x: Float[Tensor, " context"]) -> tuple[float, float]:
    if len(x) < 2 or x.min() == x.max():
        raise InputError(
            "With fewer than two different inputs in the context, say where to draw: query_range=(low, high)."
        )
    return x.min().item(), x.max().item()


def quantile(ppd: Distribution, level: float) -> Float[Tensor, " query"]:
    """The quantile of each query at one level."""
    return ppd.icdf(torch.full_like(ppd.mean, level))
