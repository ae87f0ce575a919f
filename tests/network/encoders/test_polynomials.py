import math

import numpy
import pytest
import torch
from scipy.special import eval_legendre

import priorfit as pf
from priorfit.errors import InputError
from priorfit.network import LinearSolver, NetworkSettings, PolynomialEncoder
from priorfit.network.encoders.polynomials import PolynomialLayer, legendre_polynomials
from priorfit.predictor import predict
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, train


def layer(num_features: int = 2, degree: int = 3, width: int = 10) -> PolynomialLayer:
    with seeded(0):
        built = PolynomialEncoder(degree, decay=0.5).build(num_features, width, (0.0, 1.0))
    assert isinstance(built, PolynomialLayer)
    return built


def test_the_polynomials_are_those_of_legendre():
    unit = torch.linspace(-1, 1, 7, dtype=torch.float64)
    found = legendre_polynomials(unit, 5)
    for order in range(6):
        expected = math.sqrt(2 * order + 1) * eval_legendre(order, unit.numpy())
        numpy.testing.assert_allclose(found[:, order].numpy(), expected, atol=1e-12)


def test_they_are_orthonormal_over_the_range_and_all_there_are():
    built = layer(num_features=2, degree=3)
    points, weights = (torch.from_numpy(each) for each in numpy.polynomial.legendre.leggauss(8))
    grid = torch.cartesian_prod(points, points)
    mass = torch.cartesian_prod(weights, weights).prod(-1) / 4
    values = built.polynomials((grid[None] + 1) / 2)[0]  # (64, polynomials)
    assert values.shape[-1] == math.comb(5, 3)
    torch.testing.assert_close(values.mT @ (mass[:, None] * values), torch.eye(10, dtype=torch.float64))


@pytest.mark.parametrize("width", [4, 10, 30])
def test_encoded_numbers_have_the_size_that_a_regression_expects(width):
    encoded = layer(width=width)(torch.rand(1, 20_000, 2)).detach()
    assert encoded.square().mean().sqrt() == pytest.approx(0.7, rel=0.3)


def test_outside_of_the_range_they_keep_the_values_at_its_edge():
    built = layer()
    outside, edge = torch.tensor([[[3.0, 0.2], [-1.0, 5.0]]]), torch.tensor([[[1.0, 0.2], [0.0, 1.0]]])
    torch.testing.assert_close(built(outside), built(edge))


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="degree >= 1 and decay in"):
        PolynomialEncoder(degree=0)
    with pytest.raises(InputError, match="degree >= 1 and decay in"):
        PolynomialEncoder(decay=1.5)
    with pytest.raises(InputError, match="needs inputs of a known range"):
        PolynomialEncoder().build(2, 8, None)
    with pytest.raises(InputError, match="12 features have 50388 up to degree 7. Lower the degree"):
        PolynomialEncoder(7).build(12, 8, (0.0, 1.0))


def test_a_network_with_polynomials_learns_and_comes_back(tmp_path):
    settings = NetworkSettings(
        width=16,
        layers=1,
        attention_heads=2,
        encoder=PolynomialEncoder(8, decay=0.6),
        solver=LinearSolver(features=9, components=1, hidden=0, evidence_weight=1.0),
    )
    prior = pf.GaussianProcess(lengthscale=0.6, noise=1e-2)
    data = DataSettings(batch_size=8, targets="expected")
    model = train(Recipe(prior, num_points=20, budget=Budget(steps=150), data=data, network=settings))
    with seeded(1):
        tasks = prior.sample(40, 20).split(15)
    assert pf.metrics.gap(model, pf.exact(prior), tasks).mean < 0.05
    model.save(tmp_path / "model")
    mean = predict(pf.load(tmp_path / "model"), tasks).mean
    torch.testing.assert_close(mean, predict(model, tasks).mean)
