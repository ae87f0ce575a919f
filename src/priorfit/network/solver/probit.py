"""Regressions on two classes, by expectation propagation: the counterpart of `gaussian` for labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network.solver.gaussian import (
    ByFeatures,
    LeftOut,
    Numbers,
    Phi,
    Weights,
    factor_of,
    inverted,
    log_determinant,
)

STEPS = (1.0, 0.9, 0.9, 0.6, 0.6)
"""Share of the way to a site's new value that each round goes. All sites move at once, so they swing where labels are
certain: the last steps are short to end that. More rounds hardly move an answer (see the tests)."""

LEARNED_ROUNDS = 2
"""Gradients flow through the last two rounds only; more would double the memory and gained nothing in the pilots."""

Columns = Float[Tensor, "batch heads learned points"]
"""Features with the points last: products with the few features of a label are several times as fast."""


@dataclass(frozen=True)
class Sites:
    """A Normal factor for each point, which stands for its label: precision, and precision times location.

    Features have been multiplied by the labels' signs.
    """

    precision: Numbers
    shift: Numbers


@dataclass(frozen=True)
class Round:
    """The posterior that sites give, and what it would be at each point without that point's site."""

    factor: Float[Tensor, "batch heads learned learned"]
    whitener: Float[Tensor, "batch heads learned learned"]
    white: Weights
    mean: Numbers
    left_out: LeftOut


def classify(phi: Phi, signs: Numbers, steps: Sequence[float] = STEPS) -> tuple[ByFeatures, LeftOut]:
    """Condition on labels, y = sign(w . phi + e) with w ~ N(0, I) and e ~ N(0, 1); an empty context leaves the prior.

    The Normal that agrees with the moments of the posterior (Minka, 2001), exact for a single label. Gradients go
    through the last rounds only: nearly those of the fixed point, at a fraction of the cost.
    """
    columns = phi.mT.contiguous() * signs[..., None, :]  # so that all labels are positive
    with torch.no_grad():
        variance = columns.square().sum(-2)
        nothing = torch.zeros_like(variance)
        sites = updated(Sites(nothing, nothing), LeftOut(nothing, variance), steps[0])
        for step in steps[1:-LEARNED_ROUNDS]:
            sites = updated(sites, posterior_of(columns, sites).left_out, step)
    for step in steps[-LEARNED_ROUNDS:]:
        sites = updated(sites, posterior_of(columns, sites).left_out, step)
    last = posterior_of(columns, sites)
    left_out = LeftOut(last.left_out.mean * signs, last.left_out.variance)
    return ByFeatures(last.whitener, last.white, log_evidence(sites, last)), left_out


def posterior_of(columns: Columns, sites: Sites) -> Round:
    """The regression whose values and noise the sites say."""
    factor = factor_of((columns * sites.precision[..., None, :]) @ columns.mT)
    whitener = inverted(factor)
    known = whitener @ columns
    white = (known * sites.shift[..., None, :]).sum(-1)  # twice as fast as the product
    mean = (white[..., None, :] @ known)[..., 0, :]
    variance = known.square().sum(-2)
    rest = one_minus(sites.precision, variance)
    rest = rest.clamp_min(torch.finfo(rest.dtype).eps)  # of a difference that rounds
    left_out = LeftOut(torch.addcmul(mean, sites.shift, variance, value=-1) / rest, variance / rest)
    return Round(factor, whitener, white, mean, left_out)


def updated(sites: Sites, left_out: LeftOut, step: float) -> Sites:
    """Sites on their way to give each point the moments of its label's likelihood times all the other sites.

    Points are few, so each operation counts: those with a number in them take twice as long as the others.
    """
    narrow = (1 + left_out.variance).rsqrt()
    margin = (left_out.mean * narrow).clamp_min(least_margin(narrow.dtype))
    tail = -math.sqrt(0.5) * margin
    ratio = math.sqrt(2 / math.pi) * torch.exp(tail * -tail) / torch.erfc(tail)  # of density and probability
    slope = ratio * narrow
    curvature = slope * (margin + ratio) * narrow
    rest = one_minus(left_out.variance, curvature)  # of the variance, what the label leaves
    precision, shift = curvature / rest, torch.addcmul(slope, left_out.mean, curvature) / rest
    return Sites(torch.lerp(sites.precision, precision, step), torch.lerp(sites.shift, shift, step))


def one_minus(first: Numbers, second: Numbers) -> Numbers:
    """1 less the product of both."""
    return torch.addcmul(torch.ones((), dtype=first.dtype, device=first.device), first, second, value=-1)


def least_margin(dtype: torch.dtype) -> float:
    """A label less probable than at this margin counts as if at it: its probability is still a number."""
    return -37.0 if dtype == torch.float64 else -12.5


def probability(margin: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The probability of a label at a margin of at least `least_margin`; torch's log_ndtr takes four times as long."""
    return 0.5 * torch.erfc(-math.sqrt(0.5) * margin)


def log_evidence(sites: Sites, last: Round) -> Float[Tensor, "batch heads"]:
    """The log probability of the labels, as expectation propagation approximates it."""
    mean, variance = last.left_out.mean, last.left_out.variance
    least = least_margin(mean.dtype)
    labels = probability((mean / (1 + variance).sqrt()).clamp_min(least)).log()
    scale = 1 + sites.precision * variance
    quadratic = (mean.square() * sites.precision - 2 * sites.shift * mean - sites.shift.square() * variance) / scale
    return (labels + 0.5 * (scale.log() + quadratic + sites.shift * last.mean)).sum(-1) - log_determinant(last.factor)
