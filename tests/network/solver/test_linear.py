import math

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal

import priorfit as pf
from priorfit.data import Real
from priorfit.errors import InputError
from priorfit.network import PFN, LinearSolver, NetworkSettings, NormalHead, Problem
from priorfit.network.encoders.inputs import FourierEncoder
from priorfit.network.solver.linear import RealRegression
from priorfit.predictor import predict
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, train

PROBLEM = Problem(1, Real(), (0.0, 1.0))


def built(components: int = 2, features: int = 6) -> RealRegression:
    with seeded(0):
        solver = LinearSolver(features, components, hidden=16).build(PROBLEM, FourierEncoder(8))
    assert isinstance(solver, RealRegression)
    return solver


def phi_of(solver: RealRegression, x: torch.Tensor) -> torch.Tensor:
    return solver.features.phi(x, torch.float64)


def network_of(settings: NetworkSettings) -> PFN:
    with seeded(0):
        return settings.build(PROBLEM, target_sample=torch.randn(4, 50))


def test_the_guess_of_one_component_is_its_predictive():
    solver = built(components=1)
    x, y, query = torch.rand(3, 5, 1), torch.randn(3, 5), torch.rand(3, 4, 1)
    guess = solver.condition(x, y).predict(query).ppd
    assert isinstance(guess, Normal)
    noise = solver.log_noise.exp()
    phi, phi_query = phi_of(solver, x)[:, 0], phi_of(solver, query)[:, 0]
    covariance = noise**2 * (phi @ phi.mT + torch.eye(5))
    gain = noise**2 * phi_query @ phi.mT @ torch.linalg.inv(covariance)
    mean = (gain @ y.double()[..., None])[..., 0]
    prior = noise**2 * (phi_query.square().sum(-1) + 1)
    variance = prior - noise**2 * (gain * (phi_query @ phi.mT)).sum(-1)
    torch.testing.assert_close(guess.mean, mean)
    torch.testing.assert_close(guess.stddev.log(), 0.5 * variance.log())


def test_components_are_weighted_by_their_evidence():
    solver = built(components=3)
    x, y, query = torch.rand(4, 6, 1), torch.randn(4, 6), torch.rand(4, 5, 1)
    solved = solver.condition(x, y)
    phi, noise = phi_of(solver, x), solver.log_noise.exp()[..., None]
    covariance = noise**2 * (phi @ phi.mT + torch.eye(6))  # (batch, components, 6, 6)
    law = MultivariateNormal(torch.zeros(6, dtype=torch.float64), covariance)
    weights = law.log_prob(y.double()[:, None]).softmax(1)
    mean = (weights[..., None] * noise[..., 0] * solved.solution.mean(phi_of(solver, query))).sum(1)
    torch.testing.assert_close(solved.predict(query).ppd.mean, mean)


@pytest.mark.parametrize("components", [1, 3])
def test_the_log_evidence_is_the_density_of_the_targets_but_for_a_constant(components: int):
    solver = built(components)
    x, y = torch.rand(4, 6, 1), torch.randn(4, 6)
    phi, noise = phi_of(solver, x), solver.log_noise.exp()[..., None]
    law = MultivariateNormal(torch.zeros(6, dtype=torch.float64), noise**2 * (phi @ phi.mT + torch.eye(6)))
    density = law.log_prob(y.double()[:, None]).logsumexp(1) - math.log(components)  # of equal weights before
    constant = 3 * math.log(2 * math.pi)
    torch.testing.assert_close(solver.condition(x, y).log_evidence, density + constant)


@pytest.mark.parametrize("components", [1, 3])
def test_without_a_point_components_keep_the_weights_of_the_whole_context(components: int):
    solver = built(components)
    x, y = torch.rand(4, 6, 1), torch.randn(4, 6)
    solved = solver.condition(x, y)
    weights = solved.component_evidence.softmax(1)[..., None]
    mean = (weights * solver.log_noise.exp() * solved.left_out.mean).sum(1)
    torch.testing.assert_close(solved.leave_one_out().ppd.mean, mean)


def test_the_guess_has_the_moments_of_the_mixture_of_its_components():
    solver = built(components=3)
    x, y, query = torch.rand(4, 6, 1), torch.randn(4, 6), torch.rand(4, 5, 1)
    solved = solver.condition(x, y)
    mean, variance = solved.solution.moments(phi_of(solver, query))
    noise, weights = solver.log_noise.exp(), solved.component_evidence.softmax(1)[..., None]
    second = (weights * noise**2 * (1 + variance + mean.square())).sum(1)
    guess = solved.predict(query).ppd
    torch.testing.assert_close(guess.variance, second - guess.mean.square())


def test_tokens_are_told_the_components_in_units_of_their_mixture():
    solver = built(components=3)
    x, y, query = torch.rand(4, 6, 1), torch.randn(4, 6), torch.rand(4, 5, 1)
    solved = solver.condition(x, y)
    guess = solved.predict(query)
    mean, variance = solved.solution.moments(phi_of(solver, query))
    log_noise = solver.log_noise
    location, spread = guess.ppd.mean[:, None], guess.ppd.stddev[:, None]
    log_scale = 0.5 * variance.log1p() + log_noise - spread.log()
    log_weights = solved.component_evidence.log_softmax(1)[..., None].clamp_min(-20).expand_as(mean) / 4
    parts = ((mean * log_noise.exp() - location) / spread, log_scale, log_weights, location, spread.log())
    assert guess.features.shape == (4, 5, solver.num_numbers)
    torch.testing.assert_close(guess.features, torch.cat(parts, dim=1).mT.float())


def test_a_point_of_the_context_is_told_what_the_others_say_of_it():
    solver = built()
    x, y = torch.rand(1, 6, 1), torch.randn(1, 6)
    changed = y.clone()
    changed[0, 2] += 0.5
    with torch.no_grad():  # equal components: their weights, which do see the point itself, stay equal
        solver.slow_log_noise.fill_(solver.slow_log_noise[0])
        assert solver.features.output is not None
        solver.features.output.weight[6:] = solver.features.output.weight[:6]
        solver.features.slow_log_gain.fill_(0.1)
    told, told_after = (solver.condition(x, each).leave_one_out().features for each in (y, changed))
    torch.testing.assert_close(told[:, 2], told_after[:, 2])
    assert not torch.allclose(told[:, 3], told_after[:, 3], atol=1e-4)


def test_a_network_with_a_solver_soon_beats_one_without():
    gp = pf.GaussianProcess(lengthscale=0.3)
    with seeded(0):
        tasks = gp.sample(100, 16).split(15)
    data, gaps = DataSettings(batch_size=8, targets="expected"), []
    for solver in (None, LinearSolver(24, 1, 32)):
        network = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, solver=solver)
        model = train(Recipe(gp, num_points=20, budget=Budget(steps=60), data=data, network=network))
        gaps.append(pf.metrics.gap(model, pf.baselines.ExactGP(gp), tasks).mean)
    assert gaps[1] < gaps[0] / 2


def test_features_can_be_linear_in_the_encoded_inputs():
    solver = LinearSolver(3, 2, hidden=0)
    model = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, solver=solver).build(PROBLEM)
    assert isinstance(model.solver, RealRegression)
    assert model.solver.features.output is None
    assert phi_of(model.solver, torch.rand(4, 5, 1)).shape == (4, 2, 5, 3)
    assert model.condition(torch.rand(4, 5, 1), torch.randn(4, 5)).predict(torch.rand(4, 2, 1)).batch_shape == (4, 2)


@pytest.mark.parametrize("wrong", [{"features": 0}, {"components": 0}, {"hidden": -1}, {"evidence_weight": -1.0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError, match="hidden and evidence_weight at least 0; got LinearSolver"):
        LinearSolver(**wrong)


def test_a_saved_network_with_a_solver_comes_back(tmp_path):
    solver = LinearSolver(8, 2, 16)
    settings = NetworkSettings(width=16, layers=1, attention_heads=2, output=NormalHead(), solver=solver)
    model = settings.build(PROBLEM).frozen()
    model.save(tmp_path / "model")
    tasks = pf.GaussianProcess().sample(2, 8).split(5)
    before, after = (predict(each, tasks) for each in (model, pf.load(tmp_path / "model")))
    assert torch.equal(before.mean, after.mean) and torch.equal(before.stddev, after.stddev)


def test_the_evidence_is_part_of_the_loss_where_the_settings_ask_for_it():
    with seeded(0):
        batch = pf.GaussianProcess().sample(3, 9).split(6)
    plain, weighted = (
        network_of(NetworkSettings(width=16, layers=1, attention_heads=2, solver=LinearSolver(6, 2, 16, weight)))
        for weight in (0.0, 0.5)
    )
    assert isinstance(plain.solver, RealRegression)
    units = plain.scaling(batch.context_y)
    solved = plain.solver.condition(batch.context_x, units.to_model(batch.context_y))
    evidence = solved.component_evidence.exp().mean(1).log()  # of a mixture of two components
    difference = weighted.loss(batch) - plain.loss(batch)
    torch.testing.assert_close(difference, (-0.5 * evidence / 6).float()[:, None].expand(3, 3))


def test_an_empty_context_has_no_evidence_to_add():
    with seeded(0):
        batch = pf.GaussianProcess().sample(3, 4).split(0)
    losses = [
        network_of(NetworkSettings(width=16, layers=1, attention_heads=2, solver=LinearSolver(6, 2, 16, weight))).loss(
            batch
        )
        for weight in (0.0, 1.0)
    ]
    torch.testing.assert_close(*losses)


def test_a_network_without_layers_needs_a_solver():
    with pytest.raises(InputError, match="reads its context by a solver alone"):
        NetworkSettings(layers=0)
    with pytest.raises(InputError, match="layers at least 0; got"):
        NetworkSettings(layers=-1)
