import math

import pytest
import torch
from scipy.stats import gamma

from priorfit.baselines.gp.gamma_coordinates import GammaCoordinates
from priorfit.priors import Gamma

LAWS = [Gamma(1e-9, 1.0), Gamma(1e-4, 1.0), Gamma(0.3, 2.0), Gamma(2.0, 0.15), Gamma(3.0, 6.0), Gamma(1e6, 2e6)]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def density(law, z):
    """The density of the coordinate, with the constant that a sampler does not need."""
    constant = law.concentration * math.log(law.rate) - math.lgamma(law.concentration)
    return (GammaCoordinates.of(law).log_density(z[:, None])[:, 0] + constant).exp()


def grid(end=9.0, count=200_001):
    return torch.linspace(-9, end, count, dtype=torch.float64)


@every_law
@pytest.mark.parametrize("level", [0.5, 0.99, 0.9995])
def test_as_much_lies_below_a_position_as_below_its_draw(law, level):
    reference = gamma(law.concentration, scale=1 / law.rate)
    draw = reference.ppf(level) or 1e-90  # where the quantile is 0 in floating point
    (position,) = GammaCoordinates.of(law).position(torch.tensor([draw], dtype=torch.float64))
    z = grid(float(position))
    assert abs(float(torch.trapezoid(density(law, z), z)) - reference.cdf(draw)) < 1e-7


@every_law
def test_a_draw_gives_back_its_position(law):
    coordinates = GammaCoordinates.of(law)
    for z in torch.tensor([[3.0], [3.5], [4.0]], dtype=torch.float64):
        if coordinates.draw(z) > 1e-99:
            torch.testing.assert_close(coordinates.position(coordinates.draw(z)), z, rtol=0, atol=1e-9)


@every_law
def test_the_density_is_nearly_that_of_a_standard_normal(law):
    z = grid()
    mass = density(law, z)
    mean = float(torch.trapezoid(z * mass, z))
    deviation = math.sqrt(float(torch.trapezoid((z - mean).square() * mass, z)))
    assert abs(mean) < 0.15
    assert 0.7 < deviation < 1.05


@every_law
def test_slopes_are_finite_far_from_the_centre(law):
    z = torch.tensor([[-30.0], [-5.0], [0.0], [5.0]], dtype=torch.float64, requires_grad=True)
    coordinates = GammaCoordinates.of(law)
    (slope,) = torch.autograd.grad((coordinates.log_density(z) + coordinates.draw(z)).sum(), z)
    assert slope.isfinite().all()
