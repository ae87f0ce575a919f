"""The posterior predictive of one feature as a mean with bands."""

from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical

from priorfit.extras import needs_extra
from priorfit.plots.canvas import BLUE, SKY, VERMILION, Slice, axis_or_new, legend_above, quantile, slice_of, tidy
from priorfit.plots.class_curves import draw_probabilities
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib.axes import Axes


def plot_predictive(
    predictor: Predictor,
    context_x: Float[Tensor, "*batch context features"],
    context_y: Num[Tensor, "*batch context"],
    *,
    reference: Predictor | None = None,
    query_range: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean, 50 % and 95 % intervals over one feature, and the context; of classes, their probabilities.

    Args:
        predictor: The predictor that is drawn as bands.
        context_x: The inputs of one dataset, shape ``(context, 1)``.
        context_y: Its targets, shape ``(context,)``.
        reference: Another predictor, the exact one perhaps: its mean and 95 % limits become dashed lines.
        query_range: Where to draw; the span of the context if not given.
        ax: Where to draw it; a new figure if not given.

    >>> import torch, priorfit as pf
    >>> gp = pf.GaussianProcess(num_features=1, lengthscale=0.3)
    >>> data = gp.sample(batch_size=1, num_points=9).split(num_context=8)
    >>> exact = pf.baselines.ExactGP(gp)
    >>> ax = plot_predictive(exact, data.context_x[0], data.context_y[0], query_range=(0, 1))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x', 'y')
    """
    dataset = slice_of(context_x, context_y, query_range)
    ppd = dataset.predict(predictor)
    ax = axis_or_new(ax)
    draw = draw_probabilities if isinstance(ppd, Categorical) else _draw_intervals
    draw(ax, dataset, predictor, reference)
    ax.margins(x=0.02)
    tidy(ax)
    legend_above(ax, columns=4 if reference is None else 3)
    return ax


def _draw_intervals(ax: Axes, dataset: Slice, predictor: Predictor, reference: Predictor | None) -> None:
    dataset.draw_context(ax)
    _draw_bands(ax, dataset, predictor)
    if reference is not None:
        _draw_limits(ax, dataset, reference)
    ax.set(xlabel="x", ylabel="y")


def _draw_bands(ax: Axes, dataset: Slice, predictor: Predictor) -> None:
    name, x, ppd = type(predictor).__name__, dataset.query_x[:, 0].cpu(), dataset.predict(predictor)
    ax.plot(x, ppd.mean.cpu(), color=BLUE, linewidth=2, label=f"{name} mean")
    for mass, alpha in ((0.5, 0.5), (0.95, 0.28)):
        low, high = (quantile(ppd, level).cpu() for level in (0.5 - mass / 2, 0.5 + mass / 2))
        ax.fill_between(x, low, high, color=SKY, alpha=alpha, linewidth=0, label=f"{name} {mass:.0%} interval")


def _draw_limits(ax: Axes, dataset: Slice, reference: Predictor) -> None:
    name, x, ppd = type(reference).__name__, dataset.query_x[:, 0].cpu(), dataset.predict(reference)
    line = {"color": VERMILION, "linestyle": (0, (4, 2))}
    ax.plot(x, ppd.mean.cpu(), linewidth=1.8, label=f"{name} mean", **line)
    for level, label in ((0.025, f"{name} 95% limits"), (0.975, None)):
        ax.plot(x, quantile(ppd, level).cpu(), linewidth=1.0, label=label, **line)
