"""Cells that new draws contradict, and cells that they do not."""

import math
from importlib import import_module

import pytest
import torch
from network.solver.programs import untrained
from torch.distributions import Normal

import priorfit as pf
from priorfit.network import CellSolver
from priorfit.seeding import seeded
from priorfit.training import Budget, Recipe
from priorfit.training.laws.contradiction import CONTRADICTED, contradiction
from priorfit.training.progress import Silent


class Recorder(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def announce(self, words: str) -> None:
        self.lines.append(words)


@pf.prior(num_features=1, offset=Normal(0.0, 1.0), slope=Normal(0.0, 1.0))
def lines(x, offset, slope):
    return Normal(offset + slope * x[..., 0], 0.3)


def test_a_posterior_that_is_exact_is_not_contradicted_and_one_that_is_too_sure_is():
    model = untrained(lines, CellSolver(1, 2))
    assert contradiction(model, lines, 12, seed=0) < CONTRADICTED
    solver = model.solver
    assert solver is not None
    solver.laws.spreads[:, :2] -= math.log(1e4)  # pyright: ignore: a hundredth of the noise
    assert contradiction(model, lines, 12, seed=0) > CONTRADICTED


def test_the_truth_falls_by_t_nats_in_less_than_a_share_of_e_to_the_minus_t_of_cases():
    """The bound, with the exact posterior of a mean: a hundred thousand data sets with one to nine points each."""
    with seeded(0):
        mean, count = torch.randn(100_000).double(), torch.randint(1, 10, (100_000,)).double()
        seen = mean + 0.3 * torch.randn(100_000).double() / count.sqrt()
    precision = 1 + count / 0.09
    posterior = Normal(seen * count / 0.09 / precision, precision.rsqrt())
    fallen = Normal(0.0, 1.0).log_prob(mean) - posterior.log_prob(mean)
    for nats in (0.5, 1.0, 2.0, 4.0, 8.0):
        assert float((fallen > nats).double().mean()) <= math.exp(-nats)


def test_cells_that_are_contradicted_are_left_to_a_race_and_the_line_says_why(monkeypatch: pytest.MonkeyPatch):
    reading = import_module("priorfit.training.laws.reading")
    law = type("Law", (), {"factorises": True, "record": {}})()
    network = untrained(lines, CellSolver(1, 2))
    monkeypatch.setattr(reading, "is_learnable", lambda _: True)
    monkeypatch.setattr(reading, "learned_law", lambda *_: law)
    monkeypatch.setattr(reading, "cell_solver", lambda _: CellSolver(1, 2))
    monkeypatch.setattr(reading, "start_network", lambda *_: network)
    monkeypatch.setattr(reading, "replace", lambda told, **_: told)
    display, recipe = Recorder(), Recipe(lines, 12, Budget(minutes=5.0), "own")
    monkeypatch.setattr(reading, "contradiction", lambda *_: 40.0)
    assert reading.by_learned_law(recipe, display)[1] is None
    assert "e^40 times less likely than before its data, so candidates race" in display.lines[0]
    monkeypatch.setattr(reading, "contradiction", lambda *_: 2.0)
    assert reading.by_learned_law(recipe, display)[1] is network
