"""The posterior predictive of one feature as a map of its density."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.plots.canvas import Slice, axis_or_new, quantile, slice_of
from priorfit.predictor import Predictor

with needs_extra("plots"):
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm

NUM_VALUES = 301


def plot_density(
    predictor: Predictor,
    context_x: Float[Tensor, "*batch context features"],
    context_y: Num[Tensor, "*batch context"],
    *,
    query_range: tuple[float, float] | None = None,
    value_range: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density p(y | x, context) over one feature as a heat map, and the context.

    Each class is a row coloured by its probability. For reals the colours follow a root of the density, so that
    broad and narrow densities are both visible.

    Args:
        predictor: The predictor that is drawn.
        context_x: The inputs of one dataset, shape ``(context, 1)``.
        context_y: Its targets, shape ``(context,)``.
        query_range: Where to draw along x; the span of the context if not given.
        value_range: Where to draw along y; from the lowest 0.2 % to the highest 99.8 % quantile if not given.
        ax: Where to draw it; a new figure if not given.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess(num_features=1, lengthscale=0.3)
    >>> data = gp.sample(batch_size=1, num_points=9).split(num_context=8)
    >>> ax = plot_density(pf.baselines.ExactGP(gp), data.context_x[0], data.context_y[0], value_range=(-3, 3))
    >>> ax.get_ylabel(), [float(limit) for limit in ax.get_ylim()]
    ('y', [-3.0, 3.0])
    """
    dataset = slice_of(context_x, context_y, query_range)
    ppd = dataset.predict(predictor)
    is_real = not isinstance(ppd, Categorical)
    values = _values(ppd, dataset, value_range) if is_real else _labels(ppd)
    # One row after the other: a distribution of a thousand buckets would otherwise need gigabytes.
    density = torch.stack([ppd.log_prob(value.expand(ppd.batch_shape)).exp() for value in values])  # (value, query)
    ax = axis_or_new(ax)
    mesh = ax.pcolormesh(
        *(axis.cpu().numpy() for axis in (dataset.query_x[:, 0], values, density.detach())),
        norm=PowerNorm(0.4, vmin=0.0, vmax=_top(density)) if is_real else PowerNorm(1.0, vmin=0.0, vmax=1.0),
        cmap="viridis",
        shading="nearest",
        rasterized=True,
    )
    bar = ax.figure.colorbar(mesh, ax=ax, extend="max" if is_real else "neither", pad=0.02)
    bar.set_label("density p(y | x, context)" if is_real else "probability p(y | x, context)")
    bar.outline.set_visible(False)
    dataset.draw_context(ax)
    ax.set(xlabel="x", ylabel="y" if is_real else "class")
    if is_real:
        ax.set_ylim(values[0].item(), values[-1].item())
    else:
        ax.set_yticks(values.tolist())
    return ax


def _values(ppd: Distribution, dataset: Slice, value_range: tuple[float, float] | None) -> Float[Tensor, " value"]:
    """The values of y at which the density is drawn."""
    low, high = value_range or _values_of_interest(ppd, dataset)
    if not low < high:
        raise InputError(f"value_range must be (low, high) with low < high; got ({low}, {high}).")
    return torch.linspace(low, high, NUM_VALUES, dtype=dataset.query_x.dtype, device=dataset.query_x.device)


def _labels(ppd: Distribution) -> Float[Tensor, " value"]:
    probs = class_probs(ppd)
    return torch.arange(probs.shape[-1], dtype=probs.dtype, device=probs.device)


def _values_of_interest(ppd: Distribution, dataset: Slice) -> tuple[float, float]:
    y = dataset.context_y.to(dataset.query_x.dtype)
    low = torch.cat([quantile(ppd, 0.002), y]).min().item()
    high = torch.cat([quantile(ppd, 0.998), y]).max().item()
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def _top(density: Float[Tensor, "value query"]) -> float:
    """The brightest colour: the median over x of the highest density there, as peaks at the context dwarf all else."""
    return density.amax(0).quantile(0.5).item()
