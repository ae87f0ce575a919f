"""The cells of a program: a mixture of linear regressions on its latents, read off the prior's code and not learned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.importance.cells import Cells, cells_of, cells_of_widths, linearised
from priorfit.importance.coordinated import Program, has_cells
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.guess import AdjustedGuessHead
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import Problem
from priorfit.network.solver.cell_laws import CellLaws, encoded
from priorfit.network.solver.cells_solved import CellsSolved, CellStatistics
from priorfit.network.solver.grids import Grid
from priorfit.network.solver.local import Local
from priorfit.network.solver.odds import Odds
from priorfit.network.solver.posteriors import Regressions
from priorfit.network.solver.regressions import joined, refined, solved
from priorfit.network.solver.solver import Points, Solver, SolverSettings, Targets
from priorfit.network.units import NoUnits, Units
from priorfit.priors import Prior
from priorfit.priors.program import ProgramPrior

SHOWN = 4
"""Cells, those of the largest weights, whose guesses tokens are told one by one."""

NEGLIGIBLE = 18.0
"""Cells whose log weight is so far below the largest are left out: e^-18 is 1.5e-8."""

ABSENT = 1e4
"""What cells lose of their log weight that are in memory for other datasets of the batch alone."""

AT_ONCE = 2**19
"""Numbers of all cells that are in memory at a time: large pieces would be new pages each."""


@dataclass(frozen=True)
class CellSolver(SolverSettings):
    """Linear regressions on the ``dimensions`` coordinates of a program's latents, one in each of ``cells``.

    The law has ``branches`` Normals with one mean, or with a mean each (``curves``); of classes both are one fewer than
    these, since each class but the last has log odds against all later ones. All are combinations of ``rank`` functions
    of x. All of it is read off the prior's code before training, and nothing is learned. ``widths`` of the cells along
    each coordinate are looked for in the same way where they are None.
    """

    cells: int = 256
    dimensions: int = 2
    curves: int = 1
    branches: int = 1
    rank: int = 64
    evidence_weight: float = 0.0
    widths: Sequence[float] | None = None

    reads_prior: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.cells, self.dimensions, self.branches, self.rank) < 1 or self.curves not in (1, self.branches):
            raise InputError(
                "cells, dimensions, branches and rank of a CellSolver must be at least 1, and curves 1 or as many as "
                f"branches; got {self}."
            )
        object.__setattr__(self, "widths", checked_widths(self, self.widths, self.dimensions))

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        return CellRegression(self, problem)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        if isinstance(problem.outcome, Classes):
            return output or default_output(problem.outcome)
        if output is not None and not isinstance(output, AdjustedGuessHead):
            raise InputError(f"CellSolver is corrected by AdjustedGuessHead; got {output}. Leave network.output out.")
        return output or AdjustedGuessHead()


def checked_widths(
    settings: SolverSettings, widths: Sequence[float] | None, dimensions: int
) -> tuple[float, ...] | None:
    """The widths of cells as a tuple, which can be compared; an error where they are none."""
    if widths is None:
        return None
    if len(widths) != dimensions or not all(0 < width <= 1 for width in widths):
        raise InputError(
            f"widths of a {type(settings).__name__} are above 0 and up to 1, one a dimension; got {settings}."
        )
    return tuple(widths)


def program_of(prior: ProgramPrior, settings: SolverSettings, dimensions: int) -> Program:
    """The program whose cells a solver has; an error where it has another number of latents."""
    program = Program(prior)
    if program.dimensions != dimensions:
        raise InputError(f"{prior} has {program.dimensions} numbers as latents; got {settings}.")
    return program


def lay_over_inputs(grid: Grid, prior: ProgramPrior, problem: Problem) -> None:
    """Put a grid over draws of the inputs, where their range is not known."""
    if problem.input_range is None:
        x = prior.inputs.sample(64, 256, problem.num_features).flatten(0, 1)
        grid.lay(x.amin(0), x.amax(0))


def cells_for(settings: CellSolver, prior: ProgramPrior) -> Cells:
    """The cells of a prior."""
    if settings.widths is None:
        return cells_of(prior, (settings.cells,))
    return cells_of_widths(prior, settings.cells, torch.tensor(settings.widths, dtype=torch.float64))


class CellRegression(Solver):
    """The module of a `CellSolver`: the laws in all cells, which contexts are regressed on and weigh."""

    guesses_latents = True

    def __init__(self, settings: CellSolver, problem: Problem) -> None:
        super().__init__()
        self.settings = settings
        shape = (settings.cells, settings.dimensions, settings.curves, settings.branches)
        count = sum(space.size for space in problem.latents)
        self.has_odds = isinstance(problem.outcome, Classes)
        local = Odds if self.has_odds else Local
        self.laws = CellLaws(shape, settings.rank, problem.num_features, count, local)
        if problem.input_range is not None:
            self.laws.grid.lay(*(torch.full((problem.num_features,), bound) for bound in problem.input_range))
        self.shown = min(SHOWN, settings.cells)
        self.num_numbers = 3 * self.shown + 4
        each = 8 * settings.curves * (settings.dimensions + 1) ** 2 + 8 * settings.branches
        self.memory_per_query = settings.cells * each

    def calibrate(self, prior: Prior, problem: Problem, units: Units | NoUnits) -> None:
        """See `Solver.calibrate`: the cells are all that there is."""
        if not has_cells(prior) or (isinstance(units, Units) and units.shift.ndim):
            raise InputError(
                f"a CellSolver needs a prior with real latents, a law, and targets in the units of the prior; got "
                f"{prior}. Name another solver, or none."
            )
        assert isinstance(prior, ProgramPrior)
        program = program_of(prior, self.settings, self.settings.dimensions)
        lay_over_inputs(self.laws.grid, prior, problem)
        law = program.branches(torch.zeros(1, program.dimensions), prior.inputs.sample(1, 1, problem.num_features)[0])
        branches, curves = law.scale.shape[-1], law.mean.shape[-1]
        if (branches, curves) != (self.settings.branches, self.settings.curves):
            parts = f"{curves} log odds of classes" if law.is_odds else f"{branches} Normals with {curves} means"
            raise InputError(
                f"the law of {prior} has {parts}; got branches = {self.settings.branches} and curves = "
                f"{self.settings.curves}. Leave the network out: fit counts them."
            )
        spaces = {space.name: space for space in problem.latents}
        grid = self.laws.grid.with_few() if prior.is_smooth else self.laws.grid
        laws = linearised(program, cells_for(self.settings, prior), grid.nodes(), partial(encoded, spaces))
        self.laws.adopt(
            laws, grid, *((float(units.shift), float(units.scale)) if isinstance(units, Units) else (0.0, 1.0))
        )

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`: nothing is learned."""
        return []

    def condition(self, x: Points, y: Targets) -> CellsSolved:
        """See `Solver.condition`."""
        at_once, dtype = self._at_once(x.shape[1]), self.laws.dtype
        parts = [
            solved(self.laws.coarse(some_x), some_y.to(dtype)).log_evidence
            for some_x, some_y in zip(x.split(at_once), y.split(at_once), strict=True)
        ]
        # Cells are chosen in the precision of the weights: products of all of them in float64 would take far longer.
        first = (torch.cat(parts) + self.laws.log_weights).double().detach()
        best = first.nan_to_num(-torch.inf).amax(1, keepdim=True)
        near = ~(first < best - NEGLIGIBLE)  # a cell that is not finite is kept, and solved below
        index = near.double().topk(int(near.sum(1).max()), dim=1).indices.sort(dim=1).values
        local, found = self._refined(x, y, index)
        weighted = found.log_evidence + self.laws.log_weights[index].double()
        weighted = torch.where(near.gather(1, index), weighted, weighted - ABSENT)
        return CellsSolved(self, index, found, weighted.log_softmax(1), weighted.logsumexp(1), (local, y))

    def _refined(self, x: Points, y: Targets, index: Int[Tensor, "batch kept"]) -> tuple[Local, Regressions]:
        """The posteriors in the cells that are left, of some datasets at a time."""
        numbers = index.shape[1] * self.settings.curves * (self.settings.dimensions + 1) ** 2 * max(1, x.shape[1])
        at_once = max(1, AT_ONCE // numbers)
        pieces = zip(x.split(at_once), y.split(at_once), index.split(at_once), strict=True)
        parts = [refined(self.laws.fine(some, cells), targets.double()) for some, targets, cells in pieces]
        return joined([local for local, _ in parts]), joined([found for _, found in parts])

    def _at_once(self, points: int) -> int:
        numbers = self.settings.cells * self.settings.curves * (self.settings.dimensions + 1) * max(1, points)
        return max(1, AT_ONCE // numbers)

    def resumed(self, statistics: CellStatistics) -> CellsSolved:
        """See `Solver.resumed`."""
        kept = statistics
        none = torch.zeros(*kept.index.shape, self.settings.curves, 0, dtype=torch.float64, device=kept.index.device)
        parts = Regressions(kept.state, kept.spread, kept.log_weights, none, none)
        return CellsSolved(self, kept.index, parts, kept.log_weights, kept.evidence, None)
