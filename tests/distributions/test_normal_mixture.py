import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch.distributions import Categorical, MixtureSameFamily, Normal

from priorfit.distributions import NormalMixture, quantiles
from priorfit.seeding import seeded


def mixture(*shape, dtype=torch.float64):
    with seeded(len(shape)):
        logits, loc, log_scale = torch.randn(3, *shape, dtype=dtype)
    return NormalMixture(logits, 2 * loc, log_scale.exp())


def test_density_cdf_and_moments_equal_those_of_torch():
    ppd = mixture(3, 4, 5)
    other = MixtureSameFamily(Categorical(logits=ppd.logits), Normal(ppd.loc, ppd.scale))
    y = torch.linspace(-8, 8, 50, dtype=torch.float64).reshape(50, 1, 1)
    torch.testing.assert_close(ppd.log_prob(y), other.log_prob(y.expand(50, 3, 4)))
    torch.testing.assert_close(ppd.cdf(y), other.cdf(y.expand(50, 3, 4)))
    torch.testing.assert_close(ppd.mean, other.mean)
    torch.testing.assert_close(ppd.variance, other.variance)


def test_one_component_is_a_normal():
    ppd, normal = NormalMixture(*torch.tensor([[0.3], [1.5], [0.2]]).double()), Normal(1.5, 0.2)
    assert ppd.entropy().item() == pytest.approx(normal.entropy().item(), abs=1e-7)
    assert ppd.mode.item() == pytest.approx(1.5)
    for level in (1e-9, 1e-6, 0.3, 1 - 1e-6):
        exact = norm.ppf(level, *(parameter.item() for parameter in (ppd.loc, ppd.scale)))
        assert ppd.icdf(torch.tensor(level, dtype=torch.float64)).item() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1e-3, 1e-6])
def test_entropy_is_exact_for_very_different_scales(ratio):
    ppd = NormalMixture(*torch.tensor([[0.0, 1.0], [0.2, 0.0], [1.0, ratio]], dtype=torch.float64))

    def surprise(y):
        log_prob = ppd.log_prob(torch.tensor(y, dtype=torch.float64))
        return -(log_prob.exp() * log_prob).item()

    cuts = sorted(loc + reach * scale for loc, scale in ((0.2, 1.0), (0.0, ratio)) for reach in range(-10, 11))
    exact = sum(quad(surprise, *piece, epsabs=1e-13)[0] for piece in zip(cuts, cuts[1:], strict=False))
    assert ppd.entropy().item() == pytest.approx(exact, abs=1e-9)


def test_quantiles_in_a_gap_between_components_are_found():
    ppd = NormalMixture(*torch.tensor([[0.0, 0.0], [-1e4, 1e4], [1e-3, 1e-3]]).double())
    levels = torch.tensor([0.5 - 1e-9, 0.5, 0.5 + 1e-9], dtype=torch.float64)
    torch.testing.assert_close(ppd.cdf(ppd.icdf(levels)), levels, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_quantiles_take_few_steps(dtype, monkeypatch):
    steps = []

    def counted(*arguments):
        steps.append(1)
        return mass_and_density(*arguments)

    mass_and_density = quantiles._mass_and_density
    monkeypatch.setattr(quantiles, "_mass_and_density", counted)
    ppd, levels = mixture(50, 10, dtype=dtype), torch.tensor([0.025, 0.25, 0.5, 0.75, 0.975], dtype=dtype)
    found = ppd.icdf(levels[:, None])
    assert len(steps) <= 20
    epsilon = torch.finfo(dtype).eps
    torch.testing.assert_close(ppd.cdf(found), levels[:, None].expand(5, 50), rtol=0, atol=10 * epsilon)


def test_symmetric_mixtures_have_median_zero_and_the_mode_where_they_merge():
    ppd = NormalMixture(*torch.tensor([[0.0, 0.0], [-0.9, 0.9], [1.0, 1.0]]).double())
    assert ppd.median.abs() < 1e-15
    assert ppd.mode.abs() < 1e-6


def test_the_mode_lies_between_components_that_merge_under_small_peaks_at_their_means():
    logits = torch.tensor([0.5, 0.5, 5e-4, 5e-4], dtype=torch.float64).log()
    ppd = NormalMixture(logits, *torch.tensor([[-1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 0.02, 0.02]]).double())
    assert ppd.mode.abs() < 1e-3


def test_extreme_logits_and_far_values_keep_finite_gradients():
    logits = torch.tensor([-torch.inf, 60.0, -60.0], requires_grad=True)
    loc = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    ppd = NormalMixture(logits, loc, torch.tensor([1.0, 1e-3, 10.0]))
    (ppd.log_prob(torch.tensor([-1e3, 0.0, 1.0, 1e3])).sum() + ppd.entropy()).backward()
    assert logits.grad is not None
    assert loc.grad is not None
    assert logits.grad.isfinite().all()
    assert loc.grad.isfinite().all()


def test_scales_must_be_positive():
    with pytest.raises(ValueError, match="scale"):
        NormalMixture(torch.zeros(2), torch.zeros(2), torch.tensor([1.0, 0.0]), validate_args=True)
