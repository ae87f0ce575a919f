"""Mixtures of many Normals by few of them."""

import torch

from priorfit.distributions import NormalMixture, expected_log_prob
from priorfit.distributions.condensing import condensed


def random_mixtures(count: int, components: int) -> NormalMixture:
    """Mixtures of unlike kinds: even weights and a few that dominate, narrow components among wide ones."""
    peaked = torch.rand(count, 1, dtype=torch.float64) * 8
    logits = peaked * torch.randn(count, components, dtype=torch.float64)
    scale = (torch.randn_like(logits) - 2).exp()
    return NormalMixture(logits, torch.randn_like(logits), scale)


def test_moments_and_mass_stay() -> None:
    many = random_mixtures(5_000, 200)
    few = condensed(many, 32)
    torch.testing.assert_close(few.probs.sum(-1), torch.ones(5_000, dtype=torch.float64))
    torch.testing.assert_close(few.mean, many.mean)
    torch.testing.assert_close(few.variance, many.variance)


def test_the_entropy_is_nearly_that_of_all() -> None:
    many = random_mixtures(100, 64)
    few = condensed(many, 32)
    exact, coarse = expected_log_prob(many, many, num_nodes=32), expected_log_prob(few, few, num_nodes=32)
    assert float((exact - coarse).abs().mean()) < 0.05


def test_few_components_stay_as_they_are() -> None:
    few = random_mixtures(3, 32)
    assert condensed(few, 32) is few


def test_a_component_without_weight_changes_nothing() -> None:
    logits = torch.tensor([0.0, -torch.inf, 0.0])
    few = condensed(NormalMixture(logits, torch.tensor([0.0, 50.0, 1.0]), torch.ones(3)), 2)
    torch.testing.assert_close(few.mean, torch.tensor(0.5))
    assert few.log_prob(torch.tensor(0.3)).isfinite()
