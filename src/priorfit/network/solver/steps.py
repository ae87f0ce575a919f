"""The cells of a program whose law of classes jumps: in each the law is constant, and nothing is regressed."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.importance.cells import Cells, cells_of_widths
from priorfit.importance.coordinated import has_cells
from priorfit.importance.steps import ConstantLaws, averaged, step_cells_of
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import Problem
from priorfit.network.solver.cell_laws import LEAST_VARIANCE, compressed, encoded
from priorfit.network.solver.cell_posterior import NumbersThere, chosen_numbers
from priorfit.network.solver.cells import NEGLIGIBLE, SHOWN, checked_widths, lay_over_inputs, program_of
from priorfit.network.solver.grids import Grid
from priorfit.network.solver.odds import of_classes
from priorfit.network.solver.solver import Points, Solver, SolverSettings, Targets
from priorfit.network.solver.steps_solved import StepsSolved, StepStatistics, own_class
from priorfit.network.units import NoUnits, Units
from priorfit.priors import Prior
from priorfit.priors.program import ProgramPrior

AT_ONCE = 2**23
"""Probabilities in all cells that are in memory at a time."""


@dataclass(frozen=True)
class StepSolver(SolverSettings):
    """The average of a law of classes over each of ``cells`` of the ``dimensions`` coordinates of a program's latents.

    For laws that jump, which no line is near. Log odds are combinations of ``rank`` functions of x. All of it is read
    off the prior's code before training. ``widths`` of the cells are looked for in the same way where they are None.
    """

    cells: int = 4096
    dimensions: int = 2
    rank: int = 192
    evidence_weight: float = 0.0
    widths: Sequence[float] | None = None

    reads_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.cells, self.dimensions, self.rank) < 1:
            raise InputError(f"cells, dimensions and rank of a StepSolver must be at least 1; got {self}.")
        object.__setattr__(self, "widths", checked_widths(self, self.widths, self.dimensions))

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        return StepRegression(self, problem)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        check_classes(problem)
        return output or default_output(problem.outcome)


def check_classes(problem: Problem) -> Classes:
    """The classes of a problem; an error where its targets are reals."""
    if not isinstance(problem.outcome, Classes):
        raise InputError(f"a StepSolver is for classes; the targets are {problem.outcome}. Use a CellSolver.")
    return problem.outcome


def cells_for(settings: StepSolver, prior: ProgramPrior) -> Cells:
    """The cells of a prior."""
    if settings.widths is None:
        return step_cells_of(prior, settings.cells)
    return cells_of_widths(prior, settings.cells, torch.tensor(settings.widths, dtype=torch.float64))


class StepRegression(Solver):
    """The module of a `StepSolver`: the law of classes in all cells, by which contexts weigh them."""

    guesses_latents = True
    log_weights: Tensor
    basis: Tensor
    odds: Tensor
    numbers: Tensor
    number_variance: Tensor

    def __init__(self, settings: StepSolver, problem: Problem) -> None:
        super().__init__()
        self.settings, self.curves = settings, check_classes(problem).count - 1
        cells, rank = settings.cells, settings.rank
        self.grid = Grid(problem.num_features)
        if problem.input_range is not None:
            self.grid.lay(*(torch.full((problem.num_features,), bound) for bound in problem.input_range))
        count = sum(space.size for space in problem.latents)
        self.register_buffer("log_weights", torch.full((cells,), -math.log(cells)))
        waves = torch.randn(problem.num_features, rank) * 3
        self.register_buffer("basis", torch.cos(self.grid.nodes() @ waves + torch.rand(rank)))
        self.register_buffer("odds", torch.randn(cells, self.curves, rank) / rank**0.5)
        self.register_buffer("numbers", torch.randn(cells, count, settings.dimensions + 1))
        self.register_buffer("number_variance", torch.full((cells, count), LEAST_VARIANCE))
        self.shown = min(SHOWN, cells)
        self.num_numbers = 3 * self.shown + 4
        self.memory_per_query = 4 * cells * (self.curves + 1)

    def calibrate(self, prior: Prior, problem: Problem, units: Units | NoUnits) -> None:
        """See `Solver.calibrate`: the cells are all that there is."""
        if not has_cells(prior) or not isinstance(prior.outcome, Classes):
            raise InputError(
                f"a StepSolver needs a prior with real latents and a law of classes; got {prior}. Name another solver, "
                "or none."
            )
        assert isinstance(prior, ProgramPrior)
        program = program_of(prior, self.settings, self.settings.dimensions)
        lay_over_inputs(self.grid, prior, problem)
        spaces = {space.name: space for space in problem.latents}
        self._adopt(averaged(program, cells_for(self.settings, prior), self.grid.nodes(), partial(encoded, spaces)))

    def _adopt(self, laws: ConstantLaws) -> None:
        coefficients, basis = compressed(laws.odds, self.settings.rank)
        found = (laws.log_weights, coefficients, basis, laws.numbers, laws.number_variance)
        own = (self.log_weights, self.odds, self.basis, self.numbers, self.number_variance)
        for mine, theirs in zip(own, found, strict=True):
            mine.copy_(theirs)
        self.number_variance.clamp_min_(LEAST_VARIANCE)

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`: nothing is learned."""
        return []

    def condition(self, x: Points, y: Targets) -> StepsSolved:
        """See `Solver.condition`."""
        at_once = self._at_once(x.shape[1])
        parts = [
            own_class(self._log_probs(some_x), some_y).double().sum(2)
            for some_x, some_y in zip(x.split(at_once), y.split(at_once), strict=True)
        ]
        weights = torch.cat(parts) + self.log_weights.double()
        near = weights >= weights.amax(1, keepdim=True) - NEGLIGIBLE
        index = near.double().topk(int(near.sum(1).max()), dim=1).indices.sort(dim=1).values
        log_weights = weights.gather(1, index).log_softmax(1)
        return StepsSolved(self, index, log_weights, weights.logsumexp(1), (self.log_probs(x, index), y))

    def log_probs(self, x: Points, index: Int[Tensor, "batch kept"]) -> Float[Tensor, "batch kept classes points"]:
        """Log probabilities of classes at points in some cells of each dataset."""
        if index.shape[1] == len(self.log_weights):
            return self._log_probs(x)
        at_once = self._at_once(x.shape[1])
        pieces = zip(x.split(at_once), index.split(at_once), strict=True)
        return torch.cat([in_cells(self._log_probs(some_x), some) for some_x, some in pieces])

    def _at_once(self, points: int) -> int:
        return max(1, AT_ONCE // (len(self.log_weights) * (self.curves + 1) * max(1, points)))

    def _log_probs(self, x: Points) -> Float[Tensor, "batch cells classes points"]:
        basis = self.grid.interpolated(self.basis, x).mT  # (batch, rank, points)
        odds = (self.odds.flatten(0, 1) @ basis).unflatten(1, (-1, self.curves))
        return of_classes(nn.functional.logsigmoid(odds), nn.functional.logsigmoid(-odds))

    def numbers_in(self, cells: Int[Tensor, "batch kept"], which: Sequence[int]) -> NumbersThere:
        """Mean, slope and variance of some numbers of the latents in the cells of each dataset."""
        return chosen_numbers(self.numbers, self.number_variance, cells, which)

    def resumed(self, statistics: StepStatistics) -> StepsSolved:
        """See `Solver.resumed`."""
        return StepsSolved(self, statistics.index, statistics.log_weights, statistics.evidence, None)


def in_cells(
    log_probs: Float[Tensor, "batch cells classes points"], index: Int[Tensor, "batch kept"]
) -> Float[Tensor, "batch kept classes points"]:
    """Log probabilities in some cells of each dataset."""
    return log_probs.gather(1, index[:, :, None, None].expand(-1, -1, *log_probs.shape[2:]))
