"""The quantiles of mixtures of Normals: there is no formula, so a root is sought for each level."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from priorfit.distributions.normal_tails import normal_cdf

MAX_STEPS = 300
"""Most steps of a search: enough to bisect a bracket to the spacing of float64 where Newton's method fails."""

ROUNDING = 16
"""The mass of a tail is right to this many units of its last digit: it is a sum of exponentials of squares."""


class _Search(NamedTuple):
    """The state of the search for each quantile; the first axis of all tensors runs over the quantiles."""

    probs: Float[Tensor, "searches components"]
    loc: Float[Tensor, "searches components"]
    scale: Float[Tensor, "searches components"]
    side: Float[Tensor, " searches"]
    """1 where the probability below the point is sought, -1 where that above it is."""
    sought: Float[Tensor, " searches"]
    low: Float[Tensor, " searches"]
    high: Float[Tensor, " searches"]
    point: Float[Tensor, " searches"]
    stride: Float[Tensor, " searches"]

    def where(self, kept: Bool[Tensor, " searches"]) -> "_Search":
        return _Search(*(part[kept] for part in self))


def mixture_quantiles(
    probs: Float[Tensor, "*points components"],
    loc: Float[Tensor, "*points components"],
    scale: Float[Tensor, "*points components"],
    below: Float[Tensor, "*points"],
    above: Float[Tensor, "*points"],
) -> Float[Tensor, "*points"]:
    """The points with the probabilities ``below`` and ``above`` on either side; NaN unless these lie between 0 and 1.

    Newton's method on the logarithm of the smaller tail, which is nearly a parabola, kept within a bracket that begins
    as the lowest and highest quantile of a component; the bracket is halved wherever Newton's step leaves it, or is
    more than half as long as the step before. Quantiles that are found drop out of the search.
    """
    ends = torch.where(below == 0, -torch.inf, torch.where(above == 0, torch.inf, torch.nan))
    result = ends.to(loc.dtype).flatten()
    searched = ((below > 0) & (above > 0)).flatten()
    probs, loc, scale = (part.reshape(-1, part.shape[-1])[searched] for part in (probs, loc, scale))
    search = _begin(probs, loc, scale, below.flatten()[searched], above.flatten()[searched])
    result[searched] = _found(search)
    return result.reshape(below.shape)


def _begin(
    probs: Float[Tensor, "searches components"],
    loc: Float[Tensor, "searches components"],
    scale: Float[Tensor, "searches components"],
    below: Float[Tensor, " searches"],
    above: Float[Tensor, " searches"],
) -> _Search:
    """The bracket of the lowest and the highest quantile among the components that have weight, and its middle."""
    side = torch.where(below < above, 1, -1).to(loc.dtype)
    sought = torch.minimum(below, above)
    depth = torch.special.ndtri(sought.double()).to(loc.dtype)  # in float32 it is off by more than the slack
    quantile = loc + scale * (side * depth)[:, None]
    slack = 4 * torch.finfo(loc.dtype).eps * (quantile.abs() + loc.abs() + scale)  # rounding must not exclude the root
    low = (quantile - slack).masked_fill(probs == 0, torch.inf).amin(-1)
    high = (quantile + slack).masked_fill(probs == 0, -torch.inf).amax(-1)
    return _Search(probs, loc, scale, side, sought, low, high, low + (high - low) / 2, high - low)


def _found(search: _Search) -> Float[Tensor, " searches"]:
    """The quantiles at which a search ends."""
    result = search.point.clone()
    index = torch.arange(len(result), device=result.device)
    for _ in range(MAX_STEPS):
        search, settled = _step(search)
        if 2 * int(settled.sum()) >= len(settled):  # copying what is left pays when it is at most half
            result[index] = search.point
            search, index = search.where(~settled), index[~settled]
        if not len(index):
            break
    result[index] = search.point
    return result


def _step(search: _Search) -> tuple[_Search, Bool[Tensor, " searches"]]:
    """The next points, and which of them are as good as their arithmetic allows."""
    point, low, high = search.point, search.low, search.high
    resolution = torch.finfo(point.dtype).eps
    mass, density = _mass_and_density(search)
    excess = search.side * (mass - search.sought)
    exact = excess.abs() <= ROUNDING * resolution * search.sought
    low, high = torch.where(excess <= 0, point, low), torch.where(excess >= 0, point, high)
    newton = point + search.side * (search.sought / mass).log() * mass / density
    usable = (newton >= low) & (newton <= high) & ((newton - point).abs() <= search.stride / 2)
    # A point with the right mass may be left for a better one, but never for the middle of its bracket.
    following = torch.where(usable, newton, torch.where(exact, point, low + (high - low) / 2))
    stride = (following - point).abs()
    settled = exact | (stride <= resolution * search.scale.amin(-1))  # a stride may round to 0
    return search._replace(low=low, high=high, point=following, stride=stride), settled


def _mass_and_density(search: _Search) -> tuple[Float[Tensor, " searches"], Float[Tensor, " searches"]]:
    """The probability below each point where ``side`` is 1, above it where it is -1; and the density there."""
    standardised = search.side[:, None] * (search.point[:, None] - search.loc) / search.scale
    mass = (search.probs * normal_cdf(standardised)).sum(-1)
    density = (search.probs / search.scale * (-(standardised**2) / 2).exp()).sum(-1) / math.sqrt(2 * math.pi)
    return mass, density
