import math

import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    LogNoisyExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.generation import MaxPosteriorSampling
from botorch.optim import optimize_acqf
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.sampling.get_sampler import get_sampler
from integrations.hill import BOUNDS
from network.tiny_networks import shaken

import priorfit as pf
from priorfit.data import Real
from priorfit.errors import ShapeError
from priorfit.integrations.botorch import PFNModel
from priorfit.network import KernelSolver, NetworkSettings, Problem, Units
from priorfit.seeding import seeded


def plain_network() -> PFNModel:
    """A network without a solver, which is asked point after point."""
    network = shaken(NetworkSettings(16, 1, 2, 16), Problem(2, Real(), (0.0, 1.0)))
    with seeded(0):
        return PFNModel(network, torch.rand(4, 2).double(), torch.randn(4, 1).double())


def test_inputs_and_outcomes_are_scaled_and_mapped_back_exactly(data, model):
    x, y = data
    query = torch.tensor([[0.5], [2.0]]).double()
    network = pf.load("gp-rbf-1d").double()
    shown = network.condition((x + 2) / 5, (y[:, 0] - y.mean()) / y.std())
    expected = shown.predict((query + 2) / 5)
    found = model.posterior(query, observation_noise=True)
    torch.testing.assert_close(found.mean[:, 0], y.mean() + y.std() * expected.mean)
    torch.testing.assert_close(found.variance[:, 0], y.var() * expected.variance)
    own = PFNModel("gp-rbf-1d", *data, BOUNDS, Units(torch.zeros(1), torch.ones(1)))
    torch.testing.assert_close(
        own.posterior(query, observation_noise=True).mean[:, 0],
        network.condition((x + 2) / 5, y[:, 0]).predict((query + 2) / 5).mean,
    )


@pytest.mark.parametrize("batch", [(), (4,), (3, 2)])
def test_a_posterior_has_the_shapes_that_botorch_asks_for(model, batch):
    posterior = model.posterior(torch.rand(*batch, 3, 1).double())
    assert posterior.mean.shape == posterior.variance.shape == (*batch, 3, 1)
    assert posterior._extended_shape(torch.Size([7])) == (7, *batch, 3, 1)
    assert posterior.rsample(torch.Size([7])).shape == posterior.sample(torch.Size([7])).shape == (7, *batch, 3, 1)
    assert posterior.sample().shape == (*batch, 3, 1) and posterior.dtype == torch.float64
    assert posterior.device.type == "cpu" and posterior.batch_shape == batch
    sampler = get_sampler(posterior, torch.Size([8]), seed=0)
    assert isinstance(sampler, SobolQMCNormalSampler) and sampler(posterior).shape == (8, *batch, 3, 1)
    assert IIDNormalSampler(torch.Size([8]))(posterior).shape == (8, *batch, 3, 1)
    assert posterior.quantile(torch.tensor([0.1, 0.9])).shape == (2, *batch, 3, 1)
    with pytest.raises(ShapeError, match="base_samples must have shape"):
        posterior.rsample_from_base_samples(torch.Size([8]), torch.zeros(8, *batch, 3).double())


def test_quantiles_and_densities_agree_with_draws_and_a_mirrored_outcome_mirrors_them(model):
    x = torch.tensor([[-0.4], [1.5]]).double()
    posterior = model.posterior(x)
    mirror = ScalarizedPosteriorTransform(torch.tensor([-2.0]).double(), offset=1.0)
    turned = model.posterior(x, posterior_transform=mirror)
    torch.testing.assert_close(turned.mean, 1 - 2 * posterior.mean)
    torch.testing.assert_close(turned.variance, 4 * posterior.variance)
    level = torch.tensor([0.1]).double()
    torch.testing.assert_close(turned.quantile(level), 1 - 2 * posterior.quantile(1 - level))
    value = posterior.mean + 0.5 * posterior.variance.sqrt()
    torch.testing.assert_close(turned.density(1 - 2 * value), posterior.density(value) / 2)
    with seeded(0):
        drawn = posterior.sample(torch.Size([4000]))
    assert float((drawn < posterior.quantile(level)).double().mean()) == pytest.approx(0.1, abs=0.015)


def test_points_of_one_posterior_are_joint_and_noise_is_added_where_it_is_asked_for(model):
    x = torch.tensor([[1.0], [1.01]]).double()
    with seeded(1):
        quiet, noisy = (
            model.posterior(x, observation_noise=noise).sample(torch.Size([4000]))[..., 0] for noise in (False, True)
        )
    assert float(torch.corrcoef(quiet.T)[0, 1]) > 0.99
    assert float((noisy[:, 0] - noisy[:, 1]).std()) > 3 * float((quiet[:, 0] - quiet[:, 1]).std())


def test_gradients_to_x_are_those_of_finite_differences(model):
    x = torch.tensor([[[0.4], [1.7]], [[-1.0], [-0.5]]]).double()
    acquisitions = [
        qLogExpectedImprovement(model, best_f=6.0, sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0)),
        qUpperConfidenceBound(model, beta=2.0, sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0)),
    ]
    for acquisition in acquisitions:
        x.requires_grad_(True)
        (gradient,) = torch.autograd.grad(acquisition(x).sum(), x)
        x = x.detach()
        for place in ((0, 0, 0), (1, 1, 0)):
            above, below = x.clone(), x.clone()
            above[place] += 1e-5
            below[place] -= 1e-5
            expected = float((acquisition(above).sum() - acquisition(below).sum()) / 2e-5)
            assert float(gradient[place]) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def acquisitions(model: PFNModel, x: torch.Tensor) -> dict:
    few = SobolQMCNormalSampler(torch.Size([16]), seed=0)
    return {
        "LogEI": (LogExpectedImprovement(model, best_f=6.0), 1),
        "UCB": (UpperConfidenceBound(model, beta=2.0), 1),
        "qLogEI": (qLogExpectedImprovement(model, best_f=6.0, sampler=few), 2),
        "qLogNEI": (qLogNoisyExpectedImprovement(model, x, sampler=few, prune_baseline=True, cache_root=False), 2),
        "qUCB": (qUpperConfidenceBound(model, beta=2.0, sampler=few), 2),
    }


@pytest.mark.parametrize("name", ["LogEI", "UCB", "qLogEI", "qLogNEI", "qUCB"])
def test_an_acquisition_function_is_optimised_to_where_the_maximum_is(model, data, name):
    acquisition, q = acquisitions(model, data[0])[name]
    with seeded(2):
        found, value = optimize_acqf(
            acquisition, BOUNDS, q=q, num_restarts=2, raw_samples=16, options={"maxiter": 10, "seed": 0}
        )
    assert found.shape == (q, 1) and math.isfinite(float(value.sum()))
    assert bool((found - 1.0).abs().min() < 0.5)  # between the evaluations at 0.1 and 2.2


def test_minimising_by_a_posterior_transform_looks_elsewhere(model, data):
    down = ScalarizedPosteriorTransform(torch.tensor([-1.0]).double())
    acquisition = UpperConfidenceBound(model, beta=0.01, posterior_transform=down)
    with seeded(3):
        found, _ = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=16, options={"maxiter": 10})
    assert float(found) == pytest.approx(-2.0, abs=0.2)


def test_knowledge_gradient_is_optimised_by_fantasies(model):
    acquisition = qKnowledgeGradient(model, num_fantasies=4)
    with seeded(4):
        found, value = optimize_acqf(acquisition, BOUNDS, 1, num_restarts=2, raw_samples=8, options={"maxiter": 4})
    best = model.posterior(torch.linspace(-2, 3, 51).double()[:, None]).mean.max()
    assert found.shape == (1, 1) and float(value) > float(best) - 0.05


def test_thompson_sampling_draws_candidates_near_the_maximum(model):
    candidates = torch.linspace(-2, 3, 300).double()[:, None]
    with seeded(5):
        found = MaxPosteriorSampling(model, replacement=False)(candidates, num_samples=3)
    assert found.shape == (3, 1) and bool(((found - 1).abs() < 0.6).all())


def test_pending_points_push_candidates_away(model):
    pending = torch.tensor([[1.0]]).double()
    few = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    free = qLogExpectedImprovement(model, best_f=6.0, sampler=few)
    held = qLogExpectedImprovement(model, best_f=6.0, sampler=few, X_pending=pending)
    at = torch.tensor([[[1.0]], [[0.6]]]).double()
    assert float((held(at) - free(pending)).abs()[0]) < 0.02  # the same point again adds nothing
    assert bool(held(at).exp()[0] <= free(at).exp()[0] + held(at).exp()[1])


def test_more_observations_are_those_of_a_new_model_in_the_same_units(model, data):
    x, y = torch.tensor([[1.1], [0.5]]).double(), torch.tensor([[6.9], [6.8]]).double()
    longer = model.condition_on_observations(x, y)
    new = PFNModel(
        "gp-rbf-1d", torch.cat([data[0], x]), torch.cat([data[1], y]), BOUNDS, outcome_units=model.scaling.units
    )
    query = torch.rand(4, 1).double()
    torch.testing.assert_close(longer.posterior(query).mean, new.posterior(query).mean)
    several = model.condition_on_observations(x, torch.stack([y, y - 1, y + 1]))
    assert several.batch_shape == (3,) and several.posterior(query).mean.shape == (3, 4, 1)
    torch.testing.assert_close(several.posterior(query).mean[0], longer.posterior(query).mean)
    torch.testing.assert_close(several.posterior(query).variance[0], longer.posterior(query).variance)


def test_fantasies_have_seen_draws_of_the_posterior(model):
    x = torch.tensor([[[1.0]], [[2.0]]]).double()
    sampler = SobolQMCNormalSampler(torch.Size([5]), seed=0)
    fantasies = model.fantasize(x, sampler)
    assert fantasies.batch_shape == (5, 2)
    posterior = fantasies.posterior(x)
    assert posterior.mean.shape == (5, 2, 1, 1)
    torch.testing.assert_close(posterior.mean, sampler(model.posterior(x, observation_noise=True)), atol=0.3, rtol=0)
    assert bool((posterior.variance < model.posterior(x).variance).all())


def test_batched_models_answer_each_dataset_as_if_it_were_alone(data):
    x = torch.stack([data[0], data[0].flip(0), data[0] * 0.9])
    y = torch.stack([data[1], data[1] * 2, data[1] - 3])
    together, alone = PFNModel("gp-rbf-1d", x, y, BOUNDS), PFNModel("gp-rbf-1d", x[2], y[2], BOUNDS)
    query = torch.rand(6, 1, 2, 1).double()
    found, expected = together.posterior(query), alone.posterior(query[:, 0])
    assert found.mean.shape == (6, 3, 2, 1)
    torch.testing.assert_close(found.mean[:, 2], expected.mean)
    base = torch.randn(4, 6, 3, 3).double()
    draws = found.rsample_from_base_samples(torch.Size([4]), base)
    torch.testing.assert_close(
        draws[:, :, 2], expected.rsample_from_base_samples(torch.Size([4]), base[:, :, 2]), atol=1e-5, rtol=1e-5
    )


def test_a_network_of_six_columns_serves_two_and_answers_for_functions():
    problem = Problem(6, Real(), (0.0, 1.0), 1, answers="function", padding="plain")
    network = shaken(NetworkSettings(16, 0, 1, 16, solver=KernelSolver(3, 6)), problem)
    with seeded(6):
        x = torch.rand(12, 2).double()
        y = torch.sin(5 * x[:, :1]) + 0.05 * torch.randn(12, 1).double()
        model, query = PFNModel(network, x, y), torch.rand(5, 3, 2).double().requires_grad_(True)
    quiet, noisy = (model.posterior(query, observation_noise=noise) for noise in (False, True))
    assert bool((quiet.variance < noisy.variance).all())
    sampler = SobolQMCNormalSampler(torch.Size([8]), seed=0)
    (gradient,) = torch.autograd.grad(sampler(quiet).sum(), query)
    assert gradient.shape == (5, 3, 2) and bool(gradient.isfinite().all()) and bool((gradient != 0).any())
    fantasies = model.fantasize(query[:, :1].detach(), sampler)
    assert fantasies.batch_shape == (8, 5) and fantasies.posterior(query[:, :1]).mean.shape == (8, 5, 1, 1)
    many = model.posterior(torch.rand(400, 2).double()).sample(torch.Size([3]))  # equal to within rounding, nearly
    assert bool(many.isfinite().all())


def test_a_network_without_a_solver_is_asked_point_after_point():
    model = plain_network()
    x = torch.rand(3, 2, 2).double().requires_grad_(True)
    posterior = model.posterior(x)
    base = torch.randn(5, 3, 3).double()
    draws = posterior.rsample_from_base_samples(torch.Size([5]), base)
    assert draws.shape == (5, 3, 2, 1) and posterior.sample(torch.Size([6])).shape == (6, 3, 2, 1)
    first = posterior.quantile(torch.special.ndtr(base[:1, 0, 0]))[0, 0, 0, 0]
    torch.testing.assert_close(draws[0, 0, 0, 0], first, atol=1e-4, rtol=1e-4)
    (gradient,) = torch.autograd.grad(draws[..., 1, 0].sum(), x)
    assert bool((gradient[:, 0] != 0).any())  # the second point is drawn given the first
    mean = PosteriorMean(model)(x[:, :1])
    assert mean.shape == (3,)


def test_log_nei_of_one_point_takes_our_fantasies(model, data):
    """BoTorch's analytic noisy EI refuses models other than its own GP; the Monte Carlo form is the one to use."""
    with pytest.raises(Exception, match="SingleTaskGP"):
        LogNoisyExpectedImprovement(model, data[0], num_fantasies=4)
    few = SobolQMCNormalSampler(torch.Size([16]), seed=0)
    acquisition = qLogNoisyExpectedImprovement(model, data[0], sampler=few, prune_baseline=False, cache_root=False)
    assert float(acquisition(torch.tensor([[1.0]]).double())) > float(acquisition(torch.tensor([[-1.9]]).double()))
