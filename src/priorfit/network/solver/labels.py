"""Probit regression of two classes on learned features, by expectation propagation."""

import torch
from torch import nn
from torch.distributions import Categorical

from priorfit.network.solver.features import FeatureSolver, FeaturesSolved, LearnedFeatures, OfComponents, log_ladder
from priorfit.network.solver.gaussian import Numbers, Phi
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.probit import classify, least_margin, probability
from priorfit.network.solver.solver import FirstGuess, Points, Targets

FIRST_SPREAD = (1.0, 20.0)
"""Prior deviation of w . phi of the first and of the last component before training, in units of the noise."""

LARGEST_TOLD = 5.0
"""Margins and log odds are squashed to this in the features of tokens: beyond, a label is certain."""


class ProbitRegression(FeatureSolver):
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

    def condition(self, x: Points, y: Targets) -> FeaturesSolved:
        """See `Solver.condition`; the evidence is that of expectation propagation."""
        phi = self.phi(x)
        signs = (2 * y.to(phi.dtype) - 1)[:, None, :].expand(phi.shape[:-1])
        solution, left_out = classify(phi, signs)
        return FeaturesSolved(self, solution, left_out, solution.log_evidence)

    def phi(self, x: Points) -> Phi:
        """See `FeatureSolver.phi`."""
        return self.features.phi(x, torch.float32)

    def guess(self, mean: Numbers, variance: Numbers, log_evidence: OfComponents) -> FirstGuess:
        """See `FeatureSolver.guess`."""
        margin = mean / (1 + variance).sqrt()
        log_weights = log_evidence.log_softmax(1)[..., None]  # (batch, components, 1)
        least = least_margin(margin.dtype)
        bounded = margin.clamp(least, -least)
        zero, one = ((log_weights.exp() * probability(sign * bounded)).sum(1).log() for sign in (-1, 1))
        log_odds = (one - zero)[:, None]  # (batch, 1, points)
        weights = log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(mean) / TOKEN_SCALE
        features = torch.cat([squashed(margin), variance.log1p() / 2, weights, squashed(log_odds)], dim=1).mT
        dtype = self.features.slow_log_gain.dtype
        return FirstGuess(Categorical(logits=torch.stack([zero, one], dim=-1), validate_args=False), features.to(dtype))


def squashed(numbers: Numbers) -> Numbers:
    """Nearly the same where they are small, bounded where they are large."""
    return LARGEST_TOLD * torch.tanh(numbers / LARGEST_TOLD)
