"""Learned features of x, and solvers that regress on them."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.network.encoders.inputs import ENCODED_RMS
from priorfit.network.solver.gaussian import LeftOut, Numbers, Phi, Solution, repeated
from priorfit.network.solver.joint import JointNormals, JointRegressions
from priorfit.network.solver.solver import NO_POINTS, FirstGuess, Points, Solved, Solver, Targets, linear_maps

OfComponents = Float[Tensor, "batch components"]

PACE = 10.0
"""Noise and gains are learned as logarithms divided by this, so that Adam's small steps cross orders of magnitude."""

GELU_RMS = 0.35
"""Root mean square of the hidden units before training, roughly."""


class LearnedFeatures(nn.Module):
    """From x to ``features`` numbers for each of several components, each in units of its component's noise.

    The features are those of a network with one hidden layer on the encoded x, or, where ``hidden`` is 0, linear in
    what the encoder makes of x.
    """

    def __init__(
        self, encoder: nn.Module, sizes: tuple[int, int, int], log_spread: Float[Tensor, " components"]
    ) -> None:
        """Build them; ``sizes`` are components, features, hidden units; ``log_spread`` is that of w . phi at first."""
        super().__init__()
        self.components, features, hidden = sizes
        self.encoder = encoder
        self.output: nn.Linear | None = None
        length = ENCODED_RMS * features**0.5
        if hidden:
            self.output = nn.Linear(hidden, self.components * features)
            nn.init.normal_(self.output.weight, std=features**-0.5)  # phi is as long as the hidden layer
            nn.init.zeros_(self.output.bias)
            length = GELU_RMS * hidden**0.5
        log_gain = log_spread - math.log(length)
        self.slow_log_gain = nn.Parameter((log_gain / PACE)[:, None, None].repeat(1, 1, features))

    def phi(self, x: Points, precision: torch.dtype) -> Phi:
        """The features of inputs, in ``precision`` at least."""
        encoded, gain = self.encoder(x), (PACE * self.slow_log_gain).exp().flatten()
        if self.output is None:
            phi = encoded * gain
        else:
            weight, bias = gain[:, None] * self.output.weight, gain * self.output.bias
            phi = nn.functional.linear(nn.functional.gelu(encoded), weight, bias)
        phi = phi.unflatten(2, (self.components, -1)).transpose(1, 2)  # (batch, components, points, features)
        dtype = torch.promote_types(phi.dtype, precision)
        return phi.to(dtype, memory_format=torch.contiguous_format)  # products would copy it each time

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        return [*linear_maps(self.encoder), *([] if self.output is None else linear_maps(self.output))]


def log_ladder(ends: tuple[float, float], components: int, alone: float) -> Float[Tensor, " components"]:
    """Logarithms from one end to the other; a single component lies at ``alone`` of the way.

    >>> log_ladder((1.0, 100.0), 3, alone=0.5).exp().round()
    tensor([  1.,  10., 100.])
    """
    first, last = (math.log(end) for end in ends)
    return torch.linspace(first, last, components) if components > 1 else torch.tensor([first + alone * (last - first)])


class FeatureSolver(Solver):
    """A solver whose family is a mixture of regressions that are linear in learned features."""

    features: LearnedFeatures

    @abstractmethod
    def condition(self, x: Points, y: Targets) -> "FeaturesSolved":
        """See `Solver.condition`."""

    @abstractmethod
    def phi(self, x: Points) -> Phi:
        """The features of each regression, in the precision in which it is solved."""

    def with_points(self, solved: "FeaturesSolved", x: Points, y: Targets) -> "FeaturesSolved | None":
        """See `Solved.with_points`: labels are no sufficient statistics, so that none are left out unless said."""
        return None

    def resumed(self, statistics: "FeatureStatistics") -> "FeaturesSolved":
        """See `Solver.resumed`."""
        return FeaturesSolved(self, statistics.solution, None, statistics.component_evidence)

    @abstractmethod
    def guess(self, mean: Numbers, variance: Numbers, log_evidence: OfComponents) -> FirstGuess:
        """The first guess where w . phi has these moments, one for each regression."""

    def noise(self) -> Float[Tensor, " components"] | None:
        """The noise of each regression on reals; None where the regressions are latent, as those of labels are."""
        return None

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`."""
        return self.features.matrices()


@dataclass(frozen=True)
class FeatureStatistics:
    """What a file keeps of a context: the posteriors of the weights, and the log evidence of each component."""

    solution: Solution
    component_evidence: OfComponents


@dataclass(frozen=True)
class FeaturesSolved(Solved):
    """The posteriors of the weights of each regression, and the log evidence of each component of the mixture."""

    solver: FeatureSolver
    solution: Solution
    left_out: LeftOut | None
    component_evidence: OfComponents

    def kept(self) -> FeatureStatistics:
        """See `Solved.kept`."""
        return FeatureStatistics(self.solution, self.component_evidence)

    def with_points(self, x: Points, y: Targets) -> Solved | None:
        """See `Solved.with_points`."""
        return self.solver.with_points(self, x, y)

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`; the components have equal weights before the context."""
        return self.component_evidence.logsumexp(1) - math.log(self.component_evidence.shape[1])

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        return self.solver.guess(*self.solution.moments(self.solver.phi(x)), self.component_evidence)

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; exact for real targets, the cavities of expectation propagation for labels."""
        if self.left_out is None:
            raise InputError(NO_POINTS)
        return self.solver.guess(self.left_out.mean, self.left_out.variance, self.component_evidence)

    def joint(self, x: Points) -> JointNormals | None:
        """See `Solved.joint`."""
        noise = self.solver.noise()
        if noise is None:
            return None
        sets = len(x) // len(self.component_evidence)
        log_weights = repeated(self.component_evidence.log_softmax(1), sets)
        return JointRegressions.over(self.solution.repeated(sets), self.solver.phi(x), noise[None], log_weights)
