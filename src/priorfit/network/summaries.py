"""What may be surprising about a dataset, as numbers that are large where it is."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network.one_step_ahead import Ask, Scores, one_step_ahead

FINDINGS = {
    "improbable": (
        "the targets are less probable",
        "Check their units and their noise; if both are right, train on a prior that draws such data.",
    ),
    "too probable": (
        "the targets are closer to what is predicted",
        "Check their units (values too small look like this); if they are right, train on a prior of less noise.",
    ),
    "outlier": (
        "one of the targets lies further from its prediction",
        "Look for a wrong point; if there is none, train on a prior with heavier tails.",
    ),
    "uneven": (
        "the quantiles at which targets come are less even",
        "Check the units and the balance of the targets; if both are right, train on a prior that draws such data.",
    ),
    "neighbours alike": (
        "errors of neighbouring points are more alike",
        "The functions vary faster than the prior's: check the units of x, or train on shorter lengthscales.",
    ),
    "neighbours unlike": (
        "errors of neighbouring points are less alike",
        "Check the units of x, and whether points are there twice.",
    ),
    "smooth": (
        "the targets are smoother in x",
        "Check the units of x (a range that is too wide looks like this), or train on longer lengthscales.",
    ),
}
"""For each summary, what is found where it is large, and what to do."""

SHRINKAGE = 3.0
SHRUNK_POINTS = 32
"""How many points are also predicted with inputs closer together."""

HIGH, HIGHER = 0.8, 0.95


def summaries(
    scores: Scores,
    ask: Ask,
    x: Float[Tensor, "datasets points features"],
    y: Float[Tensor, "datasets points"],
) -> dict[str, Float[Tensor, " datasets"]]:
    """All summaries, by name; all datasets have the same ``x``.

    "smooth" is how much more probable the first points would be if all inputs lay three times as close together: for a
    Gaussian process that is the likelihood ratio to one of three times the lengthscale. No average of one-step scores
    sees functions that are too smooth, since each single error stays as large as predicted.
    """
    centred, alike = scores.centred, neighbour_correlation(scores.normal, x[0])
    few_x, few_y = x[:, :SHRUNK_POINTS], y[:, :SHRUNK_POINTS]
    middle = x[:1].mean(1, keepdim=True)
    closer = one_step_ahead(ask, middle + (few_x - middle) / SHRINKAGE, few_y).log_density
    return {
        "improbable": -centred.mean(1),
        "too probable": centred.mean(1),
        "outlier": -centred.amin(1),
        "uneven": cramer_von_mises(scores.pit),
        "neighbours alike": alike,
        "neighbours unlike": -alike,
        "smooth": (closer - scores.log_density[:, :SHRUNK_POINTS]).mean(1).nan_to_num(nan=-torch.inf),
    }


def cramer_von_mises(pit: Float[Tensor, "datasets points"]) -> Float[Tensor, " datasets"]:
    """The squared distance of the values' empirical cdf from that of the uniform distribution."""
    count = pit.shape[1]
    even = (torch.arange(count, dtype=pit.dtype, device=pit.device) + 0.5) / count
    return (pit.nan_to_num(nan=1.0).sort(1).values - even).square().sum(1) + 1 / (12 * count)


def neighbour_correlation(
    normal: Float[Tensor, "datasets points"], x: Float[Tensor, "points features"]
) -> Float[Tensor, " datasets"]:
    """The correlation between the normal scores of each point and of the one whose inputs are nearest."""
    if len(x) < 2:
        return normal.new_zeros(len(normal))
    nearest = torch.cdist(x.double(), x.double()).fill_diagonal_(torch.inf).argmin(1)
    return (normal * normal[:, nearest]).mean(1) / normal.square().mean(1).clamp(min=1e-12)


def extremeness(values: Float[Tensor, " datasets"]) -> Float[Tensor, " datasets"]:
    """The rank of each value among all, plus a number below 1 that grows with the distance of a high value.

    Ranks give each summary the same weight. The distance, in units of that between two upper quantiles, is what keeps
    data that lie far outside ahead of the largest of the draws in some other summary.
    """
    below, at_most = values[:, None] > values, values[:, None] >= values
    rank = (below.sum(1) + at_most.sum(1)) / 2
    ordered = values.sort().values
    high, higher = (ordered[int(level * (len(values) - 1))] for level in (HIGH, HIGHER))
    off = ((values - high) / (higher - high)).nan_to_num(nan=0.0, posinf=torch.inf).clamp(min=0)
    return rank + torch.where(off.isinf(), 1.0, off / (1 + off))


def share_below(values: Float[Tensor, " datasets"]) -> float:
    """The share of the others that lie below the first, ties by half."""
    first, others = values[0], values[1:]
    return float(((others < first).double() + (others <= first).double()).mean() / 2)
