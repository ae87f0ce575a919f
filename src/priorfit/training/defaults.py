"""Which network suits which prior: what won the pilots, for priors that are known."""

from dataclasses import replace
from functools import singledispatch
from typing import Literal

import torch

from priorfit.data import Classes
from priorfit.importance.cells import cells_of
from priorfit.importance.coordinated import Program, has_cells
from priorfit.importance.steps import step_cells_of
from priorfit.network import (
    CellSolver,
    ClassSolver,
    KernelSolver,
    LatentSolver,
    LinearSolver,
    NetworkSettings,
    SolverSettings,
    StepSolver,
)
from priorfit.network.solver.grids import NODES
from priorfit.priors import (
    BayesianNetwork,
    Binarized,
    GaussianProcess,
    HyperGaussianProcess,
    LinearRegression,
    Mixture,
    Objectives,
    PaddedFeatures,
    Prior,
    Standardized,
    WeightedFeatures,
)
from priorfit.priors.program import ProgramPrior
from priorfit.training.recipe import DataSettings, OptimiserSettings

MOST_COMPONENTS = 8
"""More components than this gained nothing in the pilots, and each costs a factorisation."""

UNKNOWN_SCALE = 4
"""Components that a known function gets where its scale, its threshold or its features vary between datasets."""

CELLS = (1, 64, 128, 256, 512, 1024)
"""Numbers of cells that a program's prior may be split into: the fewest in which its law is smooth."""

ROUGH, SMOOTH_RANK, ROUGH_RANK, JUMP_RANK = 0.4, 64, 192, 384
"""Functions of x that the law in all cells is made of: more of them where it is far from linear, and most where it
jumps, since a step is as wide as the finest of them."""

TOO_ROUGH = 2.0
"""What a line may miss over the smallest cells, root mean square in units of the noise: beyond, as where functions
range over orders of magnitude, guesses would be wrong, and candidates race."""

STEP_CELLS, TOO_VARIED = 4096, 0.7
"""Cells in each of which a law of classes that jumps is constant; and how far its log odds may vary over one of them,
root mean square in units of what a label tells: beyond, as with eight thresholds, the cells are too wide, and
candidates race."""

SMALL_STEPS = 0.1
"""The learning rate of a network that answers before it is trained, as a share of the usual one."""

LAYERS_BEHIND_CELLS = 2
"""What the cells of a program leave to correct is little."""

LAYERS_BEHIND_LATENTS = 2
"""A solver with latents leaves little to correct; fewer layers make more steps."""


def suggested_network(prior: Prior) -> NetworkSettings | None:
    """The network that suits a prior, or None where nothing is known of it: then `fit` races some candidates.

    >>> suggested_network(GaussianProcess()).solver
    LinearSolver(features=64, components=1, hidden=128, evidence_weight=0.0)
    >>> type(suggested_network(Mixture([GaussianProcess(), GaussianProcess(kernel="matern12")])).solver).__name__
    'LatentSolver'
    """
    if has_lengthscales(prior):
        return NetworkSettings(layers=LAYERS_BEHIND_LATENTS, solver=KernelSolver())
    if hyper_parameters(prior) and has_one_ranged_feature(prior):
        return NetworkSettings(layers=LAYERS_BEHIND_LATENTS, solver=LatentSolver(latents=hyper_parameters(prior)))
    if has_cells(prior) and prior.num_features in NODES:
        assert isinstance(prior, ProgramPrior)
        solver = cell_solver(prior)
        return None if solver is None else NetworkSettings(layers=LAYERS_BEHIND_CELLS, solver=solver)
    components = regressions(prior)
    return NetworkSettings(solver=linear_solver(prior, components)) if components else None


@singledispatch
def has_lengthscales(prior: Prior) -> bool:
    """Whether the functions of a prior have a lengthscale for each column, so that kernels are fitted to datasets."""
    return False


@has_lengthscales.register
def _of_objectives(prior: Objectives) -> bool:
    return True


@singledispatch
def regressions(prior: Prior) -> int:
    """How many linear regressions on some features the functions of a prior are a mixture of; 0 where none is known."""
    return 0


@regressions.register(GaussianProcess)
@regressions.register(LinearRegression)
def _one(prior: Prior) -> int:
    return 1


@regressions.register
def _hyper_parameters(prior: HyperGaussianProcess) -> int:
    return UNKNOWN_SCALE


@regressions.register
def _network(prior: BayesianNetwork) -> int:
    is_linear = prior.architecture is None and prior.activation is None
    return UNKNOWN_SCALE if is_linear else 0


@regressions.register
def _mixture(prior: Mixture) -> int:
    parts = [regressions(part) for part in prior.priors]
    return min(sum(parts), MOST_COMPONENTS) if all(parts) else 0


@regressions.register(Standardized)
@regressions.register(Binarized)
@regressions.register(PaddedFeatures)
@regressions.register(WeightedFeatures)
def _wrapped(prior: Standardized | Binarized | PaddedFeatures | WeightedFeatures) -> int:
    return max(regressions(prior.prior), UNKNOWN_SCALE) if regressions(prior.prior) else 0


@singledispatch
def hyper_parameters(prior: Prior) -> int:
    """How many continuous hyper-parameters decide the kernel of each dataset, where targets are real; else 0."""
    return 0


@hyper_parameters.register
def _lengthscale_and_variance(prior: HyperGaussianProcess) -> int:
    return 2


@hyper_parameters.register
def _scale(prior: Standardized) -> int:
    return 2 if is_process(prior.prior) else 0


@hyper_parameters.register
def _kinds(prior: Mixture) -> int:
    return 2 if all(map(is_process, prior.priors)) else 0


def is_process(prior: Prior) -> bool:
    """Whether functions are draws of a Gaussian process, given some hyper-parameters."""
    return isinstance(prior, GaussianProcess) or hyper_parameters(prior) > 0


def has_one_ranged_feature(prior: Prior) -> bool:
    """Whether a basis of harmonics can be laid over the inputs."""
    return prior.num_features == 1 and prior.inputs.range is not None


def linear_solver(prior: Prior, components: int) -> SolverSettings:
    """A linear solver for an outcome; labels need several rounds each, so they are regressed on fewer features."""
    if not isinstance(prior.outcome, Classes):
        return LinearSolver(features=64, components=components, hidden=128)
    if prior.outcome.count == 2:
        return LinearSolver(features=16, components=components, hidden=32)
    return ClassSolver(features=16, components=min(components, 2), hidden=64)


def cell_solver(prior: ProgramPrior) -> CellSolver | StepSolver | None:
    """The cells that suit a program, as many as its law needs to be smooth in each; None where no number would do."""
    program, cells = Program(prior), cells_of(prior, CELLS)
    law = program.branches(cells.centres[:1], torch.zeros(1, prior.num_features))
    if law.is_odds and bool(cells.jumps.any()):
        return step_solver(prior)
    if cells.bend > TOO_ROUGH:
        return None
    rank = JUMP_RANK if bool(cells.jumps.any()) else SMOOTH_RANK if cells.bend < ROUGH else ROUGH_RANK
    shape = (len(cells.centres), program.dimensions, law.mean.shape[-1], law.scale.shape[-1])
    return CellSolver(*shape, rank, widths=cells.widths.tolist())


def step_solver(prior: ProgramPrior) -> StepSolver | None:
    """The cells that suit a program whose law of classes jumps; None where they would be too wide."""
    cells = step_cells_of(prior, STEP_CELLS)
    if cells.bend > TOO_VARIED:
        return None
    return StepSolver(len(cells.centres), len(cells.widths), widths=cells.widths.tolist())


def candidates(prior: Prior) -> dict[str, NetworkSettings]:
    """The networks that race for a prior of which nothing is known."""
    found = {"plain transformer": NetworkSettings(), "linear solver": NetworkSettings(solver=linear_solver(prior, 4))}
    if has_one_ranged_feature(prior) and not isinstance(prior.outcome, Classes):
        found["latent solver"] = NetworkSettings(layers=LAYERS_BEHIND_LATENTS, solver=LatentSolver())
    return found


def default_data(network: NetworkSettings, targets: Literal["sampled", "expected"]) -> DataSettings:
    """Four context sizes in a step for a plain transformer, else each step would pull all weights to its n.

    A solver knows how to answer at any n, and is better off with one n and a larger batch.
    """
    if network.solver is None:
        return DataSettings(batch_size=16, micro_batches=4, targets=targets, same_n=False)
    if network.solver.reads_prior:
        return DataSettings(batch_size=16, micro_batches=2, targets=targets, same_n=False)
    return DataSettings(batch_size=64, targets=targets)


def default_optimiser(network: NetworkSettings, optimiser: OptimiserSettings) -> OptimiserSettings:
    """Small steps for a network that is close to the truth before it is trained: large ones would lead away from it."""
    if network.solver is None or not network.solver.reads_prior:
        return optimiser
    return replace(optimiser, learning_rate=SMALL_STEPS * optimiser.learning_rate)
