"""A picture of the predictions for the queries of one dataset with any number of features."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.extras import needs_extra
from priorfit.plots.canvas import PURPLE, axis_or_new, legend_above
from priorfit.plots.predictive import plot_predictive
from priorfit.plots.rows import plot_rows
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib.axes import Axes


def plot_answer(
    predictor: Predictor,
    context_x: Float[Tensor, "context features"],
    context_y: Num[Tensor, " context"],
    query_x: Float[Tensor, "query features"],
    *,
    labels: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the answer to queries: over the feature where there is one (`plot_predictive`), else `plot_rows`.

    Args:
        predictor: The predictor that is drawn.
        context_x: The inputs of one dataset.
        context_y: Its targets.
        query_x: The inputs of the queries.
        labels: The number of each query, such as its row in a file.
        ax: The axis to draw on; a new figure if not given.

    >>> import priorfit as pf
    >>> data = pf.LinearRegression(num_features=3).sample(batch_size=1, num_points=9).split(num_context=5)
    >>> exact = pf.exact(pf.LinearRegression(num_features=3))
    >>> plot_answer(exact, data.context_x[0], data.context_y[0], data.query_x[0]).get_xlabel()
    'row'
    """
    ax = axis_or_new(ax)
    if query_x.shape[-1] != 1:
        with torch.no_grad():
            ppd = predictor.condition(context_x, context_y).predict(query_x)
        return plot_rows(ppd, labels=labels, ax=ax)
    everywhere = torch.cat([context_x, query_x])
    low, high = everywhere.min().item(), everywhere.max().item()
    margin = 0.03 * (high - low) or 0.5
    plot_predictive(predictor, context_x, context_y, query_range=(low - margin, high + margin), ax=ax)
    marks = {"linestyle": "none", "marker": "^", "color": PURPLE, "markersize": 7, "clip_on": False, "zorder": 6}
    places = query_x[:, 0].detach().cpu()
    ax.plot(places, torch.zeros(len(places)), transform=ax.get_xaxis_transform(), label="asked", **marks)
    legend_above(ax, columns=3)
    return ax
