import math

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, Uniform

from benchmarks.common.quadrature import edges_at, quadrature
from benchmarks.pilots.own_priors import waves
from benchmarks.pilots.own_priors_latents import margin_divergence
from priorfit.priors.function import prior
from priorfit.seeding import seeded


@prior(num_features=1, offset=Normal(0.0, 1.0), slope=Normal(0.0, 2.0))
def lines(x, offset, slope):
    return Normal(offset + slope * x[..., 0], 0.1)


@prior(num_features=1, change=Uniform(0.0, 1.0))
def jump(x, change):
    return Normal((x[..., 0] > change).to(x.dtype), 1.0)


def test_quadrature_agrees_with_linear_regression():
    x, y = torch.tensor([[0.1], [0.5], [0.8]]), torch.tensor([3.0, 3.3, 3.9])
    found = quadrature(lines, x, y)
    features, scales = torch.stack([torch.ones(3), x[:, 0]], dim=1).double(), torch.tensor([1.0, 2.0]).double()
    covariance = features * scales.square() @ features.T + 0.01 * torch.eye(3)
    evidence = MultivariateNormal(torch.zeros(3).double(), covariance).log_prob(y.double())
    assert found.log_evidence == pytest.approx(float(evidence), abs=2e-3) and found.change < 5e-3
    gain = scales[:, None].square() * features.T @ covariance.inverse()
    mean = gain @ y.double()
    deviation = (torch.diag(scales.square()) - gain @ features * scales.square()).diagonal().sqrt()
    for place in range(2):
        exact = Normal(mean[place], deviation[place])
        level = Normal(0.0, scales[place]).cdf(exact.icdf(torch.tensor([0.05, 0.5, 0.95]).double()))
        torch.testing.assert_close(found.cdf(place, level), torch.tensor([0.05, 0.5, 0.95]).double(), atol=4e-3, rtol=0)
        density = exact.log_prob(mean[place]) - Normal(0.0, scales[place]).log_prob(mean[place])
        assert found.log_density(place, float(level[1])) == pytest.approx(float(density), abs=0.02)
        law = Normal(mean[[place]], deviation[[place]])
        assert margin_divergence(found, place, lines.latents[place].source, law, 0) < 2e-3
        wider = Normal(mean[[place]], 1.5 * deviation[[place]])
        exact_kl = math.log(1.5) + (1 / 1.5**2 - 1) / 2
        divergence = margin_divergence(found, place, lines.latents[place].source, wider, 0)
        assert divergence == pytest.approx(exact_kl, abs=5e-3)
    assert float(found.predict(torch.tensor([[0.5]])).mean) == pytest.approx(float(mean[0] + 0.5 * mean[1]), abs=2e-3)


def test_a_step_function_is_integrated_exactly_between_its_steps():
    x, y = torch.tensor([[0.3], [0.6]]), torch.tensor([0.0, 1.0])
    found = quadrature(jump, x, y, {"change": x[:, 0]})
    assert len(found.log_mass) == 3
    fits = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]).double()  # both above, one, none
    masses = Normal(fits, 1.0).log_prob(y.double()).sum(1).exp() * torch.tensor([0.3, 0.3, 0.4])
    assert found.log_evidence == pytest.approx(float(masses.sum().log()), abs=1e-5)
    half = (masses[0] + masses[1] / 2) / masses.sum()
    assert float(found.cdf(0, torch.tensor([0.45]).double())) == pytest.approx(float(half), abs=1e-5)
    assert float(found.predict(torch.tensor([[0.45]])).mean) == pytest.approx(float(half), abs=1e-3)


def test_a_narrow_peak_is_found():
    with seeded(1):
        tasks = waves.sample(1, 40).split(30)
    found = quadrature(waves, tasks.context_x[0], tasks.context_y[0])
    level = (tasks.latents["frequency"][0] - 2) / 8
    assert 0.001 < float(found.cdf(0, level.double())) < 0.999 and found.change < 5e-3


def test_jumps_that_the_prior_does_not_reach_are_left_out():
    places = edges_at(Uniform(0.1, 0.9), torch.tensor([0.05, 0.5, 0.95]))
    torch.testing.assert_close(places, torch.tensor([places[0], 0.0, -places[0]]).double(), atol=1e-6, rtol=0)
