"""The regression layer: Bayesian linear regression of the targets on learned features of x, solved exactly."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.embedding import ENCODED_RMS
from priorfit.network.solutions import Evidence, LeftOut, Numbers, Phi, Remembered, Solution, solve

Points = Float[Tensor, "batch points features"]
Guess = Float[Tensor, "batch points guessed"]
Told = Float[Tensor, "batch points numbers"]
Token = Float[Tensor, "batch points width"]

FIRST_NOISE = (0.3, 0.01)
"""The noise of the first and of the last head before training, in units of the prior's spread of y."""

PACE = 10.0
"""Noise and gains are learned as logarithms divided by this, so that Adam's small steps cross orders of magnitude."""

GELU_RMS = 0.35
"""Of the hidden units before training, roughly."""


@dataclass(frozen=True)
class Regression:
    """The setting of a `RegressionLayer`: ``heads`` regressions, each on ``features`` learned features of x.

    The features are those of a network with one hidden layer of ``hidden`` units on the encoded x, or, where that is 0,
    linear in what the encoder makes of x. ``evidence`` is the weight, beside the loss of a query, of minus the log
    evidence of the context per point: by the chain rule the layer's own loss on every point given those before it.
    """

    features: int = 128
    heads: int = 4
    hidden: int = 256
    evidence: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.features, self.heads) < 1 or min(self.hidden, self.evidence) < 0:
            raise InputError(
                f"features and heads of a Regression must be at least 1, hidden and evidence at least 0; got {self}."
            )

    @property
    def encoded(self) -> int:
        """How many numbers the encoder makes of x."""
        return self.hidden or self.heads * self.features


def log_ladder(ends: tuple[float, float], heads: int, alone: float) -> Float[Tensor, " heads"]:
    """Logarithms from one end to the other, a head each; one head has its place at ``alone`` of the way."""
    first, last = (math.log(end) for end in ends)
    return torch.linspace(first, last, heads) if heads > 1 else torch.tensor([first + alone * (last - first)])


class RegressionLayer(nn.Module, ABC):
    """Tells every point what regressions on the other points say about it, and gives queries a first guess.

    A point of the context is told what the others say, so that it looks like a query whose answer is known. Attention
    must learn to solve linear systems; this layer solves them, and learns what to regress on.
    """

    told: nn.Linear
    """From what a point is told to a token."""
    numbers_per_query: int
    """That are in memory at a time, in units of 4 bytes."""

    @abstractmethod
    def remember(self, x: Points, y: Num[Tensor, "batch points"]) -> tuple[Remembered, LeftOut]:
        """The regressions on a context, and what they would say of each of its points without it."""

    @abstractmethod
    def tell(self, memory: Remembered, left_out: LeftOut, y: Num[Tensor, "batch points"]) -> Token:
        """What each point of the context is told."""

    @abstractmethod
    def answer(self, x: Points, memory: Remembered) -> tuple[Guess, Token]:
        """The guess about queries, and what they are told."""

    def _token(self, numbers: Told, surprise: Float[Tensor, "batch points"]) -> Token:
        return self.told(torch.cat([numbers, surprise[..., None]], dim=-1))

    def _query_token(self, numbers: Told) -> Token:
        """That of no surprise."""
        return nn.functional.linear(numbers, self.told.weight[:, :-1], self.told.bias)


class HeadedRegression(RegressionLayer):
    """Heads that each regress on learned features phi, in units of their noise, and are weighted by their evidence."""

    precision: ClassVar[torch.dtype]
    """The dtype in which regressions are solved, at least."""

    def __init__(self, settings: Regression, encoder: nn.Module, log_spread: Float[Tensor, " heads"]) -> None:
        """Build it; ``encoder`` takes x to ``settings.encoded`` numbers, ``log_spread`` is that of w . phi at first."""
        super().__init__()
        heads, features = settings.heads, settings.features
        self.heads = heads
        self.numbers_per_query = 6 * heads * features + settings.hidden  # float64, and three times at a time
        self.encoder = encoder
        self.features: nn.Linear | None = None
        length = ENCODED_RMS * features**0.5
        if settings.hidden:
            self.features = nn.Linear(settings.hidden, heads * features)
            nn.init.normal_(self.features.weight, std=features**-0.5)  # a head's phi is as long as the hidden layer
            nn.init.zeros_(self.features.bias)
            length = GELU_RMS * settings.hidden**0.5
        log_gain = log_spread - math.log(length)
        self.slow_log_gain = nn.Parameter((log_gain / PACE)[:, None, None].repeat(1, 1, features))

    def phi(self, x: Points) -> Phi:
        """The features of inputs, in units of each head's noise."""
        encoded, gain = self.encoder(x), (PACE * self.slow_log_gain).exp().flatten()
        if self.features is None:
            phi = encoded * gain
        else:
            weight, bias = gain[:, None] * self.features.weight, gain * self.features.bias
            phi = nn.functional.linear(nn.functional.gelu(encoded), weight, bias)
        phi = phi.unflatten(2, (self.heads, -1)).transpose(1, 2)  # (batch, heads, points, features)
        dtype = torch.promote_types(phi.dtype, self.precision)
        return phi.to(dtype, memory_format=torch.contiguous_format)  # products would copy it each time

    def tell(self, memory: Remembered, left_out: LeftOut, y: Num[Tensor, "batch points"]) -> Token:
        """See `RegressionLayer.tell`."""
        guess, numbers = self._mixed(left_out.mean, left_out.variance, memory)
        return self._token(numbers, self._surprise(guess, y))

    def answer(self, x: Points, memory: Remembered) -> tuple[Guess, Token]:
        """See `RegressionLayer.answer`."""
        assert isinstance(memory, Solution)
        guess, numbers = self._mixed(*memory.moments(self.phi(x)), memory)
        return guess, self._query_token(numbers)

    @abstractmethod
    def _mixed(self, mean: Numbers, variance: Numbers, memory: Remembered) -> tuple[Guess, Told]:
        """What the heads' mixture says, and all that tokens are told of it but a point's surprise."""

    @abstractmethod
    def _surprise(self, guess: Guess, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points"]:
        """How far targets are from a guess about them."""


class RealRegression(HeadedRegression):
    """Of real targets: y = noise (w . phi(x) + e) with w ~ N(0, I), e ~ N(0, 1) and learned phi and noise.

    The guess is location and log scale of the heads' mixture: the network predicts the distribution of y in units of
    it, so that narrow posteriors need no fine bars. Leave-one-out has a closed form.
    """

    precision = torch.float64

    def __init__(self, settings: Regression, encoder: nn.Module, width: int) -> None:
        """Build it; ``width`` is that of the tokens."""
        log_noise = log_ladder(FIRST_NOISE, settings.heads, alone=2 / 3)
        super().__init__(settings, encoder, -log_noise)
        self.slow_log_noise = nn.Parameter(log_noise / PACE)
        self.told = nn.Linear(3 * settings.heads + 3, width)

    @property
    def log_noise(self) -> Float[Tensor, "heads 1"]:
        """The log noise of each head, in float64."""
        return PACE * self.slow_log_noise.double()[:, None]

    def remember(self, x: Points, y: Num[Tensor, "batch points"]) -> tuple[Remembered, LeftOut]:
        """See `RegressionLayer.remember`."""
        solution, left_out = solve(self.phi(x), self._values(y))
        solution.log_evidence = solution.log_evidence - y.shape[1] * self.log_noise[:, 0]  # of y in its own units
        return solution, left_out

    def _surprise(self, guess: Guess, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points"]:
        return bounded_residual(guess, y)

    def _values(self, y: Float[Tensor, "batch points"]) -> Numbers:
        return y.double()[:, None, :] * (-self.log_noise).exp()  # (batch, heads, points)

    def _mixed(self, mean: Numbers, variance: Numbers, memory: Remembered) -> tuple[Guess, Told]:
        """Location and log scale of the heads' mixture, and each head's own numbers before them."""
        assert isinstance(memory, Solution)
        log_scale = 0.5 * variance.log1p() + self.log_noise
        mixed = mixture(mean * self.log_noise.exp(), log_scale, memory.log_evidence, self.told.weight.dtype)
        return mixed[..., -2:], mixed


def mixture(
    mean: Numbers, log_scale: Numbers, log_evidence: Evidence, dtype: torch.dtype
) -> Float[Tensor, "batch points numbers"]:
    """Of Normals, in units of their mixture: means, log scales and log weights / 4; then its location and log scale."""
    log_weights = log_evidence.log_softmax(1)[..., None]  # (batch, heads, 1)
    location = (log_weights.exp() * mean).sum(1, keepdim=True)  # (batch, 1, points)
    spread = (2 * log_scale).exp() + (mean - location).square()
    whole = 0.5 * (log_weights.exp() * spread).sum(1, keepdim=True).log()
    shares = log_weights.clamp_min(-20.0).expand_as(mean) / 4
    return torch.cat([(mean - location) * torch.exp(-whole), log_scale - whole, shares, location, whole], 1).mT.to(
        dtype
    )


def bounded_residual(guess: Guess, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points"]:
    """In units of the guess, whose last two numbers are its location and its log scale, and squashed."""
    return torch.tanh((y - guess[..., -2]) * torch.exp(-guess[..., -1]) / 3)
