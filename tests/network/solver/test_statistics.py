import pytest
import torch

from priorfit.network.solver.gaussian import solution_of, solve
from priorfit.network.solver.statistics import Moments, Rows, statistics_of
from priorfit.seeding import seeded

FUNCTIONS = 6


def drawn(points: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Functions and targets of two contexts, gains and log noise of three regressions."""
    with seeded(0, points):
        parts = (2, points, FUNCTIONS), (2, points), (2, 3, FUNCTIONS), (2, 3, 1)
        functions, y, gain, log_noise = (torch.randn(part, dtype=torch.float64) for part in parts)
        return functions, y, 3 * gain, 0.3 * log_noise


@pytest.mark.parametrize("points", [0, 1, 5, 6, 40])
def test_regressions_from_statistics_are_those_from_all_points(points: int):
    functions, y, gain, log_noise = drawn(points)
    statistics = statistics_of(functions, y)
    assert isinstance(statistics, Rows if points < FUNCTIONS else Moments) and statistics.num_points == points
    phi, values = functions[:, None] * gain[:, :, None], y[:, None] * (-log_noise).exp()
    expected, found = solve(phi, values)[0], statistics.solve(gain, log_noise)
    torch.testing.assert_close(statistics.log_evidence(gain, log_noise), expected.log_evidence)
    torch.testing.assert_close(found.log_evidence, expected.log_evidence)
    queries = torch.randn(2, 3, 4, FUNCTIONS, dtype=torch.float64)
    for mine, theirs in zip(found.moments(queries), expected.moments(queries), strict=True):
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(statistics.sum_of_squares, y.square().sum(1, keepdim=True))
    halves = [part.log_evidence(gain[[i]], log_noise[[i]]) for i, part in enumerate(statistics.split(1))]
    torch.testing.assert_close(torch.cat(halves), expected.log_evidence)


@pytest.mark.parametrize("first", [0, 2, 5, 9])
@pytest.mark.parametrize("more", [1, 3, 20])
def test_points_that_come_later_give_the_same_statistics_and_solutions(first: int, more: int):
    functions, y, gain, log_noise = drawn(first + more)
    added = statistics_of(functions[:, :first], y[:, :first]).with_points(functions[:, first:], y[:, first:])
    whole = statistics_of(functions, y)
    assert type(added) is type(whole) and added.num_points == first + more
    torch.testing.assert_close(added.log_evidence(gain, log_noise), whole.log_evidence(gain, log_noise))
    phi, values = functions[:, None] * gain[:, :, None], y[:, None] * (-log_noise).exp()
    updated = solution_of(phi[:, :, :first], values[..., :first]).with_points(phi[:, :, first:], values[..., first:])
    expected = solution_of(phi, values)
    torch.testing.assert_close(updated.log_evidence, expected.log_evidence)
    queries = torch.randn(2, 3, 4, FUNCTIONS, dtype=torch.float64)
    for mine, theirs in zip(updated.moments(queries), expected.moments(queries), strict=True):
        torch.testing.assert_close(mine, theirs)
