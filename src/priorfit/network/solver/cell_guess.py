"""The mixture of the Normals of many cells as a first guess."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from priorfit.distributions import NormalMixture
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.solver import FirstGuess

BEFORE_THE_NEXT = 1e-6
"""Cells of equal weights, as before the first point, are shown in their order: by so much a log weight counts less than
that of the cell before it. Else rounding, which no two devices share, would choose among them."""


def guess_of(
    log_weights: Float[Tensor, "batch kept points"],
    log_share: Float[Tensor, "batch kept branches points"],
    loc: Float[Tensor, "batch kept branches points"],
    scale: Float[Tensor, "batch kept branches points"],
    like: tuple[int, torch.dtype],
) -> FirstGuess:
    """A mixture over cells and branches; tokens are told its moments, and those of the cells of the largest weights."""
    shown, dtype = like
    share = log_share.exp()
    middle = (share * loc).sum(2)  # (batch, kept, points): moments of each cell
    width = (share * (scale.square() + (loc - middle[:, :, None]).square())).sum(2)
    weight = log_weights.exp()
    location = (weight * middle).sum(1, keepdim=True)
    within = (weight * width).sum(1, keepdim=True)
    whole = within + (weight * (middle - location).square()).sum(1, keepdim=True)
    size = -(2 * log_weights).logsumexp(1, keepdim=True)  # log effective number of cells
    place, top_weights = largest(log_weights, shown)
    is_there = top_weights > LEAST_LOG_WEIGHT  # whatever else was kept for other datasets of the batch
    mean = torch.where(is_there, (middle.gather(1, place) - location) / whole.sqrt(), 0.0)
    log_scale = torch.where(is_there, 0.5 * (width.gather(1, place) / whole).log(), 0.0)
    told = [mean, log_scale, top_weights / TOKEN_SCALE, location, 0.5 * whole.log(), (within / whole).log(), size]
    parts = (log_weights[:, :, None] + log_share, loc, scale)
    ppd = NormalMixture(*(part.flatten(1, 2).mT for part in parts), validate_args=False)  # (batch, points, components)
    moments = (location[:, 0], whole[:, 0], whole[:, 0].sqrt())
    return FirstGuess(ppd.with_moments(*moments), torch.cat(told, dim=1).mT.to(dtype))


def largest(
    log_weights: Float[Tensor, "batch kept points"], shown: int
) -> tuple[Int[Tensor, "batch shown points"], Float[Tensor, "batch shown points"]]:
    """The places of the cells of the largest weights, and their log weights; those of absent cells are the least."""
    least = padded(log_weights, shown, LEAST_LOG_WEIGHT)
    order = torch.arange(least.shape[1], dtype=least.dtype, device=least.device)[:, None]
    top = (least - BEFORE_THE_NEXT * order).topk(shown, dim=1).indices
    return top.clamp_max(log_weights.shape[1] - 1), least.gather(1, top).clamp_min(LEAST_LOG_WEIGHT)


def padded(numbers: Float[Tensor, "batch kept points"], least: int, value: float) -> Float[Tensor, "batch more points"]:
    """At least so many rows."""
    missing = max(0, least - numbers.shape[1])
    return nn.functional.pad(numbers, (0, 0, 0, missing), value=value)
