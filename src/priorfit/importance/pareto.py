"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry, 2024): smoothed weights, and k-hat."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

RELIABLE = 0.7
"""Weights whose k-hat lies above this are not to be believed."""

FEWEST_TAIL = 5
"""A tail of fewer draws cannot be fitted."""

LEAST_SMOOTHED = 1 / 3
"""Smallest shape whose tail is smoothed, as in the authors' code: a lighter tail has three moments as it is."""

DOUBT = 0.05
"""Probability that the largest weight of a Pareto tail lies below the one that bounds its shape."""


def smoothed(
    log_weights: Float[Tensor, "datasets draws"],
) -> tuple[Float[Tensor, "datasets draws"], Float[Tensor, " datasets"]]:
    """Log weights whose largest are replaced by quantiles of a fitted Pareto tail, normalised, and its shape k-hat.

    Weights stay as they are where the fitted shape is below `LEAST_SMOOTHED`, and where the largest weight is too small
    for it: k-hat is then the largest shape that this weight allows (see `largest_shape`).

    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <torch...>
    >>> _, shape = smoothed(torch.randn(1, 4000, dtype=torch.float64))
    >>> bool(shape < 0.7)
    True
    """
    rows = [_smoothed_row(row) for row in log_weights.double()]
    return torch.stack([row for row, _ in rows]), torch.stack([shape for _, shape in rows])


def _smoothed_row(log_weights: Float[Tensor, " draws"]) -> tuple[Float[Tensor, " draws"], Float[Tensor, ""]]:
    shifted = log_weights - log_weights.max()
    count = len(shifted)
    tail = min(count // 5, math.ceil(3 * math.sqrt(count)))
    order = shifted.argsort()
    cut = shifted[order[count - tail - 1]].exp() if tail < count else shifted.new_zeros(())
    excess = shifted[order[count - tail :]].exp() - cut  # ascending
    if tail < FEWEST_TAIL or not float(excess[-1]) > 0:
        return shifted.log_softmax(-1), shifted.new_tensor(-math.inf if tail >= FEWEST_TAIL else math.inf)
    shape, scale = pareto_fit(excess)
    bound = largest_shape(cut, tail)
    if shape < LEAST_SMOOTHED or bound < shape:
        return shifted.log_softmax(-1), torch.minimum(shape, bound)
    levels = (torch.arange(tail, dtype=shifted.dtype) + 0.5) / tail
    quantiles = scale * torch.expm1(-shape * torch.log1p(-levels)) / shape
    smooth = shifted.clone()
    smooth[order[count - tail :]] = (quantiles + cut).log().clamp(max=0.0)
    return smooth.log_softmax(-1), shape


def largest_shape(cut: Float[Tensor, ""], tail: int) -> Float[Tensor, ""]:
    """The shape of a Pareto tail above the cut whose largest weight is below 1 with probability `DOUBT`.

    log(weight / cut) is exponential with mean k, so the largest of n is below t with probability (1 - exp(-t / k))^n.
    A fit of the excess alone does not see its size beside the cut: weights between 1 and 1.1 would be heavy-tailed
    where most are below 1.01, although their average is exact to a few per cent.
    """
    return cut.log() / math.log(-math.expm1(math.log(DOUBT) / tail))


def pareto_fit(excess: Float[Tensor, " tail"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Shape and scale of a generalised Pareto distribution (Zhang and Stephens, 2009); a weak prior on the shape."""
    count = len(excess)
    grid = 30 + int(math.sqrt(count))
    quartile = excess[max(0, int(count / 4 + 0.5) - 1)].clamp_min(1e-300)
    steps = torch.arange(1, grid + 1, dtype=excess.dtype)
    theta = 1 / excess[-1] + (1 - torch.sqrt(grid / (steps - 0.5))) / (3 * quartile)
    shapes = torch.log1p(-theta[:, None] * excess).mean(-1)
    likelihood = count * (torch.log(-theta / shapes) - shapes - 1)
    weights = likelihood.nan_to_num(nan=-torch.inf).softmax(0)
    best = (weights * theta).sum()
    shape = torch.log1p(-best * excess).mean()
    scale = -shape / best
    return (count * shape + 10 * 0.5) / (count + 10), scale
