import pytest
import torch
from torch.distributions import LogNormal, Normal, StudentT

from priorfit.distributions import LawMixture, NormalMixture, WeightedDraws, expected_log_prob
from priorfit.distributions.law_mixture import systematic
from priorfit.seeding import seeded


@pytest.fixture
def pair():
    """The same mixtures twice: three components of two datasets at four points."""
    with seeded(0):
        logits, loc, scale = torch.randn(2, 3), torch.randn(2, 3, 4), torch.rand(2, 3, 4) + 0.2
    law = Normal(loc.flatten(0, 1), scale.flatten(0, 1))
    return LawMixture(logits, law), NormalMixture(logits[:, None], loc.mT, scale.mT)


def test_densities_moments_and_quantiles_are_those_of_the_mixture_of_normals(pair):
    found, expected = pair
    y = torch.linspace(-3, 3, 7)[:, None, None].expand(7, 2, 4)
    torch.testing.assert_close(found.log_prob(y), expected.log_prob(y))
    torch.testing.assert_close(found.cdf(y), expected.cdf(y))
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.variance, expected.variance)
    levels = torch.tensor([0.05, 0.5, 0.95])[:, None, None]
    torch.testing.assert_close(found.icdf(levels), expected.icdf(levels), atol=1e-4, rtol=1e-4)


def test_entropy_and_expectations_are_means_over_stratified_draws(pair):
    found, expected = pair
    torch.testing.assert_close(found.entropy(), expected.entropy(), atol=0.2, rtol=0)
    ppd = Normal(torch.zeros(2, 4), 2.0)
    torch.testing.assert_close(expected_log_prob(ppd, found), expected_log_prob(ppd, expected), atol=1e-5, rtol=1e-5)
    other = NormalMixture(torch.zeros(2, 1, 1), expected.mean[..., None], expected.stddev[..., None])
    difference = expected_log_prob(other, found) - expected_log_prob(other, expected)
    assert float(difference.abs().max()) < 0.2


def test_draws_have_the_moments_of_the_mixture(pair):
    found, _ = pair
    with seeded(1):
        drawn = found.sample((4000,))
    assert drawn.shape == (4000, 2, 4)
    assert float(((drawn.mean(0) - found.mean) / found.stddev).abs().max()) < 0.07
    assert float((drawn.std(0) / found.stddev - 1).abs().max()) < 0.07


def test_values_outside_of_the_support_have_density_0():
    mixture = LawMixture(torch.zeros(1, 2), LogNormal(torch.zeros(2, 1), 1.0))
    assert float(mixture.log_prob(torch.tensor([[-1.0]]))) == -torch.inf


def test_a_law_without_cdf_has_quantiles_of_draws():
    law = StudentT(30.0, torch.zeros(2, 1), 1.0)
    assert abs(float(LawMixture(torch.zeros(1, 2), law).icdf(0.9)) - 1.31) < 0.25


def test_a_single_dataset_has_no_batch_axis():
    mixture = LawMixture(torch.zeros(3), Normal(torch.arange(3.0)[:, None].expand(3, 4), 1.0))
    assert mixture.batch_shape == (4,) and mixture.log_prob(torch.zeros(4)).shape == (4,)


def test_systematic_resampling_takes_each_component_by_its_weight():
    with seeded(0):
        index = systematic(torch.tensor([[0.1, 0.2, 0.7]], dtype=torch.float64), 1000)
    assert index[0].bincount().tolist() == pytest.approx([100, 200, 700], abs=1)


def test_weighted_draws_have_quantiles_and_moments_but_no_density():
    found = WeightedDraws(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([3.0, 1.0, 2.0]))
    probs = torch.tensor([1.0, 2.0, 0.0], dtype=torch.float64).softmax(0)  # of 1, 2, 3
    torch.testing.assert_close(found.mean, (probs * torch.tensor([1.0, 2.0, 3.0])).sum())
    assert float(found.icdf(0.5)) == 2.0 and float(found.cdf(1.5)) == pytest.approx(float(probs[0]))
    assert found.sample((5,)).shape == (5,)
    with pytest.raises(NotImplementedError, match="have no density"):
        found.log_prob(1.0)
