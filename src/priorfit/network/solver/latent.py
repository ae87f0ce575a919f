"""A family of linear regressions whose prior has latents, such as lengthscale and variance, fitted to each dataset."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.head import HeadSettings
from priorfit.network.heads.mixture import CorrectedMixtureHead, NormalMixtureHead
from priorfit.network.problem import Problem
from priorfit.network.solver.bases import HarmonicLayer, Harmonics
from priorfit.network.solver.choice import Choice, choice_of, chooser_of, moved
from priorfit.network.solver.constants import Constants
from priorfit.network.solver.families import Family, Folded, Latents, spread_out
from priorfit.network.solver.gaussian import (
    Evidence,
    LeftOut,
    Numbers,
    Phi,
    Solution,
    repeated,
)
from priorfit.network.solver.joint import JointNormals, JointRegressions
from priorfit.network.solver.mixtures import mixed
from priorfit.network.solver.solver import NO_POINTS, FirstGuess, Points, Solved, Solver, SolverSettings, Targets
from priorfit.network.solver.statistics import Functions, Gains, LogNoise, Statistics, statistics_of

OfEach = Float[Tensor, "batch nodes"]

AT_ONCE = 2**20
"""Numbers of the regressions at the anchors that are in memory at a time: large pieces would be new pages each."""


@dataclass(frozen=True)
class LatentSolver(SolverSettings):
    """Regressions on ``basis`` whose gains and noise depend on some ``latents``, integrated for each dataset.

    The evidence at ``anchors``, the same for all datasets, says where ``nodes`` regressions are put for each of them;
    these are weighted by prior times evidence over the density of that choice.
    """

    basis: Harmonics = Harmonics()
    latents: int = 2
    anchors: int = 12
    nodes: int = 7
    evidence_weight: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.latents, self.anchors, self.nodes) < 1 or self.evidence_weight < 0:
            raise InputError(
                "latents, anchors and nodes of a LatentSolver must be at least 1, evidence_weight at least 0; "
                f"got {self}."
            )

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        return LatentRegression(self, self.basis.build(problem.num_features, problem.input_range))

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`; the head corrects each of the nodes' Normals."""
        if isinstance(problem.outcome, Classes):
            raise InputError("LatentSolver is for real targets; use LinearSolver or ClassSolver for classes.")
        own = CorrectedMixtureHead(self.nodes)
        if output not in (None, own, NormalMixtureHead(self.nodes)):
            raise InputError(
                f"LatentSolver with nodes={self.nodes} is corrected by {own}; got {output}. Leave network.output out."
            )
        return own


class LatentRegression(Solver):
    """The module of a `LatentSolver`: y = sum_j w_j gain_j(z) basis_j(x) + noise(z) e; w, e and z standard Normal.

    Gains and noise are learned functions of the latents z. Given z it is a linear regression; p(z given the context) is
    integrated by importance sampling at few nodes. So kernels are fitted to each dataset, and what is left of the
    uncertainty about them is in the guess: the mixture of the nodes' Normals.
    """

    def __init__(self, settings: LatentSolver, basis: HarmonicLayer) -> None:
        super().__init__()
        latents, anchors, nodes = settings.latents, settings.anchors, settings.nodes
        self.basis, self.latents = basis, latents
        self.num_numbers = 3 * nodes + 2
        self.memory_per_query = 6 * nodes * len(basis.lengths)
        self.family = Family(basis.lengths, latents)
        self.anchors = nn.Parameter(1.5 * spread_out(anchors, latents))
        self.chooser = chooser_of(anchors, latents)
        self.offsets = nn.Parameter(1.3 * spread_out(nodes, latents))
        self.log_shares = nn.Parameter(torch.zeros(nodes))
        self._constants: Constants[Fixed] = Constants()

    def condition(self, x: Points, y: Targets) -> "LatentSolved":
        """See `Solver.condition`."""
        functions = self.basis(x)
        return self._solved(statistics_of(functions, y), (functions, y))

    def resumed(self, statistics: Statistics) -> "LatentSolved":
        """See `Solver.resumed`."""
        return self._solved(statistics, None)

    def _solved(self, statistics: Statistics, context: tuple[Functions, Targets] | None) -> "LatentSolved":
        """The evidence at the anchors, then the nodes that are chosen by it, and the regressions there."""
        fixed = self._constants.of(self, self._fixed)
        at_once = max(1, AT_ONCE // max(1, fixed.gain.numel() * statistics.num_points))  # datasets
        parts = [part.log_evidence(fixed.gain, fixed.log_noise) for part in statistics.split(at_once)]
        anchored = in_units_of_y(parts[0] if len(parts) == 1 else torch.cat(parts), fixed.log_noise, statistics)
        latents = self._chosen(anchored, statistics, fixed)
        gain, log_noise, log_prior = self._family(latents, fixed.folded)
        solution = statistics.solve(gain, log_noise)
        evidence = in_units_of_y(solution.log_evidence, log_noise, statistics)
        log_weights = (evidence + (log_prior - fixed.log_density)).log_softmax(1)
        nodes = Nodes(latents, gain, log_noise, log_weights)
        return LatentSolved(self, nodes, solution, statistics, anchored, context)

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`: none; its few weights are Adam's."""
        return []

    def phi(self, functions: Functions, latents: Latents) -> tuple[Phi, LogNoise]:
        """What is regressed on, in units of the noise, and the log noise."""
        gain, log_noise, _ = self._family(latents)
        return featured(functions, gain), log_noise

    def _family(self, latents: Latents, folded: Folded | None = None) -> tuple[Gains, LogNoise, OfEach]:
        """Gains in units of the noise, log noise and log prior density of regressions, in float64."""
        log_gain, log_noise, log_prior = self.family(latents, folded)
        return log_gain.exp(), log_noise, log_prior

    def _fixed(self) -> "Fixed":
        """What is the same for every dataset, in float64."""
        latents, folded = self.latents, self.family.folded()
        anchors, offsets = self.anchors.double(), self.offsets.double()
        gain, log_noise, _ = self._family(anchors[None], folded)
        rows, columns = torch.tril_indices(latents, latents, -1, device=anchors.device)
        diagonal = torch.arange(latents, device=rows.device)
        entries = offsets[:, torch.cat([diagonal, columns])].T  # (entries of the factor, nodes)
        places = nn.functional.one_hot(torch.cat([diagonal, rows]), latents).to(entries)
        log_density = -0.5 * offsets.square().sum(-1) - self.log_shares.double()
        return Fixed(
            folded,
            gain,
            log_noise,
            choice_of(self.chooser, anchors, rows),
            (0.5 * entries[:, :, None] * places[:, None]).flatten(1),
            log_density,
        )

    def _chosen(self, evidence: Evidence, statistics: Statistics, fixed: "Fixed") -> Latents:
        """The nodes of each dataset: the same offsets, moved, stretched and slanted."""
        middle, entries = fixed.choice(evidence, statistics)
        offsets = (entries @ fixed.offsets).view(middle.shape[0], fixed.log_density.shape[0], self.latents)
        return moved(middle, offsets)


@dataclass(frozen=True)
class Fixed:
    """What the weights decide for every dataset: the regressions at the anchors, and how nodes lie around a middle.

    ``offsets`` takes twice the entries of a triangular factor, its diagonal first, to the offsets of all nodes;
    ``log_density`` is that of the choice, up to a constant. All is in float64.
    """

    folded: Folded
    gain: Gains
    log_noise: LogNoise
    choice: Choice
    offsets: Float[Tensor, "entries moves"]
    log_density: Float[Tensor, " nodes"]


@dataclass(frozen=True)
class Nodes:
    """Where regressions were put for each dataset, with gains and noise there and their importance weights."""

    latents: Latents
    gain: Gains
    log_noise: LogNoise
    log_weights: OfEach


@dataclass(frozen=True)
class LatentSolved(Solved):
    """The regressions at the nodes of a context."""

    solver: LatentRegression
    nodes: Nodes
    solution: Solution
    statistics: Statistics
    anchored: Evidence
    """The log evidence of the anchors."""
    context: tuple[Functions, Targets] | None = None
    """The functions and targets of the points; None where the statistics alone are left of them."""

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`: that of the anchors, of equal weights before the context.

        It is a density of the targets whatever is learned, which that of the chosen nodes would not be.
        """
        return self.anchored.logsumexp(1) - math.log(self.anchored.shape[1])

    @cached_property
    def left_out(self) -> LeftOut:
        """What each regression says of each point, given the others."""
        if self.context is None:
            raise InputError(NO_POINTS)
        functions, y = self.context
        values = y.double()[:, None] * (-self.nodes.log_noise).exp()
        return self.solution.left_out(featured(functions, self.nodes.gain), values)

    def kept(self) -> Statistics:
        """See `Solved.kept`: nodes and regressions follow from it."""
        return self.statistics

    def with_points(self, x: Points, y: Targets) -> Solved:
        """See `Solved.with_points`."""
        return self.solver.resumed(self.statistics.with_points(self.solver.basis(x), y))

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        return self._guess(*self.solution.moments(featured(self.solver.basis(x), self.nodes.gain)))

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`; the nodes and their weights are those of the whole context."""
        return self._guess(self.left_out.mean, self.left_out.variance)

    def joint(self, x: Points) -> JointNormals:
        """See `Solved.joint`."""
        sets = len(x) // len(self.nodes.log_weights)
        gain, log_noise, log_weights = (
            repeated(part, sets) for part in (self.nodes.gain, self.nodes.log_noise, self.nodes.log_weights)
        )
        phi = featured(self.solver.basis(x), gain)
        return JointRegressions.over(self.solution.repeated(sets), phi, log_noise[..., 0].exp(), log_weights)

    def _guess(self, mean: Numbers, variance: Numbers) -> FirstGuess:
        noise = self.nodes.log_noise.exp()
        whole = mixed(mean * noise, (variance + 1).sqrt() * noise, self.nodes.log_weights)
        return FirstGuess(whole.distribution(), whole.features(self.solver.anchors.dtype))


def in_units_of_y(evidence: Evidence, log_noise: LogNoise, statistics: Statistics) -> Evidence:
    """The log evidence of regressions whose values were in units of their noise."""
    return torch.add(evidence, log_noise.squeeze(-1), alpha=-statistics.num_points)


def featured(functions: Functions, gain: Gains) -> Phi:
    """What is regressed on: the functions of the basis times the gains of each regression, in float64."""
    return functions.double().unsqueeze(1) * gain.unsqueeze(2)
