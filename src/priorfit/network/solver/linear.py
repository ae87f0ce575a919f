"""Bayesian linear regression of real targets on learned features of x, solved exactly."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributions import Normal

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import Problem
from priorfit.network.solver.features import (
    PACE,
    FeatureSolver,
    FeaturesSolved,
    LearnedFeatures,
    OfComponents,
    log_ladder,
)
from priorfit.network.solver.gaussian import Numbers, Phi, solve
from priorfit.network.solver.labels import ProbitRegression
from priorfit.network.solver.mixtures import mixed
from priorfit.network.solver.solver import FirstGuess, Points, Solver, SolverSettings, Targets

FIRST_NOISE = (0.3, 0.01)
"""The noise of the first and of the last component before training, in units of the prior's spread of y."""


@dataclass(frozen=True)
class LinearSolver(SolverSettings):
    """A mixture of ``components`` linear regressions, each on ``features`` learned features of x.

    Real targets are solved by Cholesky factors, two classes (the sign of such a function with noise) by expectation
    propagation. ``hidden`` is the width of the layer between the encoded x and the features; 0 leaves it out.

    >>> LinearSolver(features=64, components=1)
    LinearSolver(features=64, components=1, hidden=256, evidence_weight=0.0)
    """

    features: int = 128
    components: int = 4
    hidden: int = 256
    evidence_weight: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.features, self.components) < 1 or min(self.hidden, self.evidence_weight) < 0:
            raise InputError(
                "features and components of a LinearSolver must be at least 1, hidden and evidence_weight at least 0; "
                f"got {self}."
            )

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        width = self.hidden or self.components * self.features
        encoded = encoder.build(problem.num_features, width, problem.input_range)
        sizes = (self.components, self.features, self.hidden)
        return (
            ProbitRegression(encoded, sizes) if isinstance(problem.outcome, Classes) else RealRegression(encoded, sizes)
        )

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        if isinstance(problem.outcome, Classes) and problem.outcome.count != 2:
            raise InputError(
                f"LinearSolver is for reals and two classes; this problem has {problem.outcome}. Use ClassSolver."
            )
        return output or default_output(problem.outcome)


class RealRegression(FeatureSolver):
    """The module of a `LinearSolver` for reals: y = noise (w . phi(x) + e) with w ~ N(0, I), e ~ N(0, 1).

    Features phi and noise are learned. The guess is the Normal with the moments of the components' mixture, weighted by
    their evidence: the network predicts y in units of it, so that narrow posteriors need no fine bars.
    """

    def __init__(self, encoder: nn.Module, sizes: tuple[int, int, int]) -> None:
        super().__init__()
        components, features, hidden = sizes
        log_noise = log_ladder(FIRST_NOISE, components, alone=2 / 3)
        self.features = LearnedFeatures(encoder, sizes, -log_noise)
        self.slow_log_noise = nn.Parameter(log_noise / PACE)
        self.num_numbers = 3 * components + 2
        self.memory_per_query = 6 * components * features + hidden  # float64, and three times at a time

    @property
    def log_noise(self) -> Float[Tensor, "components 1"]:
        """The log noise of each component, in float64."""
        return PACE * self.slow_log_noise.double()[:, None]

    def condition(self, x: Points, y: Targets) -> FeaturesSolved:
        """See `Solver.condition`."""
        solution, left_out = solve(self.phi(x), self._values(y))
        in_units_of_y = solution.log_evidence - y.shape[1] * self.log_noise[:, 0]
        return FeaturesSolved(self, solution, left_out, in_units_of_y)

    def with_points(self, solved: FeaturesSolved, x: Points, y: Targets) -> FeaturesSolved:
        """See `FeatureSolver.with_points`."""
        solution = solved.solution.with_points(self.phi(x), self._values(y))
        gained = solution.log_evidence - solved.solution.log_evidence - y.shape[1] * self.log_noise[:, 0]
        return FeaturesSolved(self, solution, None, solved.component_evidence + gained)

    def _values(self, y: Targets) -> Numbers:
        """Targets in units of the noise of each component."""
        return y.double()[:, None, :] * (-self.log_noise).exp()  # (batch, components, points)

    def phi(self, x: Points) -> Phi:
        """See `FeatureSolver.phi`."""
        return self.features.phi(x, torch.float64)

    def noise(self) -> Float[Tensor, " components"]:
        """See `FeatureSolver.noise`."""
        return self.log_noise[:, 0].exp()

    def guess(self, mean: Numbers, variance: Numbers, log_evidence: OfComponents) -> FirstGuess:
        """See `FeatureSolver.guess`."""
        noise = self.log_noise.exp()
        whole = mixed(mean * noise, (variance + 1).sqrt() * noise, log_evidence)
        ppd = Normal(whole.location.squeeze(1), whole.spread.squeeze(1), validate_args=False)
        return FirstGuess(ppd, whole.features(self.slow_log_noise.dtype))
