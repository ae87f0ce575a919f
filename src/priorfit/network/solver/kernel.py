"""Gaussian processes whose hyper-parameters are fitted to each dataset by Newton's method, inside the network."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.head import HeadSettings
from priorfit.network.heads.mixture import CorrectedMixtureHead
from priorfit.network.problem import Problem
from priorfit.network.solver.families import spread_out
from priorfit.network.solver.gaussian import Evidence, LeftOut, Numbers, Square, inverted, log_determinant, repeated
from priorfit.network.solver.joint import Covariances, JointNormals, factor_of
from priorfit.network.solver.kernel_family import (
    NOISE,
    SCALE,
    KernelFamily,
    Thetas,
    columns_in_use,
    noisy,
    squared_differences,
)
from priorfit.network.solver.mixtures import mixed
from priorfit.network.solver.solver import FirstGuess, Points, Solved, Solver, SolverSettings, Targets

POINTS = 128
"""Points of a context that `memory_per_query` reckons with."""
LEAST_VARIANCE = 1e-10
"""Least variance of a function without noise, in the network's units of y: at points of the context it rounds to 0."""


@dataclass(frozen=True)
class KernelSolver(SolverSettings):
    """Gaussian process regression under a Matern kernel with a lengthscale for each column.

    Scale, noise and lengthscales of each dataset are put at the mode of their posterior by some ``rounds`` of Newton's
    method, then integrated at ``nodes`` around it, which are weighted by prior times evidence over the density of that
    choice. The cost is that of as many factorisations of the context's covariance as there are rounds and nodes.
    """

    nodes: int = 5
    rounds: int = 8
    evidence_weight: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.nodes < 1 or self.rounds < 0 or self.evidence_weight < 0:
            raise InputError(
                f"a KernelSolver needs at least 1 node, and rounds and evidence_weight of at least 0; got {self}."
            )

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        return KernelRegression(self, problem)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`; the head corrects each of the nodes' Normals."""
        if isinstance(problem.outcome, Classes):
            raise InputError("KernelSolver is for real targets; use LinearSolver or ClassSolver for classes.")
        own = CorrectedMixtureHead(self.nodes)
        if output not in (None, own):
            raise InputError(
                f"KernelSolver with nodes={self.nodes} is corrected by {own}; got {output}. Leave network.output out."
            )
        return own


class KernelRegression(Solver):
    """The module of a `KernelSolver`; its few weights are priors of hyper-parameters and where nodes are put."""

    def __init__(self, settings: KernelSolver, problem: Problem) -> None:
        super().__init__()
        self.rounds, self.observes = settings.rounds, problem.answers == "observations"
        self.family = KernelFamily(problem.num_features)
        self.num_numbers = 3 * settings.nodes + 2
        self.memory_per_query = 6 * settings.nodes * POINTS
        offsets = 0.7 * spread_out(settings.nodes, self.family.numbers)
        offsets[0] = 0.0  # the mode itself
        self.offsets = nn.Parameter(offsets)
        self.log_shares = nn.Parameter(torch.zeros(settings.nodes))

    def condition(self, x: Points, y: Targets) -> "KernelSolved":
        """See `Solver.condition`."""
        used, values = columns_in_use(x), y.double()
        mode = self.family.mode(squared_differences(x.detach()), values.detach(), used, self.rounds)
        theta = mode.theta[:, None] + self.offsets.double() @ mode.root.mT  # (batch, nodes, numbers)
        mean, precision = self.family.prior(used)
        factor = torch.linalg.cholesky_ex(noisy(self.family.covariance(x, x, theta), theta)).L
        whitener = inverted(factor)  # (batch, nodes, points, points)
        white = whitener @ values[:, None, :, None]
        evidence = -0.5 * white.square().sum((-2, -1)) - log_determinant(factor)
        log_prior = -0.5 * (precision * (theta - mean[:, None]).square()).sum(-1) + 0.5 * precision.log().sum()
        log_choice = -0.5 * self.offsets.double().square().sum(-1) - self.log_shares.double()
        root = mode.root.diagonal(dim1=-2, dim2=-1).abs().log().sum(-1, keepdim=True)  # volume of the choice
        log_weights = evidence + log_prior - log_choice + root - math.log(len(self.offsets))
        return KernelSolved(self, x, theta, Regressions(whitener, white, values), log_weights)

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`: none; its few weights are Adam's."""
        return []


@dataclass(frozen=True)
class Regressions:
    """The inverse W of each node's Cholesky factor, W times the targets, and the targets."""

    whitener: Square
    white: Float[Tensor, "batch nodes points 1"]
    values: Float[Tensor, "batch points"]

    def repeated(self, sets: int) -> "Regressions":
        """The same for several sets of queries."""
        return Regressions(*(repeated(part, sets) for part in (self.whitener, self.white, self.values)))


@dataclass(frozen=True)
class KernelSolved(Solved):
    """The Gaussian processes at the nodes of a context, and the log of prior times evidence over choice of each."""

    solver: KernelRegression
    x: Points
    theta: Thetas
    regressions: Regressions
    unnormalised: Evidence

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`: an estimate by importance sampling at the nodes."""
        empty = self.x.shape[1] == 0
        return torch.zeros_like(self.unnormalised[:, 0]) if empty else self.unnormalised.logsumexp(1)

    @property
    def left_out(self) -> LeftOut:
        """Mean and variance of the function at each point, given the others, for every node."""
        inverse = self.regressions.whitener.mT @ self.regressions.whitener
        precision = inverse.diagonal(dim1=-2, dim2=-1)  # of each value given the others
        solved = (self.regressions.whitener.mT @ self.regressions.white)[..., 0]
        noise = (2 * self.theta[..., NOISE]).exp()[..., None]
        return LeftOut(self.regressions.values[:, None] - solved / precision, (1 / precision - noise).clamp_min(0.0))

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`: of observations, or of the function, as the problem says."""
        joint = self.joint(x)
        mean, variance = joint.moments()
        return self._guess(mean, variance + joint.noise.square() if self.solver.observes else variance)

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`: of observations; nodes and weights are those of the whole context."""
        left_out = self.left_out
        return self._guess(left_out.mean, left_out.variance + (2 * self.theta[..., NOISE]).exp()[..., None])

    def joint(self, x: Points) -> JointNormals:
        """See `Solved.joint`."""
        sets = len(x) // len(self.x)
        context, theta, log_weights = (
            repeated(part, sets).expand(len(x), *part.shape[1:])
            for part in (self.x, self.theta, self.unnormalised.log_softmax(1))
        )
        return JointKernels(self.solver.family, (context, x), theta, self.regressions.repeated(sets), log_weights)

    def _guess(self, mean: Numbers, variance: Numbers) -> FirstGuess:
        whole = mixed(mean, (variance + LEAST_VARIANCE).sqrt(), self.unnormalised)
        return FirstGuess(whole.distribution(), whole.features(self.solver.offsets.dtype))


@dataclass(frozen=True)
class JointKernels(JointNormals):
    """Gaussian processes that have seen a context, at queries; ``x`` are the inputs of both."""

    family: KernelFamily
    x: tuple[Float[Tensor, "batch context columns"], Float[Tensor, "batch query columns"]]
    theta: Thetas
    regressions: Regressions
    log_weights: Evidence

    @property
    def noise(self) -> Float[Tensor, "batch nodes 1"]:  # pyright: ignore[reportIncompatibleVariableOverride]: a number
        """See `JointNormals.noise`."""
        return self.theta[..., [NOISE]].exp()

    def _known(self) -> Float[Tensor, "batch nodes query points"]:
        context, query = self.x
        return self.family.covariance(query, context, self.theta) @ self.regressions.whitener.mT

    def moments(self) -> tuple[Numbers, Numbers]:
        """See `JointNormals.moments`."""
        known = self._known()
        before = self.family.constant + (2 * self.theta[..., SCALE]).exp()[..., None]
        return (known @ self.regressions.white)[..., 0], (before - known.square().sum(-1)).clamp_min(0.0)

    def covariance(self) -> Covariances:
        """See `JointNormals.covariance`."""
        known = self._known()
        return self.family.covariance(self.x[1], self.x[1], self.theta) - known @ known.mT

    def draws(self, count: int) -> Float[Tensor, "count batch components points"]:
        """See `JointNormals.draws`: by a factor of the covariance, so that the cost grows with the cube of queries."""
        factor, mean = factor_of(self.covariance()), self.moments()[0]
        normal = torch.randn(*mean.shape, count, dtype=mean.dtype, device=mean.device)
        return mean + (factor @ normal).movedim(-1, 0)
