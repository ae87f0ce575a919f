import pytest
import torch

from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.network import (
    CorrectedMixtureHead,
    KernelSolver,
    LinearEncoder,
    NetworkSettings,
    NormalHead,
    Problem,
)
from priorfit.network.solver.kernel_family import KernelFamily, columns_in_use, noisy, squared_differences
from priorfit.priors.kernels import distances, matern52
from priorfit.seeding import seeded

PROBLEM = Problem(3, Real(), (0.0, 1.0))


@pytest.fixture
def data():
    with seeded(0):
        x = torch.rand(4, 12, 3)
        y = torch.sin(4 * x[..., 0]) + 0.5 * x[..., 1] + 0.05 * torch.randn(4, 12)
    return x, y.double()


def log_posterior(family: KernelFamily, theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Log evidence plus log prior of hyper-parameters, up to a constant, by torch's own Normal."""
    covariance = noisy(family.covariance(x, x, theta[:, None]), theta[:, None])[:, 0]
    evidence = torch.distributions.MultivariateNormal(torch.zeros_like(y), covariance).log_prob(y)
    mean, precision = family.prior(columns_in_use(x))
    return evidence - 0.5 * (precision * (theta - mean).square()).sum(-1)


def test_the_covariance_is_that_of_the_matern_kernel(data):
    family, x = KernelFamily(3), data[0]
    theta = torch.tensor([0.3, -2.0, -1.0, 0.2, 0.5]).double().expand(4, 1, 5)
    lengths = theta[0, 0, 2:].exp()
    expected = family.constant + torch.tensor(0.6).double().exp() * matern52(distances(x / lengths, x / lengths))
    torch.testing.assert_close(family.covariance(x, x, theta)[:, 0], expected, atol=1e-7, rtol=1e-7)


def test_the_gradient_is_that_of_the_log_posterior(data):
    family, (x, y) = KernelFamily(3), data
    with seeded(1):
        theta = (torch.randn(4, 5).double() - 1).requires_grad_(True)
    (expected,) = torch.autograd.grad(log_posterior(family, theta, x, y).sum(), theta)
    mean, precision = family.prior(columns_in_use(x))
    slope = family.slope(theta.detach(), squared_differences(x), y, mean, precision)
    torch.testing.assert_close(slope.gradient, expected, atol=1e-5, rtol=1e-5)
    moved = theta.detach() + 0.1
    change = log_posterior(family, moved, x, y) - log_posterior(family, theta.detach(), x, y)
    found = family.slope(moved, squared_differences(x), y, mean, precision).log_posterior - slope.log_posterior
    torch.testing.assert_close(found, change, atol=1e-6, rtol=1e-6)
    assert bool((torch.linalg.eigvalsh(slope.information) > 0).all())


def test_rounds_lead_to_the_mode(data):
    family, (x, y) = KernelFamily(3).requires_grad_(False), data
    mode = family.mode(squared_differences(x), y, columns_in_use(x), rounds=30)
    theta = mode.theta.clone().requires_grad_(True)
    value = log_posterior(family, theta, x, y)
    (gradient,) = torch.autograd.grad(value.sum(), theta)
    assert gradient.abs().max() < 0.02
    few = family.mode(squared_differences(x), y, columns_in_use(x), rounds=8)
    assert bool((value - log_posterior(family, few.theta, x, y) < 0.1).all())
    with seeded(2):
        nearby = mode.theta + 0.3 * torch.randn(20, 4, 5).double()
    assert all(bool((log_posterior(family, each, x, y) <= value + 1e-6).all()) for each in nearby)


def test_a_column_that_does_not_vary_changes_nothing(data):
    x, y = data
    solver = KernelSolver(3).build(Problem(4, Real(), (0.0, 1.0)), LinearEncoder())
    padded = torch.cat([x, torch.zeros(4, 12, 1)], dim=-1)
    assert columns_in_use(padded).tolist() == [3.0] * 4 and columns_in_use(padded[:, :1]).tolist() == [4.0] * 4
    first = solver.condition(padded, y.float()).theta
    mean, _ = solver.family.prior(columns_in_use(padded))
    torch.testing.assert_close(first[:, 0, -1], mean[:, -1])  # the mode of its lengthscale is that of the prior


def test_a_node_predicts_as_the_gaussian_process_with_its_hyper_parameters(data):
    x, y = data
    solver = KernelSolver(nodes=1).build(PROBLEM, LinearEncoder())
    with seeded(3):
        query = torch.rand(4, 5, 3)
    solved = solver.condition(x, y.float())
    known = noisy(solver.family.covariance(x, x, solved.theta), solved.theta)
    cross = solver.family.covariance(x, query, solved.theta)
    weights = torch.linalg.solve(known, cross)
    guess = solved.predict(query).ppd
    torch.testing.assert_close(guess.mean, (weights.mT @ y[:, None, :, None])[:, 0, :, 0], atol=1e-5, rtol=1e-5)
    noise = (2 * solved.theta[..., 1]).exp()
    before = solver.family.constant + (2 * solved.theta[..., :1]).exp()
    expected = before[..., 0][..., None] - (weights * cross).sum(-2) + noise[..., None]
    torch.testing.assert_close(guess.variance, expected[:, 0], atol=1e-6, rtol=1e-4)


def test_a_network_that_answers_for_functions_guesses_without_noise(data):
    x, y = data
    with seeded(3):
        query = torch.rand(4, 5, 3)
    guesses = []
    for answers in ("observations", "function"):
        solver = KernelSolver(nodes=1).build(Problem(3, Real(), (0.0, 1.0), answers=answers), LinearEncoder())
        solved = solver.condition(x, y.float())
        guesses.append(solved.predict(query).ppd.variance)
    torch.testing.assert_close(
        guesses[0] - guesses[1], (2 * solved.theta[:, :, 1]).exp().expand(4, 5), atol=1e-8, rtol=1e-4
    )


def test_joint_predictives_of_functions_and_of_observations_differ_by_the_noise(data):
    x, y = data
    settings = NetworkSettings(16, 0, 1, 16, solver=KernelSolver(3))
    model = settings.build(Problem(3, Real(), (0.0, 1.0), answers="function"), target_sample=torch.randn(9, 20))
    posterior = model.frozen().condition(x, y.float())
    with seeded(3):
        query = torch.rand(4, 5, 3)
    function, observed = (posterior.joint(query, noise=noise) for noise in (False, True))
    torch.testing.assert_close(function.variance, posterior.predict(query).variance)
    share = 1 - function.normals.margins().variance / observed.normals.margins().variance
    torch.testing.assert_close((function.variance / observed.variance).double(), 1 - share, atol=1e-5, rtol=1e-4)
    value = torch.randn(4, 5)
    torch.testing.assert_close(posterior.joint_log_prob(query, value), function.log_prob(value))
    assert "the function below noisy targets" in model.summary()


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="needs at least 1 node"):
        KernelSolver(nodes=0)
    with pytest.raises(InputError, match="KernelSolver is for real targets"):
        KernelSolver().output_for(Problem(2, Classes(2)), None)
    with pytest.raises(InputError, match="is corrected by CorrectedMixtureHead"):
        KernelSolver().output_for(PROBLEM, NormalHead())
    assert KernelSolver(4).output_for(PROBLEM, None) == CorrectedMixtureHead(4)
