"""A family of linear regressions whose prior has latents, such as lengthscale and variance, fitted to each dataset."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.head import HeadSettings
from priorfit.network.heads.mixture import CorrectedMixtureHead, NormalMixtureHead
from priorfit.network.problem import Problem
from priorfit.network.solver.bases import HarmonicLayer, Harmonics
from priorfit.network.solver.constants import Constants
from priorfit.network.solver.families import Family, Folded, Latents, bounded, spread_out
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

CHOOSER = 64
"""Hidden units between the evidence at the anchors and the nodes that are chosen by it."""
TEMPERATURES = (1.0, 0.3, 0.1, 0.03)
"""Powers of the evidence that the choice is made by: the first are sharp, the last tell of every anchor."""
FIRST_TEMPERATURE = 0.3
"""The power of the evidence whose weighted mean of the anchors starts the search for the nodes."""
FARTHEST = 6.0
"""Prior deviations of the latents to which the middle of the nodes is bounded. The posteriors of contexts that people
set by hand lie at 3 to 4: eight points on a line want a lengthscale of 2.5, which the prior exceeds once in 25,000
draws."""
LARGEST_SHIFT = 4.0
"""Bound of the way from the weighted mean of the anchors to the middle of the nodes: contexts that are rare under the
prior have their posterior outside of the anchors' hull."""
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
        num_inputs = len(TEMPERATURES) * (anchors + 2 * latents) + anchors + latents + 3
        num_chosen = 2 * latents + latents * (latents - 1) // 2
        self.chooser = nn.Sequential(nn.Linear(num_inputs, CHOOSER), nn.GELU(), nn.Linear(CHOOSER, num_chosen))
        for parameter in self.chooser[2].parameters():
            nn.init.zeros_(parameter)
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
        first = torch.cat(parts) - statistics.num_points * fixed.log_noise[..., 0]
        latents = self._chosen(first, statistics, fixed)
        gain, log_noise, log_prior = self._family(latents, fixed.folded)
        solution = statistics.solve(gain, log_noise)
        evidence = solution.log_evidence - statistics.num_points * log_noise[..., 0]
        log_weights = (evidence + log_prior - fixed.log_density).log_softmax(1)
        anchored = first.logsumexp(1) - math.log(first.shape[1])
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
        return (log_gain - log_noise).exp().double(), log_noise.double(), log_prior

    def _fixed(self) -> "Fixed":
        """What is the same for every dataset."""
        folded = self.family.folded()
        gain, log_noise, _ = self._family(self.anchors[None], folded)
        rows, columns = torch.tril_indices(self.latents, self.latents, -1, device=self.anchors.device)
        diagonal = torch.arange(self.latents, device=rows.device)
        moved = self.offsets[:, torch.cat([diagonal, columns])].T  # (entries of the factor, nodes)
        places = nn.functional.one_hot(torch.cat([diagonal, rows]), self.latents).to(moved.dtype)
        log_density = -0.5 * self.offsets.square().sum(-1) - self.log_shares
        return Fixed(
            folded,
            gain,
            log_noise,
            torch.tensor(TEMPERATURES, dtype=torch.float64, device=rows.device)[:, None],
            torch.cat([self.anchors, self.anchors.square()], dim=1),
            (moved[:, :, None] * places[:, None]).flatten(1),
            rows,
            log_density.double(),
        )

    def _chosen(self, evidence: Evidence, statistics: Statistics, fixed: "Fixed") -> Latents:
        """The nodes of each dataset: the same offsets, moved, stretched and slanted."""
        numbers, middle = self._summary(evidence, statistics, fixed)
        choice = self.chooser(numbers)
        shift, narrow, slant = choice.split([self.latents, self.latents, choice.shape[1] - 2 * self.latents], dim=1)
        middle = bounded(middle + bounded(shift, LARGEST_SHIFT), FARTHEST)
        width = torch.sigmoid(-0.5 * math.log1p(statistics.num_points / 3) - narrow)  # as that of a posterior
        entries = torch.cat([width, torch.tanh(slant) * width.index_select(1, fixed.rows)], dim=1)
        return middle[:, None] + (entries @ fixed.offsets).unflatten(1, (-1, self.latents))  # (batch, nodes, latents)

    def _summary(
        self, evidence: Evidence, statistics: Statistics, fixed: "Fixed"
    ) -> tuple[Float[Tensor, "batch numbers"], Float[Tensor, "batch latents"]]:
        """What the nodes are chosen by, and the weighted mean of the anchors that the choice starts from.

        Softmax weights are the same for all contexts that one anchor explains far better than the others, however
        badly; the logarithms of how far the others are behind tell such contexts apart.
        """
        dtype, num_points = self.anchors.dtype, max(statistics.num_points, 1)
        shares = (fixed.temperatures * evidence[:, None]).softmax(-1).to(dtype)  # (batch, temperatures, anchors)
        mean, squares = (shares @ fixed.anchors).chunk(2, dim=-1)
        variance = (squares - mean.square()).clamp_min(1e-6)  # of a difference that rounds
        best, first = evidence.max(1, keepdim=True)
        spread = (statistics.sum_of_squares / num_points + 1e-4).log()
        size = torch.full_like(spread, math.log1p(statistics.num_points))
        behind = (best - evidence).log1p()  # (batch, anchors)
        whole = (torch.cat([behind, torch.asinh(best / num_points), spread, size], dim=1) / 4).to(dtype)
        each = torch.cat([shares, mean, variance.sqrt()], dim=-1).flatten(1)
        behind, rest = whole.split([whole.shape[1] - 3, 3], dim=1)
        numbers = torch.cat([each, behind, self.anchors.index_select(0, first[:, 0]), rest], dim=1)
        return numbers, mean[:, TEMPERATURES.index(FIRST_TEMPERATURE)]


@dataclass(frozen=True)
class Fixed:
    """What the weights decide for every dataset: the regressions at the anchors, and how nodes lie around a middle.

    ``anchors`` holds their latents and the squares of these; ``offsets`` takes the entries of a triangular factor,
    its diagonal first, then those of the ``rows`` below, to the offsets of all nodes; ``log_density`` is that of the
    choice, up to a constant.
    """

    folded: Folded
    gain: Gains
    log_noise: LogNoise
    temperatures: Float[Tensor, "temperatures 1"]
    anchors: Float[Tensor, "anchors both"]
    offsets: Float[Tensor, "entries moves"]
    rows: Int64[Tensor, " below"]
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
    anchored: Float[Tensor, " batch"]
    context: tuple[Functions, Targets] | None = None
    """The functions and targets of the points; None where the statistics alone are left of them."""

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`: that of the anchors, of equal weights before the context.

        It is a density of the targets whatever is learned, which that of the chosen nodes would not be.
        """
        return self.anchored

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
        log_noise = self.nodes.log_noise
        log_scale = 0.5 * variance.log1p() + log_noise
        whole = mixed(mean * log_noise.exp(), log_scale, self.nodes.log_weights)
        return FirstGuess(whole.distribution(), whole.features(self.solver.anchors.dtype))


def featured(functions: Functions, gain: Gains) -> Phi:
    """What is regressed on: the functions of the basis times the gains of each regression, in float64."""
    return functions.double()[:, None] * gain[:, :, None]
