"""Laws of classes in cells, beside the logistic function, numerical integration and dense formulas."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Normal

from priorfit.importance.branches import MOST_ODDS, branches_of
from priorfit.network.solver.cell_classes import class_guess_of
from priorfit.network.solver.odds import Odds, bounded, log_logistic
from priorfit.network.solver.propagation import propagated, without_points
from priorfit.seeding import seeded

CASES = 100_000
W = torch.linspace(-9, 9, 4_001, dtype=torch.float64)


def odds_of(batch: int, points: int, classes: int = 2, dimensions: int = 1, noise: float = 0.0) -> tuple[Odds, Tensor]:
    """Random laws of one cell for each dataset, and labels that are draws of them."""
    curves = classes - 1
    mean, slope = torch.randn(batch, 1, curves, points), 2 * torch.randn(batch, 1, curves, dimensions, points)
    variance = torch.full((batch, 1, curves, points), noise)
    local = Odds(mean.double(), slope.double(), variance.double(), torch.zeros_like(variance).double())
    fitted = local.fitted(torch.randn(batch, 1, dimensions).double())
    probs = local.log_probs(fitted, torch.zeros_like(fitted))[:, 0].exp()
    return local, Categorical(probs.mT).sample().double()


def integrated(local: Odds, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log evidence, mean and variance of a w of one dimension, on a grid."""
    values = local.mean[..., None] + local.slope[:, :, :, 0, :, None] * W  # (batch, 1, curves, points, values)
    sign, tells = local.told(y)
    told = (tells[..., None] * torch.nn.functional.logsigmoid(sign[..., None] * values)).sum((1, 2, 3))
    found = told + Normal(0.0, 1.0).log_prob(W)
    evidence, weights = found.logsumexp(1) + (W[1] - W[0]).log(), found.softmax(1)
    mean = (weights * W).sum(1)
    return evidence, mean, (weights * (W - mean[:, None]).square()).sum(1)


def as_moments(numbers: Tensor) -> Tensor:
    return numbers[:, None, None, None]


def test_a_mixture_of_probits_is_the_logistic_function():
    with seeded(0):
        values = as_moments(28 * torch.rand(CASES).double() - 14)
    told, moved, curved = log_logistic(values, torch.zeros_like(values))
    torch.testing.assert_close(told, torch.nn.functional.logsigmoid(values), atol=2.5e-4, rtol=0)
    torch.testing.assert_close(moved, torch.sigmoid(-values), atol=2e-3, rtol=0)
    torch.testing.assert_close(curved, torch.sigmoid(values) * torch.sigmoid(-values), atol=6e-3, rtol=0)


def test_log_odds_far_beyond_are_finite():
    values = as_moments(torch.tensor([-1e3, -60.0, 60.0, 1e3]).double())
    for numbers in log_logistic(values, torch.ones_like(values)):
        assert bool(numbers.isfinite().all())


def test_a_mean_over_a_normal_is_that_of_numerical_integration_with_its_derivatives():
    with seeded(1):
        mean, spread = as_moments(4 * torch.randn(CASES).double()), as_moments(torch.rand(CASES).double() * 25)
    mean.requires_grad_()
    told, moved, curved = log_logistic(mean, spread)
    (slope,) = torch.autograd.grad(told.sum(), mean, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), mean)
    torch.testing.assert_close(moved, slope, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(curved, -second, atol=1e-9, rtol=1e-9)
    few = slice(0, 1_000)
    values = mean[few] + spread[few].sqrt() * W
    exact = (torch.sigmoid(values) * Normal(0.0, 1.0).log_prob(W).exp()).sum(-1) * (W[1] - W[0])
    torch.testing.assert_close(told[few, 0, 0, 0].exp(), exact[:, 0, 0], atol=5e-5, rtol=0)


def test_labels_in_a_cell_are_nearly_exact():
    with seeded(2):
        local, y = odds_of(1_000, 12)
    found = propagated(local, y)
    evidence, mean, variance = integrated(local, y)
    state, spread = found.state[:, 0, 0], found.spread[:, 0, 0, 0]
    divergence = 0.5 * (variance / spread + (state - mean).square() / spread - 1 - (variance / spread).log())
    assert float(divergence.mean()) < 2e-3 and float(divergence.max()) < 0.02
    off = (found.log_evidence[:, 0] - evidence).abs()
    assert float(off.mean()) < 0.02 and float(off.max()) < 0.06


def test_the_bound_of_the_evidence_is_one():
    with seeded(3):
        local, y = odds_of(2_000, 12)
    behind = integrated(local, y)[0] - bounded(local, y).log_evidence[:, 0]
    assert float(behind.min()) > -1e-9 and float(behind.mean()) < 0.5


def test_noise_of_log_odds_makes_labels_tell_less():
    with seeded(4):
        local, y = odds_of(500, 12)
    unsure = Odds(local.mean, local.slope, local.variance + 9.0, local.log_share)
    assert bool((propagated(unsure, y).spread > propagated(local, y).spread).all())


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_log_odds_of_a_law_give_its_probabilities_back(classes: int):
    with seeded(5):
        law = Categorical(logits=3 * torch.randn(CASES // classes, classes).double())
    found = branches_of(law)
    assert found is not None and found.is_odds
    mean = found.mean[:, None, :, None]
    nothing = torch.zeros_like(mean)
    told = Odds(mean, nothing[:, :, :, None], nothing, nothing).log_probs(nothing, nothing)[:, 0, :, 0]
    torch.testing.assert_close(told.exp(), law.probs, atol=1e-4, rtol=0)
    torch.testing.assert_close(told.logsumexp(1), torch.zeros(len(told)).double(), atol=3e-4, rtol=0)


def test_labels_without_chance_have_bounded_log_odds():
    found = branches_of(Categorical(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])))
    assert found is not None and float(found.mean.abs().max()) <= MOST_ODDS
    one = branches_of(Bernoulli(torch.tensor([0.0, 0.5, 1.0])))
    assert one is not None and float(one.mean[1, 0]) == 0.0 and float(one.mean.abs().max()) <= MOST_ODDS


@pytest.mark.parametrize("classes", [2, 4])
def test_leaving_a_point_out_takes_its_sites_back(classes: int):
    with seeded(6):
        local, y = odds_of(50, 6, classes, dimensions=3)
    found = propagated(local, y)
    mean, variance = without_points(local, found)
    for point in range(6):
        others = [place for place in range(6) if place != point]
        slope = local.slope[..., others].transpose(2, 3).flatten(3)
        precision, shift = found.precision[..., others].flatten(2), found.shift[..., others].flatten(2)
        spread = torch.linalg.inv((slope * precision[:, :, None]) @ slope.mT + torch.eye(3, dtype=torch.float64))
        state = (spread @ (slope @ shift[..., None]))[..., 0]
        one = Odds(*(part[..., [point]] for part in (local.mean, local.slope, local.variance, local.log_share)))
        torch.testing.assert_close(mean[..., [point]], one.fitted(state))
        torch.testing.assert_close(variance[..., [point]], one.leverage(spread))


def test_a_guess_is_the_mixture_of_the_cells_and_tells_how_unsure_they_are():
    with seeded(7):
        log_weights = torch.randn(10, 6, 1).double().log_softmax(1).expand(-1, -1, 4)
        log_probs = torch.randn(10, 6, 3, 4).double().log_softmax(2)
    guess = class_guess_of(log_weights, log_probs, (2, torch.float64))
    probs = (log_weights.exp()[:, :, None] * log_probs.exp()).sum(1).mT  # (batch, points, classes)
    torch.testing.assert_close(guess.ppd.probs, probs)
    assert guess.features.shape == (10, 4, 3 * 2 + 4)
    entropy = Categorical(probs).entropy()
    torch.testing.assert_close(guess.features[..., -3], entropy)
    within = (log_weights.exp() * Categorical(logits=log_probs.mT).entropy()).sum(1)
    torch.testing.assert_close(guess.features[..., -2], entropy - within)
