"""Programs solved by cells in the page: predictives, leave-one-out guesses, and latents, unknown and known."""

from pathlib import Path

import pytest
import torch
from torch.distributions import Bernoulli, Categorical, LogNormal, MixtureSameFamily, Normal, StudentT, Uniform
from web.fixtures import scrambled
from web.node import TOLERANCE, compared, needs_node, run_script

import priorfit as pf
from priorfit.network import CellSolver, SolverSettings, StepSolver
from priorfit.priors.program import ProgramPrior
from priorfit.web.support import check_shown


@pf.prior(num_features=1, frequency=Uniform(4.0, 9.0), height=LogNormal(0.0, 0.5), bias=Normal(0.0, 0.5))
def waves(x, frequency, height, bias):
    """One Normal, with a latent of each kind of support that cells know: bounded, above, and all reals."""
    return Normal(height * torch.sin(frequency * x[..., 0]) + bias, 0.3)


@pf.prior(num_features=1, frequency=Uniform(4.0, 9.0), height=LogNormal(0.0, 0.5))
def outliers(x, frequency, height):
    """Several Normals with one mean."""
    return StudentT(3.0, height * torch.sin(frequency * x[..., 0]), 0.2)


@pf.prior(num_features=1, first=Normal(0.0, 1.0), second=Normal(0.0, 1.0))
def two_lines(x, first, second):
    """Several Normals with a mean each."""
    means = torch.stack([first * x[..., 0], second + torch.sin(3 * first) * x[..., 0]], dim=-1)
    return MixtureSameFamily(Categorical(torch.tensor([0.7, 0.3]).expand(means.shape)), Normal(means, 0.3))


@pf.prior(num_features=2, frequency=Uniform(2.0, 8.0), shift=Normal(0.0, 1.0).expand([2]))
def ripples(x, frequency, shift):
    """Two features, and a latent of two numbers."""
    return Normal(torch.sin(frequency * x[..., 0] + shift[..., :1]) + shift[..., 1:] * x[..., 1], 0.3)


@pf.prior(num_features=1, place=Normal(0.5, 0.3), sharp=LogNormal(2.0, 0.7))
def thresholds(x, place, sharp):
    """Two classes, whose log odds are bent in the latents."""
    return Bernoulli(logits=sharp * (x[..., 0] - place))


@pf.prior(num_features=2, slope=Normal(0.0, 4.0).expand([2]), level=Normal(0.0, 1.0))
def three_classes(x, slope, level):
    """Three classes on two features."""
    own = (x * slope[:, None]).sum(-1)
    return Categorical(logits=torch.stack([own, level - own, torch.sin(3 * own)], dim=-1))


@pf.prior(num_features=2, level=Normal(0.0, 1.0).expand([2]), width=LogNormal(-1.0, 0.5))
def bands(x, level, width):
    """Three classes whose borders are jumps."""
    place = x[..., 0] * level[:, :1] + x[..., 1] * level[:, 1:]
    label = (place > 0).long() + (place > width).long()
    return Categorical(0.9 * torch.nn.functional.one_hot(label, 3) + 0.1 / 3)


@pf.prior(num_features=1, place=Uniform(0.0, 1.0))
def switches(x, place):
    """Two classes that change at a place."""
    return Bernoulli(torch.where(x[..., 0] < place, 0.1, 0.9))


CELLS = {"cells": 16, "rank": 16}
SOLVED = {
    "one Normal": (waves, CellSolver(dimensions=3, **CELLS)),
    "Student's t": (outliers, CellSolver(dimensions=2, branches=6, **CELLS)),
    "a mean for each Normal": (two_lines, CellSolver(dimensions=2, curves=2, branches=2, **CELLS)),
    "two features": (ripples, CellSolver(dimensions=3, **CELLS)),
    "two classes": (thresholds, CellSolver(dimensions=2, **CELLS)),
    "three classes": (three_classes, CellSolver(dimensions=3, curves=2, branches=2, **CELLS)),
    "three classes that jump": (bands, StepSolver(cells=40, dimensions=3, rank=16)),
    "two classes that jump": (switches, StepSolver(cells=3, dimensions=1, rank=8)),
    "fewer cells than are shown": (waves, CellSolver(cells=3, dimensions=3, rank=16)),
}


def fitted(prior: ProgramPrior, solver: SolverSettings) -> pf.PFN:
    """A model of a program, fitted for two steps, and then scrambled, so that no weight stays where it began."""
    network = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, solver=solver)
    return scrambled(pf.fit(prior, steps=2, network=network, num_points=20, progress=False))


@needs_node
@pytest.mark.parametrize("name", SOLVED)
def test_cells_say_the_same_in_javascript(name: str, tmp_path: Path) -> None:
    model = fitted(*SOLVED[name])
    model.save(tmp_path / "model", torch.float16)
    found = compared(tmp_path / "model")
    assert {"left out", "guess", *(f"latent {space.name} 0" for space in model.problem.latents)} <= found.keys()
    assert max(found.values()) < TOLERANCE, found


@needs_node
def test_a_model_of_the_default_settings_is_loaded_and_may_be_exported(tmp_path: Path) -> None:
    network = pf.NetworkSettings(width=16, layers=1, solver=CellSolver(cells=16, dimensions=3))
    model = pf.fit(waves, steps=1, network=network, num_points=20, progress=False)
    model.save(tmp_path / "model")
    assert run_script("loads.mjs", tmp_path / "model") == {"loaded": True}
    check_shown("waves", model)
