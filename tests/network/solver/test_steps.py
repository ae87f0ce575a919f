"""Programs whose law of classes jumps, solved by cells in which it is constant, beside numerical integration."""

from functools import cache

import pytest
import torch
from network.solver.programs import untrained
from torch.distributions import Bernoulli, Categorical, Distribution, Normal, Uniform
from torch.nn.functional import one_hot

import priorfit as pf
from priorfit.errors import InputError
from priorfit.importance.coordinated import Program
from priorfit.importance.steps import mean_probs, odds_of
from priorfit.network import NetworkSettings, StepSolver
from priorfit.network.problem import Problem
from priorfit.seeding import seeded
from priorfit.training.defaults import step_solver, suggested_network


@pf.prior(num_features=1, place=Uniform(0.0, 1.0))
def switches(x, place):
    return Bernoulli(probs=torch.where(x[..., 0] < place, 0.1, 0.9))


@pf.prior(num_features=1, low=Uniform(0.0, 0.5), width=Uniform(0.1, 0.4))
def bands(x, low, width):
    label = (x[..., 0] > low).long() + (x[..., 0] > low + width).long()
    return Categorical(0.9 * one_hot(label, 3) + 0.1 / 3)


@pf.prior(num_features=1, tilt=Normal(0.0, 1.0).expand([8]))
def many(x, tilt):
    """Eight thresholds: too many latents for cells."""
    above = (x[..., 0, None] > torch.sigmoid(tilt[:, None] + torch.arange(8.0) - 4)).sum(-1) % 2
    return Bernoulli(probs=0.1 + 0.8 * above)


def lattice(prior) -> dict[str, torch.Tensor]:
    """Values of all latents in the middle of fine cells of equal probability."""
    count = 400 if len(prior.latents) == 1 else 160
    steps = (torch.arange(count) + 0.5) / count
    laws = {latent.name: latent.law({}, 1) for latent in prior.latents}
    values = [law.icdf(steps[:, None, None].double())[:, 0] for law in laws.values()]
    places = torch.cartesian_prod(*[torch.arange(len(steps))] * len(values)).reshape(len(steps) ** len(values), -1)
    return {name: value[places[:, i]] for i, (name, value) in enumerate(zip(laws, values, strict=True))}


@cache
def network_of(prior) -> pf.PFN:
    """The network that a prior gets, as it is before training."""
    found = suggested_network(prior)
    assert found is not None and isinstance(found.solver, StepSolver)
    return untrained(prior, found.solver)


def probs_of(law: Distribution) -> torch.Tensor:
    return law.probs if isinstance(law, Categorical) else torch.stack([1 - law.probs, law.probs], dim=-1)


@pytest.mark.parametrize("prior", [switches, bands], ids=["two", "three"])
@pytest.mark.parametrize("size", [0, 1, 4, 11])
def test_class_probabilities_and_latents_are_those_of_numerical_integration(prior, size: int):
    network, values = network_of(prior), lattice(prior)
    count = len(next(iter(values.values())))
    with seeded(size):
        tasks = prior.sample(60, size + 6).split(size)
    posterior = network.condition(tasks.context_x, tasks.context_y)
    probs = posterior.predict(tasks.query_x).probs.double()
    means, divergences = {name: law.mean.double() for name, law in posterior.latents.items()}, []
    for row in range(60):
        x, y, query = tasks.context_x[row], tasks.context_y[row], tasks.query_x[row]
        weights = torch.full((count,), 1 / count).double()
        if size:
            weights = prior.log_likelihood(x.expand(count, -1, -1), y.expand(count, -1), values).double().softmax(0)
        each = probs_of(prior.law(query.expand(count, -1, -1), values)).double()
        exact = (weights[:, None, None] * each).sum(0)
        divergences.append((exact * (exact.log() - probs[row].log())).sum(-1).mean())
        for name, value in values.items():
            torch.testing.assert_close(means[name][row], (weights * value[:, 0]).sum(), atol=0.02, rtol=0)
    assert float(torch.stack(divergences).mean()) < 2e-3


def test_odds_give_back_the_probabilities_of_a_hundred_thousand_laws():
    with seeded(0):
        probs = torch.rand(100_000, 1, 4, dtype=torch.float64).pow(3).clamp_min(1e-5)
    probs = probs / probs.sum(-1, keepdim=True)
    odds, left = odds_of(probs)[..., 0], torch.ones(100_000, dtype=torch.float64)  # (laws, 3)
    for label in range(3):
        own = left * odds[:, label].sigmoid()
        torch.testing.assert_close(own, probs[:, 0, label], atol=1e-9, rtol=1e-6)
        left = left - own


def test_a_law_is_averaged_over_places_of_a_cell():
    program, offsets = Program(switches), torch.tensor([[-0.1], [0.1]], dtype=torch.float64)
    x = torch.tensor([[0.48], [0.5], [0.9]])
    probs = mean_probs(program, torch.zeros(1, 1, dtype=torch.float64), offsets, x)  # places at 0.46 and 0.54
    torch.testing.assert_close(probs[0, :, 1].double(), torch.tensor([0.5, 0.5, 0.9], dtype=torch.float64))


def test_a_known_latent_is_what_the_law_says_of_it():
    network = network_of(bands)
    query = torch.tensor([[[0.05], [0.3], [0.95]]])
    posterior = network.condition(torch.empty(1, 0, 1), torch.empty(1, 0), low=0.2)
    width = lattice(bands)["width"][:160]
    law = bands.law(query.expand(160, -1, -1), {"low": torch.full((160, 1), 0.2), "width": width})
    torch.testing.assert_close(posterior.predict(query).probs[0], law.probs.mean(0), atol=0.03, rtol=0)


def test_a_program_of_many_latents_has_cells_that_are_too_wide():
    assert step_solver(many) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cells": 0}, "cells, dimensions and rank of a StepSolver must be at least 1"),
        ({"dimensions": 1, "widths": (0.5, 0.5)}, "one a dimension"),
        ({"dimensions": 1, "widths": (1.5,)}, "above 0 and up to 1"),
    ],
)
def test_settings_that_make_no_cells_are_refused(settings, message: str):
    with pytest.raises(InputError, match=message):
        StepSolver(**settings)


def test_reals_and_other_numbers_of_latents_are_refused():
    with pytest.raises(InputError, match="a StepSolver is for classes"):
        NetworkSettings(solver=StepSolver()).output_for(Problem(1, pf.Real(), (0.0, 1.0)))
    with pytest.raises(InputError, match="switches has 1 numbers as latents"):
        untrained(switches, StepSolver(8, 2))
    with pytest.raises(InputError, match="a StepSolver needs a prior with real latents and a law of classes"):
        untrained(pf.BayesianNetwork(num_features=2, outcome=pf.Classes(2)), StepSolver(8, 2))


def test_a_file_keeps_the_weights_of_cells_alone(tmp_path):
    model = untrained(bands, StepSolver(cells=200, dimensions=2))
    with seeded(3):
        tasks = bands.sample(5, 14).split(9)
    posterior = model.condition(tasks.context_x, tasks.context_y)
    posterior.save(tmp_path / "posterior")
    assert torch.equal(
        pf.load_posterior(tmp_path / "posterior").predict(tasks.query_x).probs, posterior.predict(tasks.query_x).probs
    )
