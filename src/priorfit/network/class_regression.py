"""The regression layer of two classes: probit regression on learned features, by expectation propagation."""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.network.propagation import classify, least_margin, probability
from priorfit.network.regression import Guess, HeadedRegression, Points, Regression, Told, log_ladder
from priorfit.network.solutions import LeftOut, Numbers, Remembered, Solution

FIRST_SPREAD = (1.0, 20.0)
"""Of w . phi in units of the noise, before training: that of the first and that of the last head."""

LARGEST_TOLD = 5.0
"""Tokens are told margins and log odds squashed to this: beyond, a label is certain."""


class ClassRegression(HeadedRegression):
    """Of two classes: y = [w . phi(x) + e > 0] with w ~ N(0, I), e ~ N(0, 1) and learned phi.

    The guess is the log odds of the heads' mixture, to which the network adds its own. A label says little of w, so no
    matrix comes near singular and single precision will do.
    """

    precision = torch.float32

    def __init__(self, settings: Regression, encoder: nn.Module, width: int) -> None:
        """Build it; ``width`` is that of the tokens."""
        super().__init__(settings, encoder, log_ladder(FIRST_SPREAD, settings.heads, alone=1 / 2))
        self.told = nn.Linear(3 * settings.heads + 2, width)

    def remember(self, x: Points, y: Num[Tensor, "batch points"]) -> tuple[Remembered, LeftOut]:
        """See `RegressionLayer.remember`."""
        phi = self.phi(x)
        return classify(phi, (2 * y.to(phi.dtype) - 1)[:, None, :].expand(phi.shape[:-1]))

    def _surprise(self, guess: Guess, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points"]:
        return y.to(guess.dtype) - guess[..., 0].sigmoid()

    def _mixed(self, mean: Numbers, variance: Numbers, memory: Remembered) -> tuple[Guess, Told]:
        """Log odds of the heads' mixture, and them with each head's own numbers as tokens are told them."""
        assert isinstance(memory, Solution)
        margin = mean / (1 + variance).sqrt()
        log_weights = memory.log_evidence.log_softmax(1)[..., None]  # (batch, heads, 1)
        least = least_margin(margin.dtype)
        bounded = margin.clamp(least, -least)
        one, zero = ((log_weights.exp() * probability(sign * bounded)).sum(1, keepdim=True) for sign in (1, -1))
        log_odds = one.log() - zero.log()  # (batch, 1, points)
        shares = log_weights.clamp_min(-20.0).expand_as(mean) / 4
        numbers = torch.cat([squashed(margin), variance.log1p() / 2, shares, squashed(log_odds)], dim=1)
        dtype = self.told.weight.dtype
        return log_odds.mT.to(dtype), numbers.mT.to(dtype)


def squashed(numbers: Numbers) -> Numbers:
    """Nearly the same where they are small, bounded where they are large."""
    return LARGEST_TOLD * torch.tanh(numbers / LARGEST_TOLD)
