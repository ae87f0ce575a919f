"""What a context leaves of cells in which a law of classes is constant, and what these say of queries and latents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.errors import InputError
from priorfit.network.solver.cell_classes import class_guess_of
from priorfit.network.solver.cell_posterior import CellPosterior
from priorfit.network.solver.local import OfCells
from priorfit.network.solver.regressions import picked
from priorfit.network.solver.solver import NO_POINTS, FirstGuess, Points, Solved, Targets

if TYPE_CHECKING:
    from priorfit.network.solver.steps import StepRegression

LogProbs = Float[Tensor, "batch kept classes points"]


@dataclass(frozen=True)
class StepStatistics:
    """What a file keeps of a context: the cells that matter, and their weights."""

    index: Int[Tensor, "batch kept"]
    log_weights: OfCells
    evidence: Float[Tensor, " batch"]


@dataclass(frozen=True)
class StepsSolved(Solved):
    """The cells that a context leaves, and their weights; the law is constant in each, so w keeps its prior there."""

    solver: "StepRegression"
    index: Int[Tensor, "batch kept"]
    log_weights: OfCells
    evidence: Float[Tensor, " batch"]
    context: tuple[LogProbs, Targets] | None
    """Log probabilities of classes at the points of the context, and their labels."""

    known: CellPosterior | None = None
    """The posterior of w in each cell where numbers of the latents are known."""

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`."""
        return self.evidence

    def kept(self) -> StepStatistics:
        """See `Solved.kept`."""
        return StepStatistics(self.index, self.log_weights, self.evidence)

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        return self._guess(self.log_weights[..., None], self.solver.log_probs(x, self.index))

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; each cell loses the evidence that the point was for it."""
        if self.context is None:
            raise InputError(NO_POINTS)
        log_probs, y = self.context
        return self._guess((self.log_weights[..., None] - own_class(log_probs, y).double()).log_softmax(1), log_probs)

    def _guess(self, log_weights: Float[Tensor, "batch kept #points"], log_probs: LogProbs) -> FirstGuess:
        """The mixture of all cells, in the precision of their probabilities."""
        return class_guess_of(log_weights.expand_as(log_probs[:, :, 0]), log_probs, self._like)

    @property
    def _like(self) -> tuple[int, torch.dtype]:
        return self.solver.shown, self.solver.odds.dtype

    @property
    def posterior(self) -> CellPosterior:
        """The weights of the cells, and the posterior of w in each."""
        if self.known is not None:
            return self.known
        state = torch.zeros(*self.index.shape, self.solver.settings.dimensions).to(self.log_weights)
        identity = torch.eye(state.shape[-1]).to(state)
        return CellPosterior(self.log_weights, state, identity.expand(*state.shape[:2], -1, -1))

    def latent_guess(self, index: Sequence[int]) -> FirstGuess:
        """See `Solved.latent_guess`."""
        return self.posterior.guess(self.solver.numbers_in(self.index, index), self._like)

    def given(self, index: Sequence[int], numbers: Float[Tensor, "batch known"]) -> "StepsSolved":
        """See `Solved.given`."""
        told = self.posterior.given(self.solver.numbers_in(self.index, index), numbers)
        return replace(self, log_weights=told.log_weights, known=told, context=None)

    def given_draws(self, number: int, drawn: Float[Tensor, "batch draws"]) -> "StepsSolved":
        """See `Solved.given_draws`; each draw goes on with the cells of the largest weights."""
        told, top = self.posterior.given_draws(self.solver.numbers_in(self.index, [number]), drawn)
        evidence = self.evidence.repeat_interleave(drawn.shape[1], 0)
        return StepsSolved(self.solver, picked(self.index, top), told.log_weights, evidence, None, told)


def own_class(log_probs: LogProbs, y: Targets) -> Float[Tensor, "batch kept points"]:
    """The log probability of each label in each cell."""
    return log_probs.gather(2, y.long()[:, None, None].expand(-1, log_probs.shape[1], 1, -1))[:, :, 0]
