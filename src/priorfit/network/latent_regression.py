"""A family of regressions whose prior has latents, such as lengthscale and variance, fitted to each dataset."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.harmonics import HarmonicLayer, Harmonics
from priorfit.network.regression import (
    FIRST_NOISE,
    Guess,
    Points,
    RegressionLayer,
    Token,
    bounded_residual,
    mixture,
)
from priorfit.network.solutions import (
    Evidence,
    LeftOut,
    Numbers,
    Phi,
    Remembered,
    Solution,
    log_evidence,
    solve,
)

Latents = Float[Tensor, "#batch regressions latents"]
OfEach = Float[Tensor, "batch regressions"]
Targets = Float[Tensor, "batch points"]

HIDDEN = 32
"""Units between the latents and the gains that they decide."""
CHOOSER = 64
"""Units between the evidence at the fixed places and the places that are chosen by it."""
TEMPERS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Powers of the evidence that the choice is made by: the first are sharp, the last tell of every place."""
MIDDLE_TEMPER = 0.3
"""That of them by which places are averaged for a first choice."""
FARTHEST = 2.5
"""Of the latents, in units of their prior spread, to which the middle of the chosen places is bounded."""
AT_ONCE = 2**20
"""Numbers of the regressions at the fixed places that are in memory at a time: large pieces would be new pages each."""
PACE = 2.0
"""Logarithms of gains and noise are learned divided by this."""


@dataclass(frozen=True)
class LatentRegression:
    """The setting of a `LatentLayer`: regressions on ``basis`` whose gains and noise depend on some ``latents``.

    The evidence at ``places`` that are the same for all datasets says where ``adapted`` regressions are put for each.
    ``evidence`` is the weight of the log evidence of the context per point in the loss, as in `Regression`.
    """

    basis: Harmonics = Harmonics()
    latents: int = 2
    places: int = 12
    adapted: int = 7
    evidence: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.latents, self.places, self.adapted) < 1 or self.evidence < 0:
            raise InputError(
                "latents, places and adapted of a LatentRegression must be at least 1, evidence at least 0; "
                f"got {self}."
            )


@dataclass(frozen=True)
class Fitted(Remembered):
    """The regressions that were put where a context wants them."""

    solution: Solution
    latents: Latents
    log_noise: Float[Tensor, "batch regressions 1"]
    log_weights: OfEach
    log_evidence: Float[Tensor, " batch"]
    """That of the places, of equal weights before the context: a density of the targets, whatever is learned."""

    def mixed_log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Remembered.mixed_log_evidence`."""
        return self.log_evidence


class LatentLayer(RegressionLayer):
    """Of real targets: y = sum_j w_j gain_j(z) basis_j(x) + noise(z) e with w ~ N(0, I), e ~ N(0, 1), z ~ N(0, I).

    Gains and noise are learned functions of the latents z. Given z it is a linear regression; p(z given the context) is
    integrated by few regressions: their places are chosen by the evidence at fixed ones, their weights are prior times
    evidence over the density of the choice. So kernels are fitted to each dataset, and what is left of the uncertainty
    about them is in the answer. The guess is the mixture of these Normals.
    """

    def __init__(self, settings: LatentRegression, basis: HarmonicLayer, width: int) -> None:
        """Build it; ``width`` is that of the tokens."""
        super().__init__()
        latents, places, adapted = settings.latents, settings.places, settings.adapted
        functions = len(basis.lengths)
        self.basis, self.latents, self.adapted = basis, latents, adapted
        self.numbers_per_query = 6 * adapted * functions
        self.family = Family(basis.lengths, latents)
        self.places = nn.Parameter(spread_out(places, latents))
        num_numbers = len(TEMPERS) * (places + 2 * latents) + 1
        num_chosen = 2 * latents + latents * (latents - 1) // 2
        self.chooser = nn.Sequential(nn.Linear(num_numbers, CHOOSER), nn.GELU(), nn.Linear(CHOOSER, num_chosen))
        for parameter in self.chooser[2].parameters():
            nn.init.zeros_(parameter)
        self.offsets = nn.Parameter(1.3 * spread_out(adapted, latents))
        self.log_shares = nn.Parameter(torch.zeros(adapted))
        self.told = nn.Linear(3 * adapted + 3, width)

    def remember(self, x: Points, y: Targets) -> tuple[Remembered, LeftOut]:
        """See `RegressionLayer.remember`."""
        functions, num_context = self.basis(x), y.shape[1]
        at_once = max(1, AT_ONCE // max(1, len(self.places) * functions[0].numel()))  # datasets
        parts = zip(functions.split(at_once), y.split(at_once), strict=True)
        first = torch.cat([self._evidence(*part, self.places[None]) for part in parts])
        latents, log_density = self._chosen(first, num_context)
        phi, log_noise = self._phi(functions, latents)
        solution, left_out = solve(phi, y.double()[:, None] * (-log_noise).exp())
        evidence = solution.log_evidence - num_context * log_noise[..., 0]
        log_weights = (evidence - 0.5 * latents.square().sum(-1) - log_density).log_softmax(1)
        mixed = first.logsumexp(1) - math.log(first.shape[1])
        return Fitted(solution, latents, log_noise, log_weights, mixed), left_out

    def tell(self, memory: Remembered, left_out: LeftOut, y: Targets) -> Token:
        """See `RegressionLayer.tell`."""
        assert isinstance(memory, Fitted)
        numbers = self._mixed(left_out.mean, left_out.variance, memory)
        return self._token(numbers, bounded_residual(numbers, y))

    def answer(self, x: Points, memory: Remembered) -> tuple[Guess, Token]:
        """See `RegressionLayer.answer`; the guess is a mixture, as `mixture` gives it."""
        assert isinstance(memory, Fitted)
        phi, _ = self._phi(self.basis(x), memory.latents)
        guess = self._mixed(*memory.solution.moments(phi), memory)
        return guess, self._query_token(guess)

    def _mixed(self, mean: Numbers, variance: Numbers, memory: Fitted) -> Guess:
        log_noise = memory.log_noise
        log_scale = 0.5 * variance.log1p() + log_noise
        return mixture(mean * log_noise.exp(), log_scale, memory.log_weights, self.told.weight.dtype)

    def _phi(
        self, functions: Float[Tensor, "batch points functions"], latents: Latents
    ) -> tuple[Phi, Float[Tensor, "#batch regressions 1"]]:
        """What is regressed on, in units of the noise, and the log noise."""
        log_gain, log_noise = self.family(latents)
        gain = (log_gain - log_noise).exp().double()
        return functions.double()[:, None] * gain[..., None, :], log_noise.double()

    def _evidence(self, functions: Float[Tensor, "batch points functions"], y: Targets, latents: Latents) -> Evidence:
        """The log evidence of each place, but for a constant."""
        phi, log_noise = self._phi(functions, latents)
        return log_evidence(phi, y.double()[:, None] * (-log_noise).exp()) - y.shape[1] * log_noise[..., 0]

    def _chosen(self, evidence: Evidence, num_context: int) -> tuple[Latents, OfEach]:
        """Where to regress for each dataset, and the log density of that choice, but for a constant."""
        numbers, middle = [], None
        for temper in TEMPERS:
            shares = (temper * evidence).softmax(1).to(self.places.dtype)  # (batch, places)
            mean = shares @ self.places
            variance = (shares @ self.places.square() - mean.square()).clamp_min(1e-6)  # of a difference that rounds
            numbers += [shares, mean, variance.sqrt()]
            middle = mean if temper == MIDDLE_TEMPER else middle
        assert middle is not None
        size = torch.full_like(middle[:, :1], math.log1p(num_context) / 4)
        choice = self.chooser(torch.cat([*numbers, size], dim=1))
        shift, narrow, slant = choice.split([self.latents, self.latents, choice.shape[1] - 2 * self.latents], dim=1)
        middle = FARTHEST * torch.tanh((middle + torch.tanh(shift)) / FARTHEST)
        log_width = -nn.functional.softplus(narrow + 0.5 * math.log1p(num_context / 3))  # as that of a posterior
        factor = torch.diag_embed(log_width.exp())
        below = torch.tril_indices(self.latents, self.latents, -1, device=evidence.device)
        factor[:, below[0], below[1]] = torch.tanh(slant) * log_width.exp()[:, below[0]]
        latents = middle[:, None] + self.offsets @ factor.mT  # (batch, adapted, latents)
        log_density = -0.5 * self.offsets.square().sum(-1) - self.log_shares
        return latents, log_density.expand(len(evidence), -1).double()


class Family(nn.Module):
    """From latents to the log gains of a basis and the log noise.

    Before training the first latent is the scale of all gains, the second how soon they fall with the frequency.
    """

    def __init__(self, lengths: Float[Tensor, " functions"], latents: int) -> None:
        super().__init__()
        fall = -1.5 * torch.log1p((0.6 * lengths).square())
        start = fall - 0.5 * (2 * fall).logsumexp(0)  # the gains' squares sum to 1
        self.slope = nn.Parameter(torch.zeros(latents, len(lengths)))
        with torch.no_grad():
            self.slope[0] = 0.4 / PACE
            self.slope[1:2] = 0.1 * (fall - fall.mean()) / PACE
        self.hidden = nn.Linear(latents, HIDDEN)
        self.output = nn.Linear(HIDDEN, len(lengths) + 1)
        nn.init.normal_(self.output.weight, std=0.01)
        with torch.no_grad():
            self.output.weight[-1] = 0.0
            self.output.bias[:-1] = start / PACE
            self.output.bias[-1] = math.log(FIRST_NOISE[1]) / PACE

    def forward(
        self, latents: Latents
    ) -> tuple[Float[Tensor, "#batch regressions functions"], Float[Tensor, "#batch regressions 1"]]:
        """Log gains and log noise."""
        log_gain, log_noise = self.output(torch.tanh(self.hidden(latents))).split([self.slope.shape[1], 1], dim=-1)
        return PACE * (log_gain + latents @ self.slope), PACE * log_noise


def spread_out(count: int, latents: int) -> Float[Tensor, "count latents"]:
    """Places that cover a standard Normal evenly; the first is its middle."""
    uniform = torch.quasirandom.SobolEngine(latents).draw(count + 1)[1:]
    return torch.special.ndtri(uniform.clamp(0.02, 0.98))
