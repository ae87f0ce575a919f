import pytest
import torch
from torch.distributions import MultivariateNormal

from priorfit.network.solver.gaussian import solve, solve_by_features, solve_by_points
from priorfit.seeding import seeded

SIZES = ((0, 3), (1, 3), (5, 3), (5, 9), (9, 9))
sizes = pytest.mark.parametrize(("points", "features"), SIZES)


def drawn(points: int, features: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and values of two datasets and three heads."""
    with seeded(0, points, features):
        phi = 3 * torch.randn(2, 3, points, features, dtype=torch.float64)
        return phi, torch.randn(2, 3, points, dtype=torch.float64)


@sizes
@pytest.mark.parametrize("way", [solve_by_points, solve_by_features])
def test_mean_and_variance_are_those_of_bayesian_linear_regression(points, features, way):
    phi, values = drawn(points, features)
    solution = way(phi, values)
    queries, _ = drawn(4, features)
    covariance = torch.linalg.inv(torch.eye(features, dtype=torch.float64) + phi.mT @ phi)
    mean = queries @ covariance @ phi.mT @ values[..., None]
    torch.testing.assert_close(solution.mean(queries), mean[..., 0])
    torch.testing.assert_close(solution.variance(queries), (queries @ covariance * queries).sum(-1))


@sizes
@pytest.mark.parametrize("way", [solve_by_points, solve_by_features])
def test_what_a_point_is_left_out_of_is_the_regression_without_it(points, features, way):
    phi, values = drawn(points, features)
    left_out = way(phi, values).left_out(phi, values)
    for point in range(points):
        others = [other for other in range(points) if other != point]
        solution = way(phi[:, :, others], values[:, :, others])
        alone = phi[:, :, [point]]
        torch.testing.assert_close(left_out.mean[..., [point]], solution.mean(alone))
        torch.testing.assert_close(left_out.variance[..., [point]], solution.variance(alone))


@sizes
@pytest.mark.parametrize("way", [solve_by_points, solve_by_features])
def test_the_evidence_is_the_density_of_the_values_but_for_a_constant(points, features, way):
    phi, values = drawn(points, features)
    solution = way(phi, values)
    if points == 0:
        torch.testing.assert_close(solution.log_evidence, torch.zeros(2, 3, dtype=torch.float64))
        return
    covariance = torch.eye(points, dtype=torch.float64) + phi @ phi.mT
    density = MultivariateNormal(torch.zeros(points, dtype=torch.float64), covariance).log_prob(values)
    constant = 0.5 * points * torch.log(torch.tensor(2 * torch.pi, dtype=torch.float64))
    torch.testing.assert_close(solution.log_evidence, density + constant)


def test_few_points_are_solved_by_points_and_many_by_features():
    few, many = solve(*drawn(4, 9))[0], solve(*drawn(30, 9))[0]
    assert few.factor.shape == (2, 3, 4, 4)
    assert many.whitener.shape == (2, 3, 9, 9)  # of a size that does not grow with the context
