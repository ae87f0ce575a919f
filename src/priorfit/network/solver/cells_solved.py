"""The regressions of the cells that a context leaves, and what they say of queries and of latents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.errors import InputError
from priorfit.network.solver.cell_classes import class_guess_of
from priorfit.network.solver.cell_guess import guess_of
from priorfit.network.solver.cell_joint import JointCells
from priorfit.network.solver.cell_posterior import CellPosterior
from priorfit.network.solver.gaussian import LeftOut, repeated
from priorfit.network.solver.joint import JointNormals
from priorfit.network.solver.local import Local, OfCells, OfCurves, Spread, State
from priorfit.network.solver.odds import Odds
from priorfit.network.solver.posteriors import Regressions
from priorfit.network.solver.regressions import picked, without_each
from priorfit.network.solver.solver import NO_POINTS, FirstGuess, Points, Solved, Targets

if TYPE_CHECKING:
    from priorfit.network.solver.cells import CellRegression


@dataclass(frozen=True)
class CellStatistics:
    """What a file keeps of a context: the cells that matter, and the posterior of w in each."""

    index: Int[Tensor, "batch kept"]
    log_weights: OfCells
    state: State
    spread: Spread
    evidence: Float[Tensor, " batch"]


@dataclass(frozen=True)
class CellsSolved(Solved):
    """The regressions of the cells that a context leaves, and their weights."""

    solver: "CellRegression"
    index: Int[Tensor, "batch kept"]
    found: Regressions
    log_weights: OfCells
    evidence: Float[Tensor, " batch"]
    context: tuple[Local, Targets] | None
    """The law at the points of the context, and their targets."""

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`; all cells have equal weights before the context."""
        return self.evidence

    def kept(self) -> CellStatistics:
        """See `Solved.kept`."""
        return CellStatistics(self.index, self.log_weights, self.found.state, self.found.spread, self.evidence)

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        local = self.solver.laws.fine(x, self.index).around(self.found.state, self.found.spread)
        mean, variance = local.fitted(self.found.state), local.leverage(self.found.spread)
        return self._guess(local, mean, variance, self.log_weights[..., None])

    @cached_property
    def _left_out(self) -> tuple[Local, OfCurves, OfCurves]:
        if self.context is None:
            raise InputError(NO_POINTS)
        local, _ = self.context
        return local, *without_each(local, self.found)

    @property
    def left_out(self) -> LeftOut:
        """What each cell says of each point given the others; of the first mean where there are several."""
        local, mean, variance = self._left_out
        return LeftOut((local.mean + mean)[:, :, 0], variance[:, :, 0])

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; each cell loses the evidence that the point was for it."""
        local, mean, variance = self._left_out
        assert self.context is not None  # `_left_out` has looked
        told = local.log_density(self.context[1].double(), mean, variance)
        return self._guess(local, mean, variance, (self.log_weights[..., None] - told).log_softmax(1))

    def _guess(
        self, local: Local, mean: OfCurves, variance: OfCurves, log_weights: Float[Tensor, "batch kept #points"]
    ) -> FirstGuess:
        """The mixture of all cells and branches, and what tokens are told of it."""
        if isinstance(local, Odds):
            log_probs = local.log_probs(mean, variance)
            return class_guess_of(log_weights.expand_as(log_probs[:, :, 0]), log_probs, self._like)
        scale = (variance + local.variance).sqrt()
        loc = (local.mean + mean).expand_as(scale)
        return guess_of(log_weights.expand_as(scale[:, :, 0]), local.log_share, loc, scale, self._like)

    @property
    def _like(self) -> tuple[int, torch.dtype]:
        return self.solver.shown, self.solver.laws.dtype

    def joint(self, x: Points) -> JointNormals | None:
        """See `Solved.joint`; a law of classes or of several Normals has no Gaussian in each cell."""
        if self.solver.has_odds or self.solver.settings.branches > 1:
            return None
        sets = len(x) // len(self.index)
        index, state, spread, weights = (
            repeated(each, sets).expand(len(x), *each.shape[1:])
            for each in (self.index, self.found.state, self.found.spread, self.log_weights)
        )
        local = self.solver.laws.fine(x, index).around(state, spread)
        return JointCells(local, state, spread, weights)

    @property
    def posterior(self) -> CellPosterior:
        """The weights of the cells, and the posterior of w in each."""
        return CellPosterior(self.log_weights, self.found.state, self.found.spread)

    def latent_guess(self, index: Sequence[int]) -> FirstGuess:
        """See `Solved.latent_guess`."""
        return self.posterior.guess(self.solver.laws.numbers_in(self.index, index), self._like)

    def given(self, index: Sequence[int], numbers: Float[Tensor, "batch known"]) -> "CellsSolved":
        """See `Solved.given`."""
        told = self.posterior.given(self.solver.laws.numbers_in(self.index, index), numbers)
        found = replace(self.found, state=told.state, spread=told.spread)
        return replace(self, found=found, log_weights=told.log_weights, context=None)

    def given_draws(self, number: int, drawn: Float[Tensor, "batch draws"]) -> "CellsSolved":
        """See `Solved.given_draws`; each draw goes on with the cells of the largest weights."""
        told, top = self.posterior.given_draws(self.solver.laws.numbers_in(self.index, [number]), drawn)
        none = torch.zeros(*top.flatten(0, 1).shape, self.solver.settings.curves, 0).to(told.state)
        found = Regressions(told.state, told.spread, told.log_weights, none, none)
        evidence = self.evidence.repeat_interleave(drawn.shape[1], 0)
        return CellsSolved(self.solver, picked(self.index, top), found, told.log_weights, evidence, None)
