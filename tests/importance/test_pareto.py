import pytest
import torch

from priorfit.importance.pareto import largest_shape, pareto_fit, smoothed
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


def test_weights_that_differ_little_are_believed_and_kept_whatever_the_shape_of_their_excess():
    """Two hundred sets of weights between 1 and 5, most of them close to 1: the fit alone would doubt most of them."""
    with seeded(2):
        excess = torch.randn(200, 4000, dtype=torch.float64).mul(3).exp()
        log_weights = (4 * torch.rand(200, 1) * excess / excess.amax(-1, keepdim=True)).log1p()
    weights, shape = smoothed(log_weights)
    ordered = log_weights.exp().sort().values
    fitted = torch.stack([pareto_fit(row[-190:] - row[-191])[0] for row in ordered])
    assert float((fitted > 0.7).double().mean()) > 0.9 and float(shape.max()) < 0.5
    torch.testing.assert_close(weights, log_weights.log_softmax(-1))


def test_a_light_tail_is_not_smoothed():
    with seeded(3):
        light, heavy = 0.3 * torch.randn(1, 4000).double(), -0.6 * torch.rand(1, 4000).double().log()
    assert torch.equal(smoothed(light)[0], (light - light.max()).log_softmax(-1))
    assert not torch.equal(smoothed(heavy)[0], (heavy - heavy.max()).log_softmax(-1))


@pytest.mark.parametrize(("shape", "tail"), [(0.5, 48), (0.8, 190), (1.5, 848)])
def test_the_largest_weight_bounds_the_shape_in_19_of_20_pareto_tails(shape, tail):
    with seeded(4):
        log_largest = (-shape * torch.rand(20_000, tail, dtype=torch.float64).log()).amax(-1)
    bounds = torch.stack([largest_shape((-each).exp(), tail) for each in log_largest])
    assert float((bounds > shape).double().mean()) == pytest.approx(0.95, abs=0.01)
