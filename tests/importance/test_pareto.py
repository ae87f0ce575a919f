import pytest
import torch

from priorfit.importance.pareto import pareto_fit, smoothed
from priorfit.seeding import seeded


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_the_shape_of_a_pareto_tail_is_found(shape):
    with seeded(0):
        uniform = torch.rand(20_000, dtype=torch.float64)
    excess = ((uniform**-shape - 1) / shape).sort().values
    found, scale = pareto_fit(excess)
    assert float(found) == pytest.approx(shape, abs=0.03) and float(scale) == pytest.approx(1.0, abs=0.05)


def test_light_tails_are_believed_and_heavy_ones_are_not():
    with seeded(1):
        light = 0.5 * torch.randn(1, 2000, dtype=torch.float64)
        heavy = -1.5 * torch.rand(1, 2000, dtype=torch.float64).log()  # weights with a tail of shape 1.5
    weights, shape = smoothed(torch.cat([light, heavy]))
    assert float(shape[0]) < 0.5 and float(shape[1]) > 0.9
    torch.testing.assert_close(weights.exp().sum(-1), torch.ones(2, dtype=torch.float64))
    assert bool((weights[1].argsort() == heavy[0].argsort()).double().mean() > 0.99)  # the order stays


def test_equal_weights_stay_equal():
    weights, shape = smoothed(torch.zeros(1, 500, dtype=torch.float64))
    torch.testing.assert_close(weights.exp(), torch.full((1, 500), 1 / 500, dtype=torch.float64))
    assert float(shape) < 0.7
