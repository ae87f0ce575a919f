"""What a context leaves of cells in which a law of classes is constant, and what these say of queries and latents."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Categorical

from priorfit.errors import InputError
from priorfit.network.solver.cell_guess import largest
from priorfit.network.solver.cell_posterior import CellPosterior
from priorfit.network.solver.local import OfCells
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.regressions import picked
from priorfit.network.solver.solver import NO_POINTS, FirstGuess, Points, Solved, Targets

if TYPE_CHECKING:
    from priorfit.network.solver.steps import StepRegression

LogProbs = Float[Tensor, "batch kept classes points"]

LEAST_PROBABILITY = 1e-12
"""A mixture of probabilities is at least this, so that its logarithm is finite."""


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

    known: CellPosterior | None = field(default=None)
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
        return step_guess_of(self.log_weights[..., None], self.solver.log_probs(x, self.index), self._like)

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; each cell loses the evidence that the point was for it."""
        if self.context is None:
            raise InputError(NO_POINTS)
        log_probs, y = self.context
        return step_guess_of(
            (self.log_weights[..., None] - own_class(log_probs, y).double()).log_softmax(1), log_probs, self._like
        )

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


def step_guess_of(
    log_weights: Float[Tensor, "batch kept #points"], log_probs: LogProbs, like: tuple[int, torch.dtype]
) -> FirstGuess:
    """A mixture of class probabilities over cells; no number that tokens are told depends on the number of classes.

    Of the cells of the largest weights they are told the probability of the class that the mixture holds for the most
    likely, and the entropy; of the mixture the same, how much the cells disagree, and how many there are.
    """
    shown, dtype = like
    place, top_weights = largest(log_weights, shown)
    size = -(2 * log_weights).logsumexp(1, keepdim=True)  # log effective number of cells
    weights, probs = log_weights.exp().to(log_probs.dtype), log_probs.exp()
    if weights.shape[2] == 1:
        mixture = (weights.mT @ probs.flatten(2)).unflatten(2, probs.shape[2:])[:, 0]
    else:
        mixture = torch.einsum("bkp,bkcp->bcp", weights, probs)
    mixture = mixture.clamp_min(LEAST_PROBABILITY)
    logits = (mixture / mixture.sum(1, keepdim=True)).log()  # (batch, classes, points)
    best = logits.argmax(1, keepdim=True)
    own = probs.gather(2, best[:, None].expand(-1, probs.shape[1], -1, -1))[:, :, 0]
    likely = logits.gather(1, best)
    apart = (weights * (own - likely.exp()).square()).sum(1, keepdim=True)
    entropy = -(logits.exp() * logits).sum(1, keepdim=True)
    is_there = top_weights > LEAST_LOG_WEIGHT  # whatever else was kept for other datasets of the batch
    place = place.expand(-1, -1, own.shape[2])  # (batch, shown, points)
    top = log_probs.gather(1, place[:, :, None].expand(-1, -1, log_probs.shape[2], -1))
    top_own = torch.where(is_there, own.gather(1, place), 0.0)
    top_entropies = torch.where(is_there, -(top.exp() * top).sum(2), 0.0)
    weighed = (top_weights / TOKEN_SCALE).expand_as(top_own)
    told = [top_own, top_entropies, weighed, likely, entropy, apart, size.expand_as(entropy)]
    return FirstGuess(
        Categorical(logits=logits.mT, validate_args=False), torch.cat([each.to(dtype) for each in told], dim=1).mT
    )
