import pytest
import torch
from torch.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Cauchy,
    Exponential,
    Gamma,
    HalfNormal,
    LogNormal,
    MixtureSameFamily,
    Normal,
    StudentT,
    Uniform,
)

from priorfit.importance.coordinates import coordinates_of, drawn_coordinates, values_at
from priorfit.seeding import seeded

CONTINUOUS = [
    Normal(1.0, 2.0),
    LogNormal(0.0, 0.5),
    Uniform(-1.0, 3.0),
    Exponential(2.0),
    HalfNormal(1.5),
    Cauchy(0.0, 1.0),
    Gamma(2.0, 3.0),
    Beta(2.0, 5.0),
    StudentT(4.0),
    MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), 0.3)),
]


@pytest.mark.parametrize("law", CONTINUOUS, ids=lambda law: type(law).__name__)
def test_the_density_of_coordinates_is_that_of_the_latent_times_the_slope_of_the_map(law):
    u = torch.linspace(-2.0, 2.0, 41, dtype=torch.float64)[:, None].requires_grad_()
    value, log_density = values_at(law.expand((41, 1)), u)
    (slope,) = torch.autograd.grad(value.sum(), u)
    expected = law.log_prob(value.detach()) + slope.log()
    torch.testing.assert_close(log_density.detach(), expected.detach().double(), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("law", CONTINUOUS, ids=lambda law: type(law).__name__)
def test_coordinates_of_draws_lead_back_to_draws_of_the_law(law):
    with seeded(0):
        u = drawn_coordinates(law.expand((20_000, 1)), torch.randn(20_000, 1, dtype=torch.float64))
        value, direct = values_at(law.expand((20_000, 1)), u)[0], law.sample((20_000, 1))
    levels = torch.tensor([0.1, 0.3, 0.9], dtype=torch.float64)
    spread = direct.double().quantile(0.9) - direct.double().quantile(0.1)
    difference = value.double().quantile(levels) - direct.double().quantile(levels)
    assert float(difference.abs().max() / spread) < 0.04


@pytest.mark.parametrize("law", CONTINUOUS, ids=lambda law: type(law).__name__)
def test_a_latent_leads_back_to_its_coordinates(law):
    u = torch.linspace(-3.0, 3.0, 100_000, dtype=torch.float64)[:, None]
    law = law.expand((100_000, 1))
    torch.testing.assert_close(coordinates_of(law, values_at(law, u)[0]), u, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("law", [Bernoulli(0.3), Categorical(torch.tensor([1.0, 2.0, 1.0]))])
def test_a_class_has_coordinates_that_lead_back_to_it_and_are_normal(law):
    with seeded(1):
        value = law.sample((100_000, 1))
        u = coordinates_of(law.expand((100_000, 1)), value)
    assert bool((values_at(law.expand((100_000, 1)), u)[0] == value).all())
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    torch.testing.assert_close(u.quantile(levels), torch.special.ndtri(levels), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("law", "shares"), [(Bernoulli(0.3), [0.7, 0.3]), (Categorical(torch.tensor([1.0, 2.0, 1.0])), [0.25, 0.5, 0.25])]
)
def test_classes_have_their_probabilities_as_steps_of_the_quantile_function(law, shares):
    u = torch.special.ndtri((torch.arange(1000, dtype=torch.float64) + 0.5) / 1000)[:, None]
    value = values_at(law.expand((1000, 1)), u)[0]
    found = [float((value == label).double().mean()) for label in range(len(shares))]
    assert found == pytest.approx(shares, abs=0.002)


@pytest.mark.parametrize(
    "law", [LogNormal(2.3, 0.3), Uniform(-1.0, 3.0), Exponential(2.0)], ids=lambda law: type(law).__name__
)
def test_proposals_far_out_are_values_that_a_simulator_can_take(law):
    value, log_density = values_at(law.expand((2, 1)), torch.tensor([[-60.0], [60.0]], dtype=torch.float64))
    assert value.isfinite().all() and value.max() < 200
    assert (log_density < -1_000).all()
