"""Probit regression of two classes on learned features, by expectation propagation."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributions import Categorical

from priorfit.network.solver.features import LearnedFeatures, log_ladder, mixed_log_evidence
from priorfit.network.solver.gaussian import LeftOut, Numbers, Solution
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.probit import classify, least_margin, probability
from priorfit.network.solver.solver import FirstGuess, Points, Solved, Solver, Targets

FIRST_SPREAD = (1.0, 20.0)
"""Prior deviation of w . phi of the first and of the last component before training, in units of the noise."""

LARGEST_TOLD = 5.0
"""Margins and log odds are squashed to this before tokens are told them: beyond, a label is certain."""


class ProbitRegression(Solver):
    """The module of a `LinearSolver` for two classes: y = [w . phi(x) + e > 0] with w ~ N(0, I), e ~ N(0, 1).

    The guess is the components' mixture, weighted by their evidence. A label says little of w, so no matrix comes near
    singular, and single precision will do.
    """

    def __init__(self, encoder: nn.Module, sizes: tuple[int, int, int]) -> None:
        super().__init__()
        components, features, hidden = sizes
        self.features = LearnedFeatures(encoder, sizes, log_ladder(FIRST_SPREAD, components, alone=1 / 2))
        self.num_numbers = 3 * components + 1
        self.memory_per_query = 6 * components * features + hidden

    def condition(self, x: Points, y: Targets) -> "LabelsSolved":
        """See `Solver.condition`."""
        phi = self.features.phi(x, torch.float32)
        signs = (2 * y.to(phi.dtype) - 1)[:, None, :].expand(phi.shape[:-1])
        return LabelsSolved(self, *classify(phi, signs))

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`."""
        return self.features.matrices()


@dataclass(frozen=True)
class LabelsSolved(Solved):
    """The Normals that stand for the posteriors of the weights of each component, given labels."""

    solver: ProbitRegression
    solution: Solution
    left_out: LeftOut

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`; as expectation propagation approximates it."""
        return mixed_log_evidence(self.solution.log_evidence)

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        return self._guess(*self.solution.moments(self.solver.features.phi(x, torch.float32)))

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; the cavity of each label."""
        return self._guess(self.left_out.mean, self.left_out.variance)

    def _guess(self, mean: Numbers, variance: Numbers) -> FirstGuess:
        margin = mean / (1 + variance).sqrt()
        log_weights = self.solution.log_evidence.log_softmax(1)[..., None]  # (batch, components, 1)
        least = least_margin(margin.dtype)
        bounded = margin.clamp(least, -least)
        zero, one = ((log_weights.exp() * probability(sign * bounded)).sum(1).log() for sign in (-1, 1))
        log_odds = (one - zero)[:, None]  # (batch, 1, points)
        weights = log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(mean) / TOKEN_SCALE
        features = torch.cat([squashed(margin), variance.log1p() / 2, weights, squashed(log_odds)], dim=1).mT
        dtype = self.solver.features.slow_log_gain.dtype
        return FirstGuess(Categorical(logits=torch.stack([zero, one], dim=-1), validate_args=False), features.to(dtype))


def squashed(numbers: Numbers) -> Numbers:
    """Nearly the same where they are small, bounded where they are large."""
    return LARGEST_TOLD * torch.tanh(numbers / LARGEST_TOLD)
