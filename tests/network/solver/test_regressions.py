"""Expectation propagation for laws of several Normals of one mean, beside numerical integration."""

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from priorfit.network.solver.local import Local
from priorfit.network.solver.propagation import propagated
from priorfit.network.solver.regressions import solved, without_each
from priorfit.seeding import seeded

CASES = 100_000
W = torch.linspace(-9, 9, 4_001, dtype=torch.float64)


def local_of(batch: int, points: int, branches: int = 3, dimensions: int = 1) -> tuple[Local, torch.Tensor]:
    """Random laws of one cell for each dataset, and targets that are draws of them."""
    mean, slope = torch.randn(batch, 1, 1, points).double(), torch.randn(batch, 1, 1, dimensions, points).double()
    variance = torch.exp(torch.randn(batch, 1, branches, points).double() - 2)
    share = torch.randn(batch, 1, branches, points).double().log_softmax(2)
    local = Local(mean, slope, variance, share)
    middle = mean + local.fitted(torch.randn(batch, 1, dimensions).double())  # (batch, 1, 1, points)
    parts = Normal(middle[:, 0].mT.expand(-1, -1, branches), variance[:, 0].mT.sqrt())
    return local, MixtureSameFamily(Categorical(logits=share[:, 0].mT), parts).sample()


def log_joint(local: Local, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Log prior plus log likelihood at values of a w of one dimension: (values, batch)."""
    mean = (local.mean + w[:, None, None, None, None] * local.slope[..., 0, :])[:, :, 0, 0, :, None]
    parts = Normal(mean, local.variance[:, 0].mT.sqrt(), validate_args=False)  # (values, batch, points, branches)
    shares = Categorical(logits=local.log_share[:, 0].mT)
    law = MixtureSameFamily(shares, parts, validate_args=False)
    return law.log_prob(y).sum(-1) + Normal(0.0, 1.0).log_prob(w)[:, None]


def integrated(local: Local, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log evidence, mean and variance of w on a grid."""
    found = log_joint(local, y, W)
    evidence = found.logsumexp(0) + (W[1] - W[0]).log()
    weights = found.softmax(0)
    mean = (weights * W[:, None]).sum(0)
    return evidence, mean, (weights * (W[:, None] - mean).square()).sum(0)


def test_moments_are_the_derivatives_of_the_log_density():
    with seeded(0):
        local, y = local_of(CASES, 1)
        mean, variance = torch.randn(CASES, 1, 1, 1).double(), torch.rand(CASES, 1, 1, 1).double()
    mean.requires_grad_()
    told, moved, curved = local.moments(y, mean, variance)
    (slope,) = torch.autograd.grad(told.sum(), mean, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), mean)
    torch.testing.assert_close(told, local.log_density(y, mean, variance)[:, :, None])
    torch.testing.assert_close(moved, slope)
    torch.testing.assert_close(curved, -second, atol=1e-6, rtol=1e-6)


def test_one_target_is_exact():
    """Wherever the target makes the posterior narrower: elsewhere its site says nothing, and the evidence is exact."""
    with seeded(1):
        local, y = local_of(2_000, 1)
    found = propagated(local, y)
    evidence, mean, variance = integrated(local, y)
    torch.testing.assert_close(found.log_evidence[:, 0], evidence, atol=2e-3, rtol=0)
    told = found.precision[:, 0, 0, 0] > 1e-3
    assert float(told.double().mean()) > 0.6
    torch.testing.assert_close(found.state[told, 0, 0], mean[told], atol=2e-3, rtol=1e-3)
    torch.testing.assert_close(found.spread[told, 0, 0, 0], variance[told], atol=2e-3, rtol=1e-3)


def test_many_targets_of_a_law_are_nearly_exact():
    """The worst posteriors are those of two peaks, which no Normal is near."""
    with seeded(2):
        local, y = local_of(500, 8)
    found = solved(local, y)
    evidence, mean, variance = integrated(local, y)
    state, spread = found.state[:, 0, 0], found.spread[:, 0, 0, 0]
    divergence = 0.5 * (variance / spread + (state - mean).square() / spread - 1 - (variance / spread).log())
    assert float(divergence.median()) < 1e-3 and float(divergence.mean()) < 0.05
    assert float((found.log_evidence[:, 0] - evidence).abs().median()) < 5e-3


@pytest.mark.parametrize("points", [1, 6])
def test_leaving_a_point_out_takes_its_site_back(points: int):
    with seeded(3):
        local, y = local_of(50, points, dimensions=2)
    found = propagated(local, y)
    mean, variance = without_each(local, found)
    slope = local.slope[:, :, 0]
    for point in range(points):
        others = [place for place in range(points) if place != point]
        precision, shift = found.precision[:, :, 0, others], found.shift[:, :, 0, others]
        gram = (slope[..., others] * precision[:, :, None]) @ slope[..., others].mT + torch.eye(2, dtype=torch.float64)
        spread = torch.linalg.inv(gram)
        state = (spread @ (slope[..., others] @ shift[..., None]))[..., 0]
        own = slope[..., [point]]
        torch.testing.assert_close(mean[:, :, 0, [point]], (state[..., None, :] @ own)[..., 0, :])
        torch.testing.assert_close(variance[:, :, 0, [point]], (own.mT @ spread @ own)[..., 0, :])
