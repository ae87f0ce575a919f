"""Cells of programs against closed forms and numerical integration."""

from dataclasses import replace

import pytest
import torch
from network.solver.programs import untrained
from torch.distributions import (
    Categorical,
    LogNormal,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    StudentT,
    Uniform,
)

import priorfit as pf
from priorfit.data import Real
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.network import CellSolver, NetworkSettings, NormalHead, Problem
from priorfit.network.solver.cells import CellRegression, cells_for
from priorfit.network.solver.regressions import solved, without_each
from priorfit.seeding import seeded
from priorfit.training.defaults import suggested_network


@pf.prior(num_features=1, level=Normal(1.0, 2.0), slope=Normal(0.0, 3.0))
def lines(x, level, slope):
    return Normal(level + slope * x[..., 0], 0.5)


@pf.prior(num_features=1, frequency=Uniform(2.0, 10.0))
def waves(x, frequency):
    return Normal(torch.sin(frequency * x[..., 0]), 0.1)


@pf.prior(num_features=1, level=Uniform(0.5, 2.0))
def branches(x, level):
    both = torch.stack([level + 0 * x[..., 0], -level * x[..., 0]], dim=-1)
    return MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7]).expand_as(both)), Normal(both, 0.1))


@pf.prior(num_features=1, level=Normal(0.0, 1.0))
def outliers(x, level):
    return StudentT(3.0, level + 0 * x[..., 0], 0.1)


@pytest.fixture(scope="module")
def line_model() -> pf.PFN:
    return untrained(lines, CellSolver(4, 2))


@pytest.fixture(scope="module")
def wave_model() -> pf.PFN:
    return untrained(waves, CellSolver(128, 1))


def regression(x, y):
    """The posterior of level and slope of `lines`, by the normal equations."""
    prior_mean, prior_precision = torch.tensor([1.0, 0.0]).double(), torch.tensor([1 / 4, 1 / 9]).double()
    design = torch.stack([torch.ones_like(x[..., 0]), x[..., 0]], dim=-1).double()
    precision = torch.diag(prior_precision) + design.mT @ design / 0.25
    right = prior_precision * prior_mean + (design.mT @ y.double()[..., None])[..., 0] / 0.25
    return torch.linalg.solve(precision, right), torch.linalg.inv(precision), design


@pytest.mark.parametrize("size", [0, 1, 3, 11])
def test_a_linear_program_is_solved_exactly(line_model: pf.PFN, size: int):
    with seeded(size):
        tasks = lines.sample(64, size + 4).split(size)
    posterior = line_model.condition(tasks.context_x, tasks.context_y)
    mean, covariance, _ = regression(tasks.context_x, tasks.context_y)
    query = torch.stack([torch.ones_like(tasks.query_x[..., 0]), tasks.query_x[..., 0]], dim=-1).double()
    ppd = posterior.predict(tasks.query_x)
    variance = ((query @ covariance) * query).sum(-1) + 0.25
    torch.testing.assert_close(ppd.mean.double(), (query @ mean[..., None])[..., 0], atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(ppd.variance.double(), variance, atol=2e-3, rtol=2e-3)
    for place, name in enumerate(("level", "slope")):
        found = posterior.latents[name]
        torch.testing.assert_close(found.mean, mean[:, place], atol=5e-3, rtol=5e-3)
        torch.testing.assert_close(found.variance, covariance[:, place, place], atol=5e-3, rtol=2e-2)


def test_evidence_is_the_marginal_likelihood_of_a_linear_program(line_model: pf.PFN):
    with seeded(5):
        tasks = lines.sample(200, 7)
    solver, units = line_model.solver, line_model.scaling(tasks.y)
    assert isinstance(solver, CellRegression)
    found = solver.condition(tasks.x, units.to_model(tasks.y)).log_evidence - 7 * units.log_scale
    _, _, design = regression(tasks.x, tasks.y)
    covariance = design @ torch.diag(torch.tensor([4.0, 9.0]).double()) @ design.mT + 0.25 * torch.eye(7).double()
    expected = MultivariateNormal(torch.ones(7).double(), covariance).log_prob(tasks.y.double())
    torch.testing.assert_close(found, expected, atol=1e-2, rtol=1e-3)


def test_a_known_latent_is_conditioned_on_exactly(line_model: pf.PFN):
    with seeded(6):
        tasks = lines.sample(200, 5).split(3)
    posterior = line_model.condition(tasks.context_x, tasks.context_y, slope=1.5)
    rest = tasks.context_y.double() - 1.5 * tasks.context_x[..., 0].double()
    precision = 1 / 4 + 3 / 0.25
    mean = (1 / 4 + rest.sum(1) / 0.25) / precision
    torch.testing.assert_close(posterior.latents["level"].mean, mean, atol=5e-3, rtol=5e-3)
    expected = mean[:, None] + 1.5 * tasks.query_x[..., 0].double()
    torch.testing.assert_close(posterior.predict(tasks.query_x).mean.double(), expected, atol=5e-3, rtol=5e-3)


def test_joint_draws_of_latents_have_the_exact_covariance(line_model: pf.PFN):
    with seeded(7):
        tasks = lines.sample(1, 4)
        drawn = line_model.condition(tasks.x[0], tasks.y[0]).latents.sample(40_000)
    _, covariance, _ = regression(tasks.x, tasks.y)
    found = torch.cov(torch.stack([drawn["level"], drawn["slope"]]).double())
    torch.testing.assert_close(found, covariance[0], atol=0.02, rtol=0.05)


def integrated(prior, values, x, y, query_x, query_y):
    """log p(query_y | x, y) by a sum over a fine grid of one uniform latent."""
    latents = {prior.latents[0].name: values[:, None]}
    given = prior.log_likelihood(x.expand(len(values), -1, -1), y.expand(len(values), -1), latents)
    law = prior.law(query_x.expand(len(values), -1, -1), latents)
    return (given.log_softmax(0)[:, None] + law.log_prob(query_y).double()).logsumexp(0)


@pytest.mark.parametrize(
    ("prior", "settings", "range_of"),
    [
        (waves, CellSolver(128, 1), (2.0, 10.0)),
        (branches, CellSolver(64, 1, 2, 2), (0.5, 2.0)),
    ],
    ids=["waves", "branches"],
)
@pytest.mark.parametrize("size", [1, 4, 11])
def test_predictives_are_those_of_numerical_integration(prior, settings: CellSolver, range_of, size: int):
    model = untrained(prior, settings)
    values = torch.linspace(*range_of, 4_000)
    with seeded(size):
        tasks = prior.sample(40, size + 1).split(size)
    ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    ratios = []
    for row in range(40):
        with seeded(row):  # targets of the truth, so that the mean of the differences is a KL divergence
            given = prior.log_likelihood(
                tasks.context_x[row].expand(4_000, -1, -1),
                tasks.context_y[row].expand(4_000, -1),
                {prior.latents[0].name: values[:, None]},
            )
            chosen = values[given.softmax(0).multinomial(200, replacement=True)]
            law = prior.law(tasks.query_x[row].expand(200, -1, -1), {prior.latents[0].name: chosen[:, None]})
            y = law.sample()[:, 0]
        exact = integrated(prior, values, tasks.context_x[row], tasks.context_y[row], tasks.query_x[row], y[None, :])
        one = NormalMixture(ppd.logits[row, 0], ppd.loc[row, 0], ppd.scale[row, 0])
        difference = exact - one.log_prob(y).double()
        ratios.append((torch.expm1(-difference) + difference).mean())  # the same mean, and less noise
    assert float(torch.stack(ratios).mean()) < 0.01


@pytest.mark.parametrize(
    ("prior", "settings"), [(outliers, CellSolver(8, 1, 1, 6)), (branches, CellSolver(64, 1, 2, 2))]
)
def test_leaving_a_point_out_is_nearly_conditioning_on_the_others(prior, settings: CellSolver):
    """With several Normals what a point told is known up to which of them it came from."""
    solver = untrained(prior, settings).solver
    assert isinstance(solver, CellRegression)
    with seeded(8):
        tasks = prior.sample(20, 8)
    index = torch.arange(settings.cells).expand(20, -1)
    local, y = solver.laws.fine(tasks.x, index).local, tasks.y.double()
    found = solved(local, y)
    mean, variance = without_each(local, found)
    for point in range(3):
        others = [place for place in range(8) if place != point]
        few = solver.laws.fine(tasks.x[:, others], index).local
        alone = solver.laws.fine(tasks.x[:, [point]], index).local
        again = solved(few, y[:, others])
        weights = again.log_evidence.softmax(1)[..., None, None]
        expected, spread = alone.fitted(again.state), alone.leverage(again.spread)
        torch.testing.assert_close((weights * mean[..., [point]]).sum(1), (weights * expected).sum(1), atol=0.1, rtol=0)
        torch.testing.assert_close(
            (weights * variance[..., [point]]).sum(1), (weights * spread).sum(1), atol=0.1, rtol=0
        )


def test_a_saved_model_and_a_saved_posterior_answer_the_same(wave_model: pf.PFN, tmp_path):
    with seeded(9):
        tasks = waves.sample(3, 9).split(6)
    posterior = wave_model.condition(tasks.context_x, tasks.context_y)
    expected = posterior.predict(tasks.query_x).log_prob(tasks.query_y)
    wave_model.save(tmp_path / "model")
    again = pf.load(tmp_path / "model").condition(tasks.context_x, tasks.context_y)
    assert torch.equal(again.predict(tasks.query_x).log_prob(tasks.query_y), expected)
    posterior.save(tmp_path / "posterior")
    kept = pf.load_posterior(tmp_path / "posterior")
    assert torch.equal(kept.predict(tasks.query_x).log_prob(tasks.query_y), expected)


def test_cells_of_given_widths_are_those_that_a_program_is_read_for():
    found = suggested_network(waves)
    assert found is not None and isinstance(found.solver, CellSolver)
    given, looked_for = cells_for(found.solver, waves), cells_for(replace(found.solver, widths=None), waves)
    assert torch.equal(given.centres, looked_for.centres) and torch.equal(given.log_weights, looked_for.log_weights)


@pf.prior(num_features=1, rate=LogNormal(1.0, 1.5))
def explosions(x, rate):
    return Normal(torch.exp(rate * x[..., 0]).clamp(max=1e6), 0.1)


def test_a_program_that_is_a_line_in_no_cell_gets_no_cells():
    assert suggested_network(explosions) is None


def test_a_linear_program_gets_one_cell():
    found = suggested_network(lines)
    assert found is not None and isinstance(found.solver, CellSolver) and found.solver.cells == 1


def test_a_law_of_other_normals_than_the_settings_say_is_refused():
    with pytest.raises(InputError, match="the law of outliers has 6 Normals with 1 means; got branches = 5"):
        untrained(outliers, CellSolver(8, 1, 1, 5))


def test_programs_get_cells_and_other_priors_do_not():
    found = suggested_network(waves)
    assert found is not None and isinstance(found.solver, CellSolver) and found.solver.dimensions == 1
    assert not isinstance(getattr(suggested_network(pf.GaussianProcess()), "solver", None), CellSolver)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cells": 0}, "must be at least 1"),
        ({"curves": 2, "branches": 3}, "curves 1 or as many as branches"),
        ({"dimensions": 2, "widths": [0.5]}, "one a dimension"),
        ({"dimensions": 1, "widths": [1.5]}, "up to 1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, words: str):
    with pytest.raises(InputError, match=words):
        CellSolver(**settings)


def test_problems_that_cells_do_not_serve_are_refused():
    with pytest.raises(InputError, match="is corrected by AdjustedGuessHead"):
        NetworkSettings(solver=CellSolver(), output=NormalHead()).output_for(Problem(1, Real(), (0.0, 1.0)))
    for prior, words in ((pf.GaussianProcess(), "needs a prior with real latents"), (lines, "2 numbers as latents")):
        with pytest.raises(InputError, match=words):
            pf.fit(prior, num_points=5, steps=1, network=NetworkSettings(solver=CellSolver(4, 1)), progress=False)
