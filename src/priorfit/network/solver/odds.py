"""Laws of classes that are linear in each of many cells: log odds of each class against all later ones."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from priorfit.network.solver.gaussian import log_determinant
from priorfit.network.solver.local import LOG_2PI, Local, OfCurves, Targets
from priorfit.network.solver.posteriors import Regressions, before, posterior_of

SHARES = (
    0.0014650018,
    0.0277071384,
    0.1388831583,
    0.3274969123,
    0.3797565737,
    0.1246912155,
)
SLOPES = (0.2385281318, 0.3086886226, 0.397706643, 0.5214133646, 0.7049301760, 0.9928304415)
"""The logistic function as a mixture of probits: its logarithm is off by less than 2.5e-4 up to 14."""

BOUNDS = 4
"""Rounds in which the bound of the evidence is raised."""


@dataclass(frozen=True)
class Odds(Local):
    """The law of each point in each cell: ``mean + slope . w`` are log odds of each class against all later ones.

    ``variance`` is that of what is not linear in them.
    """

    def told(self, y: Targets) -> tuple[Float[Tensor, "batch 1 curves points"], Bool[Tensor, "batch 1 curves points"]]:
        """Whether each label is of the class of a curve, 1 or -1; and whether it tells of the curve at all."""
        classes = torch.arange(self.mean.shape[2], device=y.device)[:, None]
        label = y[:, None, None]  # (batch, 1, 1, points)
        return torch.where(label == classes, 1.0, -1.0).to(self.mean.dtype), label >= classes

    def log_probs(self, mean: OfCurves, variance: OfCurves) -> Float[Tensor, "batch cells classes points"]:
        """Log probabilities of all classes where slope . w has a mean and a variance; odds are as if independent."""
        own, later = (log_logistic(sign * (self.mean + mean), variance + self.variance)[0] for sign in (1, -1))
        return of_classes(own, later)

    def log_density(
        self, y: Targets, mean: OfCurves, variance: OfCurves | float
    ) -> Float[Tensor, "batch cells points"]:
        """See `Local.log_density`."""
        log_probs = self.log_probs(mean, torch.as_tensor(variance, dtype=mean.dtype, device=mean.device))
        index = y.long()[:, None, None].expand(-1, log_probs.shape[1], -1, -1)
        return log_probs.gather(2, index)[:, :, 0]

    def moments(self, y: Targets, mean: OfCurves, variance: OfCurves) -> tuple[OfCurves, OfCurves, OfCurves]:
        """See `Local.moments`."""
        sign, tells = self.told(y)
        told, moved, curved = log_logistic(sign * (self.mean + mean), variance + self.variance)
        return tells * told, tells * sign * moved, tells * curved


def of_classes(own: OfCurves, later: OfCurves) -> Float[Tensor, "batch cells classes points"]:
    """Log probabilities of all classes, from those of each class and of all later ones where no earlier one is."""
    nothing = torch.zeros_like(own[:, :, :1])
    return torch.cat([own, nothing], dim=2) + torch.cat([nothing, later], dim=2).cumsum(2)


def log_logistic(mean: OfCurves, variance: OfCurves) -> tuple[OfCurves, OfCurves, OfCurves]:
    """The logarithm of the mean of a logistic function of a Normal, its derivative, and minus the second one."""
    slopes = torch.tensor(SLOPES, dtype=mean.dtype, device=mean.device)
    narrow = slopes / (1 + slopes.square() * variance[..., None]).sqrt()  # (batch, cells, curves, points, parts)
    margin = narrow * mean[..., None]
    below = torch.special.log_ndtr(margin)
    each = torch.tensor(SHARES, dtype=mean.dtype, device=mean.device).log() + below
    told = each.logsumexp(-1)
    share = (each - told[..., None]).exp()
    ratio = narrow * (-0.5 * (margin.square() + LOG_2PI) - below).exp()
    moved = (share * ratio).sum(-1)
    return told, moved, moved.square() + (share * ratio * narrow * margin).sum(-1)


def bounded(local: Odds, y: Targets) -> Regressions:
    """A Normal in place of each label that bounds its probability from below (Jaakkola and Jordan, 2000).

    Each round raises the bound, whatever the labels: nothing swings, and no round needs more than a logistic function.
    """
    sign, tells = local.told(y)
    slope = local.slope.transpose(2, 3).flatten(3)
    state, spread = before(local, y)
    bound, precision, shift, size = spread, local.mean, local.mean, local.mean
    for _ in range(BOUNDS):
        square = (local.mean + local.fitted(state)).square() + local.leverage(spread) + local.variance
        size = square.clamp_min(1e-6).sqrt()
        precision = tells * (size / 2).tanh() / (2 * size)
        shift = tells * sign / 2 - precision * local.mean
        state, spread, bound = posterior_of(slope, precision.flatten(2), shift.flatten(2))
    each = torch.nn.functional.logsigmoid(size) - size / 2
    each = tells * (each + sign * local.mean / 2) - precision / 2 * (
        local.mean.square() + local.variance - size.square()
    )
    right = (slope * shift.flatten(2)[:, :, None]).sum(-1)
    evidence = each.sum((2, 3)) + 0.5 * (right * state).sum(-1) - log_determinant(bound)
    return Regressions(state, spread, evidence, precision, shift)
