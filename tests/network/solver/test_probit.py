import math

import pytest
import torch
from torch.special import log_ndtr, ndtr

from priorfit.network.solver.gaussian import ByFeatures
from priorfit.network.solver.probit import STEPS, Sites, classify, log_evidence, posterior_of, updated
from priorfit.seeding import seeded

CONVERGED = 60 * (0.7,)
"""Steps of rounds that change nothing any more."""


def drawn(points: int, features: int = 2, spread: float = 2.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and labels of three datasets and two heads, labels as the model draws them."""
    with seeded(0, points, features):
        phi = spread * torch.randn(3, 2, points, features, dtype=torch.float64)
        weights = torch.randn(3, 2, features, 1, dtype=torch.float64)
        return phi, torch.sign((phi @ weights)[..., 0] + torch.randn(3, 2, points, dtype=torch.float64))


def integrated(phi: torch.Tensor, signs: torch.Tensor, queries: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log evidence and probability of a positive label at queries, by a sum over a grid of two weights."""
    line = torch.linspace(-6, 6, 301, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)  # (weights, 2)
    prior = -0.5 * grid.square().sum(-1) - math.log(2 * math.pi) + 2 * math.log(line[1] - line[0])
    joint = prior + log_ndtr(signs[..., None] * (phi @ grid.T)).sum(-2)  # (batch, heads, weights)
    labels = ndtr(queries @ grid.T)  # (batch, heads, queries, weights)
    return joint.logsumexp(-1), (labels @ joint.softmax(-1)[..., None])[..., 0]


def answered(solution: ByFeatures, queries: torch.Tensor) -> torch.Tensor:
    return ndtr(solution.mean(queries) / (1 + solution.variance(queries)).sqrt())


def divergences(labels: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    labels, found = (probability.clamp(1e-9, 1 - 1e-9) for probability in (labels, found))
    return torch.xlogy(labels, labels / found) + torch.xlogy(1 - labels, (1 - labels) / (1 - found))


def test_no_label_leaves_the_prior():
    solution, left_out = classify(*drawn(0))
    queries, _ = drawn(4)
    torch.testing.assert_close(solution.mean(queries), torch.zeros(3, 2, 4, dtype=torch.float64))
    torch.testing.assert_close(solution.variance(queries), queries.square().sum(-1))
    torch.testing.assert_close(solution.log_evidence, torch.zeros(3, 2, dtype=torch.float64))
    assert left_out.mean.shape == (3, 2, 0)


def test_one_label_gives_the_moments_of_the_posterior():
    phi, signs = drawn(1)
    solution, left_out = classify(phi, signs, CONVERGED)  # a round goes most of the way
    line = torch.linspace(-12, 12, 20_001, dtype=torch.float64)  # the latent in units of its prior spread
    density = torch.exp(-0.5 * line.square()) * ndtr(signs * phi.norm(dim=-1) * line)  # (3, 2, line)
    density = density / density.sum(-1, keepdim=True)
    mean = (density * line).sum(-1)
    variance = (density * line.square()).sum(-1) - mean.square()
    spread = phi.norm(dim=-1)[..., 0]
    torch.testing.assert_close(solution.mean(phi)[..., 0], spread * mean)
    torch.testing.assert_close(solution.variance(phi)[..., 0], spread.square() * variance)
    torch.testing.assert_close(solution.log_evidence, torch.full((3, 2), math.log(0.5), dtype=torch.float64))
    torch.testing.assert_close(left_out.mean, torch.zeros_like(left_out.mean))
    torch.testing.assert_close(left_out.variance[..., 0], spread.square())


@pytest.mark.parametrize("points", [2, 5, 20])
@pytest.mark.parametrize(("spread", "most", "off"), [(0.5, 1e-4, 0.02), (3.0, 0.006, 0.2), (20.0, 0.015, 0.4)])
def test_probabilities_and_evidence_are_close_to_numerical_integration(points, spread, most, off):
    phi, signs = drawn(points, spread=spread)
    queries, _ = drawn(9, spread=spread)
    solution, _ = classify(phi, signs)
    evidence, labels = integrated(phi, signs, queries)
    found = answered(solution, queries)
    assert (
        divergences(labels, found).mean() < most
    )  # the posterior is a sector of the plane, not a Normal, where labels are certain
    torch.testing.assert_close(solution.log_evidence, evidence, atol=off, rtol=0)


def test_what_a_point_is_left_out_of_is_nearly_the_posterior_without_it():
    phi, signs = drawn(12)
    _, left_out = classify(phi, signs)
    others = list(range(1, 12))
    solution, _ = classify(phi[:, :, others], signs[:, :, others])
    first = phi[:, :, [0]]
    margin = left_out.mean[..., [0]] / (1 + left_out.variance[..., [0]]).sqrt()
    torch.testing.assert_close(ndtr(margin), answered(solution, first), atol=0.02, rtol=0)


@pytest.mark.parametrize("points", [5, 30, 100])
@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_the_rounds_are_enough(points, spread):
    phi, signs = drawn(points, features=8, spread=spread)
    queries, _ = drawn(20, features=8, spread=spread)
    few, many = (answered(classify(phi, signs, steps)[0], queries) for steps in (STEPS, CONVERGED))
    assert divergences(many, few).mean() < 1e-4
    torch.testing.assert_close(few, many, atol=0.02, rtol=0)


def test_short_last_steps_end_the_swing_of_certain_labels():
    with seeded(0):
        x = torch.randn(300, 1, 130, 2, dtype=torch.float64)
        phi = 5 * torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)
        weights = torch.randn(300, 1, 3, 1, dtype=torch.float64)
        signs = torch.sign((phi @ weights)[..., 0] + torch.randn(300, 1, 130, dtype=torch.float64))
    context, labels, queries = phi[:, :, :100], signs[:, :, :100], phi[:, :, 100:]
    truth, ours, long = (
        answered(classify(context, labels, steps)[0], queries) for steps in (CONVERGED, STEPS, 7 * (0.85,))
    )
    assert divergences(truth, ours).mean() < 1.5e-4 < 3e-4 < divergences(truth, long).mean()
    assert 3 * divergences(truth, ours).mean(-1).max() < divergences(truth, long).mean(-1).max()


def test_the_evidence_has_the_gradient_of_the_fixed_point():
    phi, signs = drawn(6)
    phi.requires_grad_()
    (gradient,) = torch.autograd.grad(classify(phi, signs, CONVERGED)[0].log_evidence.sum(), phi)
    step, direction = 1e-5, torch.randn_like(phi)
    ahead, behind = (
        classify(phi.detach() + sign * step * direction, signs, CONVERGED)[0].log_evidence.sum() for sign in (1, -1)
    )
    torch.testing.assert_close((gradient * direction).sum(), (ahead - behind) / (2 * step), rtol=1e-3, atol=1e-6)


def test_the_evidence_is_stationary_in_the_sites():
    phi, signs = drawn(6)
    columns = (phi * signs[..., None]).mT
    sites = Sites(torch.zeros_like(signs), torch.zeros_like(signs))
    for _ in range(80):
        sites = updated(sites, posterior_of(columns, sites).left_out, 0.85)
    precision, shift = sites.precision.requires_grad_(), sites.shift.requires_grad_()
    found = Sites(precision, shift)
    evidence = log_evidence(found, posterior_of(columns, found)).sum()
    for gradient in torch.autograd.grad(evidence, (precision, shift)):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-6, rtol=0)


def test_separable_labels_of_any_length_stay_finite():
    phi, signs = drawn(50, features=3, spread=1e4)
    phi.requires_grad_()
    solution, left_out = classify(phi, torch.sign(phi[..., 0].detach()))
    assert solution.log_evidence.isfinite().all()
    assert left_out.mean.isfinite().all()
    solution.log_evidence.sum().backward()
    assert phi.grad is not None and phi.grad.isfinite().all()
    assert signs.shape == (3, 2, 50)


@pytest.mark.parametrize("points", [1, 30, 100])
@pytest.mark.parametrize("spread", [1.0, 20.0])
def test_single_precision_agrees_with_double(points, spread):
    phi, signs = drawn(points, features=8, spread=spread)
    queries, _ = drawn(20, features=8, spread=spread)
    double, single = classify(phi, signs)[0], classify(phi.float(), signs.float())[0]
    assert single.log_evidence.dtype == torch.float32
    torch.testing.assert_close(answered(single, queries.float()).double(), answered(double, queries), atol=1e-4, rtol=0)
    torch.testing.assert_close(single.log_evidence.double(), double.log_evidence, atol=1e-3, rtol=1e-4)
