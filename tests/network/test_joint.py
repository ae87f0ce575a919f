import time

import pytest
import torch
from network.tiny_networks import shaken
from torch.distributions import MultivariateNormal

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError, ShapeError
from priorfit.network import Harmonics, LatentSolver, LinearSolver, NetworkSettings, Problem, RiemannHead
from priorfit.priors import GaussianProcess
from priorfit.seeding import seeded

SETTINGS = {
    "one component": NetworkSettings(32, 2, 2, 48, solver=LinearSolver(6, 1, 16)),
    "three components, bars": NetworkSettings(
        32, 1, 2, 48, output=RiemannHead(20), target_scaling="context", solver=LinearSolver(6, 3, 16)
    ),
    "nodes": NetworkSettings(32, 0, solver=LatentSolver(Harmonics(2), 2, 5, 4)),
}
every_network = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())


def exact_joint(gp: GaussianProcess, tasks, noise: bool = True) -> MultivariateNormal:
    """The joint predictive of a Gaussian process at the queries."""
    x, n = torch.cat([tasks.context_x, tasks.query_x], dim=-2), tasks.context_x.shape[-2]
    covariance = gp.noisy_covariance(x)
    known, cross, rest = covariance[..., :n, :n], covariance[..., :n, n:], covariance[..., n:, n:]
    solved = torch.linalg.solve(known, cross)
    mean = (solved.mT @ tasks.context_y.double()[..., None])[..., 0]
    own = 0.0 if noise else gp.noise_variance - 1e-9
    return MultivariateNormal(mean, rest - cross.mT @ solved - own * torch.eye(rest.shape[-1]))


@pytest.fixture(scope="module")
def gp():
    return GaussianProcess(num_features=1, lengthscale=0.6, outputscale=1.0, noise=1e-2)


@every_network
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_draws_have_the_margins_of_predict_in_every_batch_shape(settings, shape):
    model = shaken(settings, Problem(2, Real(), (0.0, 1.0)))
    with seeded(0):
        x, y, query = torch.rand(*shape, 7, 2), torch.randn(*shape, 7), torch.rand(*shape, 4, 2)
        posterior = model.condition(x, y)
        drawn = posterior.sample_functions(query, 3000, noise=True)
    assert drawn.shape == (3000, *shape, 4)
    levels = posterior.predict(query).cdf(drawn)  # uniform, if the margins are those of the network
    assert (levels.mean(0) - 0.5).abs().max() < 5 * (1 / 12 / 3000) ** 0.5
    assert (levels.square().mean(0) - 1 / 3).abs().max() < 5 * (4 / 45 / 3000) ** 0.5
    joint = posterior.joint(query)
    assert joint.batch_shape == shape and joint.event_shape == (4,)
    torch.testing.assert_close(joint.mean, posterior.predict(query).mean)
    assert joint.log_prob(drawn[:5]).shape == (5, *shape)


@every_network
def test_the_joint_density_integrates_to_one(settings):
    model = shaken(settings, Problem(2, Real(), (0.0, 1.0)))
    with seeded(1):
        joint = model.condition(torch.rand(7, 2), torch.randn(7)).joint(torch.rand(2, 2))
    level = (torch.arange(100).double() + 0.5) / 100
    points = joint.margins.icdf(torch.cartesian_prod(level, level)).double()  # of equal mass under the margins
    density = joint.log_prob(points) - joint.margins.log_prob(points).sum(-1)
    assert float(density.double().exp().mean()) == pytest.approx(1.0, abs=0.02)


@every_network
def test_the_joint_density_of_one_query_is_that_of_predict_and_order_does_not_matter(settings):
    model = shaken(settings, Problem(2, Real(), (0.0, 1.0)))
    with seeded(2):
        posterior = model.condition(torch.rand(7, 2), torch.randn(7))
        query, y = torch.rand(3, 2), torch.randn(3)
    alone = posterior.joint(query[:1]).log_prob(y[:1])
    torch.testing.assert_close(alone, posterior.predict(query[:1]).log_prob(y[:1])[0], atol=1e-4, rtol=1e-4)
    turned = posterior.joint(query.flip(0)).log_prob(y.flip(0))
    torch.testing.assert_close(posterior.joint(query).log_prob(y), turned, atol=1e-4, rtol=1e-4)


@every_network
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_each_of_many_sets_is_joint_in_itself(settings, shape):
    model = shaken(settings, Problem(2, Real(), (0.0, 1.0))).double()
    with seeded(7):
        posterior = model.condition(torch.rand(*shape, 7, 2).double(), torch.randn(*shape, 7).double())
        query, y = torch.rand(5, 2, *shape, 3, 2).double(), torch.randn(5, 2, *shape, 3).double()
    for noise in (True, False):
        together = posterior.joint(query, noise)
        assert together.batch_shape == (5, 2, *shape)
        one = posterior.joint(query[3, 1], noise)
        # Without noise the covariance is nearly singular: some processors round its factor by more than 1e-7 of it.
        torch.testing.assert_close(together.log_prob(y)[3, 1], one.log_prob(y[3, 1]), rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(together.variance[3, 1], one.variance)
        assert together.sample((4,)).shape == (4, 5, 2, *shape, 3)


def test_gradients_of_draws_to_queries_are_those_of_finite_differences():
    model = shaken(SETTINGS["nodes"], Problem(2, Real(), (0.0, 1.0))).double()
    with seeded(3):
        posterior = model.condition(torch.rand(7, 2).double(), torch.randn(7).double())
        normal, level, query = torch.randn(6, 3).double(), torch.rand(6).double(), torch.rand(3, 2).double()
    for noise in (False, True):
        query.requires_grad_(True)
        posterior.joint(query, noise).transformed(normal, level).sum().backward()
        found, query = query.grad, query.detach()
        for place in ((0, 0), (2, 1)):
            moved = [query.clone(), query.clone()]
            moved[0][place] += 1e-5
            moved[1][place] -= 1e-5
            above, below = (posterior.joint(each, noise).transformed(normal, level).sum() for each in moved)
            assert float(found[place]) == pytest.approx(float((above - below) / 2e-5), rel=1e-3, abs=1e-5)


def test_functions_of_a_gaussian_process_have_the_exact_covariances():
    """Against the closed form, with and without noise: errors of 20,000 draws and of the network alone."""
    gp = GaussianProcess(num_features=1, lengthscale=0.6, outputscale=1.0, noise=1e-4)
    with seeded(4):
        tasks = gp.sample(2, 9).split(4)
        posterior = pf.load("gp-rbf-1d").condition(tasks.context_x, tasks.context_y)
        for noise in (True, False):
            drawn = posterior.sample_functions(tasks.query_x, 20_000, noise=noise).double()
            truth = exact_joint(gp, tasks, noise)
            spread = truth.variance.sqrt()
            assert ((drawn.mean(0) - truth.mean) / spread).abs().max() < 0.05
            centred = (drawn - truth.mean) / spread
            found = (centred[..., :, None] * centred[..., None, :]).mean(0)
            expected = truth.covariance_matrix / (spread[..., :, None] * spread[..., None, :])
            assert (found - expected).abs().max() < 0.06


def test_without_noise_functions_are_smooth_and_with_it_they_are_not():
    gp = GaussianProcess(num_features=1, lengthscale=0.6, outputscale=1.0, noise=1e-4)
    with seeded(5):
        x = torch.rand(20, 1)
        posterior = pf.load("gp-rbf-1d").condition(x, gp.targets(x[None])[0])
        query = torch.linspace(0, 1, 101)[:, None]
        bends = [posterior.sample_functions(query, 50, noise=noise).diff(n=2, dim=-1).std() for noise in (False, True)]
    assert float(bends[0]) < 0.003  # f'' of this kernel has deviation 4.8 far from data, over a grid of 1/100: 5e-4
    assert float(bends[1]) == pytest.approx(0.01 * 6**0.5, rel=0.1)


def test_the_joint_log_density_is_near_that_of_the_exact_gp_and_of_the_chain_rule():
    gp = GaussianProcess(num_features=1, lengthscale=0.6, outputscale=1.0, noise=1e-4)
    with seeded(6):
        tasks = gp.sample(32, 14).split(10)
        posterior = pf.load("gp-rbf-1d").condition(tasks.context_x, tasks.context_y)
    found = posterior.joint(tasks.query_x).log_prob(tasks.query_y)
    truth = exact_joint(gp, tasks).log_prob(tasks.query_y.double())
    alone = posterior.predict(tasks.query_x).log_prob(tasks.query_y).sum(-1)
    chain = posterior.joint_log_prob(tasks.query_x, tasks.query_y)
    assert float((truth - found).mean().abs()) < 0.02 < 0.1 < float((truth - alone).mean())
    assert float((chain - found).mean().abs()) < 0.02


def test_values_far_outside_have_a_finite_density_and_wrong_shapes_are_refused():
    joint = pf.load("gp-rbf-1d").condition(torch.rand(5, 1), torch.randn(5)).joint(torch.rand(3, 1))
    assert joint.log_prob(torch.tensor([1e3, -1e3, 0.0])).isfinite()
    with pytest.raises(ShapeError, match=r"y must have shape \(\*batch, query\) = \(3,\), as query_x; got \(2,\)"):
        joint.log_prob(torch.zeros(2))


def test_a_network_without_a_solver_for_reals_has_no_joint_predictive():
    plain = shaken(NetworkSettings(16, 1, 2, 16), Problem(1, Real(), (0.0, 1.0)))
    labels = shaken(NetworkSettings(16, 1, 2, 16, solver=LinearSolver(4, 1, 8)), Problem(1, Classes(2), (0.0, 1.0)))
    for model in (plain, labels):
        posterior = model.condition(torch.rand(4, 1), torch.tensor([0.0, 1.0, 1.0, 0.0]))
        with pytest.raises(InputError, match="a joint predictive needs a network with a solver for reals"):
            posterior.joint(torch.rand(3, 1))
        with pytest.raises(InputError, match="functions without noise need the law of the prior or a network with"):
            posterior.sample_functions(torch.rand(3, 1), 2)
        assert posterior.sample_functions(torch.rand(3, 1), 2, noise=True).shape == (2, 3)


def test_a_hundred_functions_at_200_points_take_less_than_a_second():
    """35 ms on one core; the bound has room for slow and busy machines."""
    posterior = pf.load("gp-rbf-1d").condition(torch.rand(20, 1), torch.randn(20))
    query = torch.linspace(0, 1, 200)[:, None]
    posterior.sample_functions(query, 100)
    start = time.perf_counter()
    posterior.sample_functions(query, 100)
    assert time.perf_counter() - start < 1.0
