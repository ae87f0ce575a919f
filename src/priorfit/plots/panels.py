"""Several datasets side by side, under one legend."""

from collections.abc import Sequence
from math import ceil

from jaxtyping import Float, Num
from torch import Tensor

from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.plots.predictive import plot_predictive
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure


def plot_panels(
    predictor: Predictor,
    contexts: Sequence[tuple[Float[Tensor, "_ 1"], Num[Tensor, " _"]]],
    *,
    reference: Predictor | None = None,
    query_range: tuple[float, float] | None = None,
) -> Figure:
    """Draw `plot_predictive` for each context in a figure of two columns; a panel's title is the size of its context.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess(num_features=1, lengthscale=0.3)
    >>> data = gp.sample(batch_size=2, num_points=8)
    >>> contexts = [(data.x[0, :3], data.y[0, :3]), (data.x[1], data.y[1])]
    >>> figure = plot_panels(pf.baselines.ExactGP(gp), contexts, query_range=(0, 1))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['n = 3', 'n = 8']
    """
    if not contexts:
        raise InputError("There is nothing to draw: contexts is empty.")
    columns, rows = min(2, len(contexts)), ceil(len(contexts) / 2)
    figure, grid = plt.subplots(
        rows, columns, figsize=(5.6 * columns, 3.1 * rows + 0.5), squeeze=False, layout="constrained"
    )
    for (x, y), ax in zip(contexts, grid.flat, strict=False):
        plot_predictive(predictor, x, y, reference=reference, query_range=query_range, ax=ax)
        ax.get_legend().remove()
        ax.set_title(f"n = {len(x)}", loc="left", fontsize="medium", fontweight="bold")
    for unused in grid.flat[len(contexts) :]:
        unused.remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=4 if reference is None else 3,
        frameon=False,
        fontsize="medium",
    )
    return figure
