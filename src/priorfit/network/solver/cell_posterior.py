"""The posterior of a program's latents as a mixture over cells: a Normal in each."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.network.solver.cell_guess import guess_of
from priorfit.network.solver.local import OfCells, Spread, State
from priorfit.network.solver.regressions import picked
from priorfit.network.solver.solver import FirstGuess

CHAINED = 32
"""Cells that each joint draw of the latents goes on with after its first number."""

NumbersThere = tuple[
    Float[Tensor, "batch kept chosen"],
    Float[Tensor, "batch kept chosen dimensions"],
    Float[Tensor, "batch kept chosen"],
]
"""Mean, slope and variance of some numbers of the latents in the cells of each dataset: they are linear in w."""


@dataclass(frozen=True)
class CellPosterior:
    """The log weights of the cells that a context leaves, and the posterior of w in each, a Normal."""

    log_weights: OfCells
    state: State
    spread: Spread

    def guess(self, numbers: NumbersThere, like: tuple[int, torch.dtype]) -> FirstGuess:
        """See `Solved.latent_guess`."""
        mean, slope, variance = numbers
        loc = mean + (slope @ self.state[..., None])[..., 0]  # (batch, kept, numbers)
        scale = (((slope @ self.spread) * slope).sum(-1) + variance).sqrt()
        log_weights = self.log_weights[..., None].expand_as(loc)
        share, loc, scale = (each[:, :, None] for each in (torch.zeros_like(loc), loc, scale))
        return guess_of(log_weights, share, loc, scale, like)

    def given(self, numbers: NumbersThere, known: Float[Tensor, "batch known"]) -> "CellPosterior":
        """See `Solved.given`: a known number is one more observation of w, with no noise."""
        state, spread, weights = self.state, self.spread, self.log_weights
        mean, slope, variance = numbers
        for place in range(known.shape[1]):
            own = slope[:, :, place]  # (batch, kept, dimensions)
            error = known[:, place, None].double() - mean[:, :, place] - (own * state).sum(-1)
            gain, total, spread = updated(spread, own, variance[:, :, place])
            weights = weights - 0.5 * (error.square() / total + total.log())
            state = state + gain * error[..., None]
        return CellPosterior(weights.log_softmax(1), state, spread)

    def given_draws(
        self, numbers: NumbersThere, drawn: Float[Tensor, "batch draws"]
    ) -> tuple["CellPosterior", Int[Tensor, "batch draws few"]]:
        """See `Solved.given_draws`: the cells of the largest weights for each draw, and which these are."""
        mean, slope, variance = (each[:, :, 0] for each in numbers)
        gain, total, spread = updated(self.spread, slope, variance)
        error = drawn.double()[..., None] - (mean + (slope * self.state).sum(-1))[:, None]  # (batch, draws, kept)
        weights = self.log_weights[:, None] - 0.5 * (error.square() / total[:, None] + total.log()[:, None])
        top = weights.topk(min(CHAINED, weights.shape[2]), dim=2)
        steps = picked(gain, top.indices) * error.gather(2, top.indices).flatten(0, 1)[..., None]
        state = picked(self.state, top.indices) + steps
        log_weights = top.values.flatten(0, 1).log_softmax(1)
        return CellPosterior(log_weights, state, picked(spread, top.indices)), top.indices


def updated(
    spread: Spread, slope: State, variance: Float[Tensor, "batch kept"]
) -> tuple[State, Float[Tensor, "batch kept"], Spread]:
    """What one more number, ``slope . w`` with some variance, changes in every cell.

    The first is how far w moves for each unit that the number is off, then the variance of the number before it is
    known, and the covariance of w after.
    """
    moved = (spread @ slope[..., None])[..., 0]
    total = (slope * moved).sum(-1) + variance
    gain = moved / total[..., None]
    return gain, total, spread - moved[..., :, None] * gain[..., None, :]


def chosen_numbers(
    table: Float[Tensor, "cells numbers linear"],
    variance: Float[Tensor, "cells numbers"],
    cells: Int[Tensor, "batch kept"],
    which: Sequence[int],
) -> NumbersThere:
    """Some numbers of the latents in the cells of each dataset, in float64."""
    there = table[:, list(which)][cells].double()  # (batch, kept, numbers, linear)
    return there[..., 0], there[..., 1:], variance[:, list(which)][cells].double()
