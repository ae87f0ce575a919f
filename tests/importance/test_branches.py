import pytest
import torch
from torch.distributions import Categorical, Cauchy, Gamma, Laplace, LogNormal, MixtureSameFamily, Normal, StudentT

from priorfit.distributions import NormalMixture
from priorfit.importance.branches import branches_of
from priorfit.seeding import seeded


def mixture(law) -> NormalMixture:
    found = branches_of(law)
    assert found is not None
    return NormalMixture(found.log_share, found.mean.expand_as(found.scale), found.scale)


def test_a_mixture_of_normals_is_its_own_branches():
    with seeded(0):
        parts = Normal(torch.randn(1_000, 3), torch.rand(1_000, 3) + 0.1)
        law = MixtureSameFamily(Categorical(logits=torch.randn(1_000, 3)), parts)
        y = 2 * torch.randn(100, 1_000)
    torch.testing.assert_close(mixture(law).log_prob(y), law.log_prob(y), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("df", [2.5, 3.0, 10.0])
def test_students_t_is_nearly_a_mixture_of_normals_of_one_mean(df: float):
    law = StudentT(df, torch.tensor([0.5]), torch.tensor([0.1]))
    found = branches_of(law)
    assert found is not None and found.mean.shape == (1, 1)
    with seeded(1):
        y = law.sample((100_000,))
    y = y[(y - 0.5).abs() < 2]  # 20 scales: beyond, the widest Normal ends
    assert (law.log_prob(y) - mixture(law).log_prob(y)).mean().abs() < 0.02


def test_a_laplace_law_is_nearly_a_mixture_of_normals_of_one_mean():
    law = Laplace(torch.tensor([0.5]), torch.tensor([0.1]))
    found = branches_of(law)
    assert found is not None and found.mean.shape == (1, 1)
    with seeded(1):
        y = law.sample((100_000,))
    assert (law.log_prob(y) - mixture(law).log_prob(y)).mean().abs() < 0.001


@pytest.mark.parametrize("law", [LogNormal(0.0, 0.5), Gamma(3.0, 2.0)], ids=["lognormal", "gamma"])
def test_another_law_has_one_normal_of_its_moments(law):
    found = branches_of(law.expand((2, 3)))
    assert found is not None and found.scale.shape == (2, 3, 1)
    torch.testing.assert_close(found.mean[..., 0], law.mean.expand(2, 3))
    torch.testing.assert_close(found.scale[..., 0], law.stddev.expand(2, 3))


def test_a_law_without_moments_has_no_branches():
    assert branches_of(Cauchy(torch.zeros(2), torch.ones(2))) is None
