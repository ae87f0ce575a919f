"""Every form of a solver with a problem that it serves: a new one is a new line here."""

from dataclasses import dataclass

import torch

from priorfit.data import Classes, Outcome, Real
from priorfit.network import (
    CellSolver,
    ClassRegression,
    ClassSolver,
    Harmonics,
    KernelSolver,
    LatentSolver,
    LinearSolver,
    Problem,
    Solver,
    SolverSettings,
    StepSolver,
)
from priorfit.network.encoders.inputs import FourierEncoder, LinearEncoder
from priorfit.seeding import seeded


@dataclass(frozen=True)
class Case:
    """A solver, the outcome that it serves, and how far its answers without a point may be from those of a new solve.

    ``off`` bounds the mean difference of probabilities; it is 0 where leaving a point out has a closed form. For labels
    expectation propagation gives the cavity of each, which is not quite the posterior without it: with 8 labels drawn
    at random, the hardest case, probabilities are off by less than 0.02 on average.
    ``weighted`` solvers mix several regressions, by weights that are those of the whole context in `leave_one_out`.
    """

    settings: SolverSettings
    outcome: Outcome
    off: float
    weighted: bool = False

    @property
    def problem(self) -> Problem:
        """Two features of a known range."""
        return Problem(2, self.outcome, (0.0, 1.0))

    def built(self) -> Solver:
        """The module, with weights as after some training: nothing is zero or equal."""
        with seeded(0):
            solver = self.settings.build(self.problem, FourierEncoder(8))
            for weight in solver.parameters():
                weight.data.add_(0.05 * torch.randn_like(weight))
        return solver

    def contexts(self, points: int = 8, queries: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Inputs and targets of three contexts, and inputs of queries."""
        with seeded(1, points, queries):
            x, query = torch.rand(3, points, 2), torch.rand(3, queries, 2)
            if isinstance(self.outcome, Classes):
                return x, torch.randint(self.outcome.count, (3, points)).float(), query
            return x, torch.randn(3, points), query


SOLVERS = {
    "linear, reals, one component": Case(LinearSolver(6, 1, 16), Real(), 0.0),
    "linear, reals, three components": Case(LinearSolver(6, 3, 16), Real(), 0.0, weighted=True),
    "linear, reals, no hidden layer": Case(LinearSolver(12, 1, 0), Real(), 0.0),
    "linear, labels, one component": Case(LinearSolver(4, 1, 16), Classes(2), 0.02),
    "linear, labels, two components": Case(LinearSolver(4, 2, 0), Classes(2), 0.02, weighted=True),
    "latent": Case(LatentSolver(Harmonics(2), 2, 5, 4), Real(), 0.0, weighted=True),
    "latent, one node": Case(LatentSolver(Harmonics(2), 1, 4, 1), Real(), 0.0, weighted=True),
    "kernel": Case(KernelSolver(4), Real(), 0.0, weighted=True),
    "kernel, one node": Case(KernelSolver(1, 3), Real(), 0.0, weighted=True),
    "cells": Case(CellSolver(6, 2, rank=8), Real(), 0.0, weighted=True),
    "cells, one": Case(CellSolver(1, 3, rank=8), Real(), 0.0),
    "cells, two classes": Case(CellSolver(6, 2, rank=8), Classes(2), 0.02, weighted=True),
    "cells, one, four classes": Case(CellSolver(1, 3, 3, 3, rank=8), Classes(4), 0.02),
    "steps, two classes": Case(StepSolver(6, 2, rank=8), Classes(2), 1e-5),
    "steps, four classes": Case(StepSolver(9, 3, rank=8), Classes(4), 1e-5),
    "two classes": Case(ClassSolver(4, 1, 16), Classes(2), 0.02),
    "three classes": Case(ClassSolver(4, 2, 16), Classes(3), 0.02, weighted=True),
    "seven classes": Case(ClassSolver(4, 1, 0), Classes(7), 0.02),
    "three classes, one regression": Case(ClassRegression(5), Classes(3), 1e-5),
    "seven classes, one regression": Case(ClassRegression(20, LinearEncoder()), Classes(7), 1e-5),
}
