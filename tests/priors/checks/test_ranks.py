import pytest
import torch
from scipy.stats import f, f_oneway, mannwhitneyu, norm, rankdata

from priorfit.priors.checks.independence import batch_ratios, raw_batch_ratios
from priorfit.priors.checks.leaks import leak_z
from priorfit.priors.checks.order import order_z
from priorfit.priors.checks.ranks import (
    LARGEST_Z,
    fisher_ratios,
    fisher_z,
    paired_z,
    pooled_ranks,
    ranks,
    sign_z,
    two_sample_z,
)
from priorfit.seeding import seeded


def normals():
    return torch.randn(24, 64, 16, dtype=torch.float64)


NULLS = {
    "noise": normals,
    "constants": lambda: torch.randn(24, 64, 1).expand(-1, -1, 16).double(),
    "heavy tails": lambda: normals() / torch.randn(24, 64, 1),
    "rare labels": lambda: (torch.rand(24, 64, 16) < 0.002).double(),
    "labels": lambda: (torch.rand(24, 64, 16) < torch.rand(24, 64, 1)).double(),
    "a rare component": lambda: normals() * (torch.rand(24, 64, 1) < 0.02) * 100 + normals(),
}


every_null = pytest.mark.parametrize("draw", NULLS.values(), ids=NULLS.keys())


@every_null
def test_independent_datasets_stay_far_below_the_limit(draw):
    with seeded(0):
        for _ in range(15):
            y = draw()
            assert fisher_z(float(batch_ratios(y).max()), 24, 64) < 0.85 * LARGEST_Z
            assert fisher_z(float(raw_batch_ratios(y).min()), 24, 64) > -0.85 * LARGEST_Z


@every_null
def test_points_that_are_exchangeable_stay_far_below_the_limit(draw):
    with seeded(1):
        for _ in range(15):
            y = draw().flatten(0, 1)
            x = torch.rand(*y.shape, 2)
            assert max(order_z(x, y).values()) < 0.85 * LARGEST_Z
            assert leak_z(y)[2] > -0.85 * LARGEST_Z


def test_the_ratio_is_that_of_the_analysis_of_variance():
    with seeded(1):
        values = torch.randn(5, 7, 3, dtype=torch.float64) + torch.randn(5, 1, 1, dtype=torch.float64)
    torch.testing.assert_close(fisher_ratios(values), torch.from_numpy(f_oneway(*values.numpy()).statistic))
    assert torch.equal(fisher_ratios(torch.ones(5, 7, 3)), torch.ones(3))


@pytest.mark.parametrize(("num_groups", "num_members"), [(24, 64), (16, 16), (1536, 32), (256, 2)])
@pytest.mark.parametrize("level", [1e-9, 1e-6, 0.01, 0.5])
def test_a_ratio_is_as_far_out_as_its_law_says(num_groups, num_members, level):
    degrees = num_groups - 1, num_groups * (num_members - 1)
    above = fisher_z(float(f.isf(level, *degrees)), num_groups, num_members)
    below = fisher_z(float(f.ppf(level, *degrees)), num_groups, num_members)
    z = float(norm.isf(level))
    assert above == pytest.approx(z, abs=0.1)
    assert -z - 0.01 < below < -0.9 * z + 0.01  # it errs on the safe side


def test_ranks_are_those_of_scipy():
    with seeded(2):
        values = torch.randint(0, 5, (30, 3)).double()
    torch.testing.assert_close(ranks(values), torch.from_numpy(rankdata(values.numpy(), axis=0)) - 0.5)
    pooled = pooled_ranks(values)
    torch.testing.assert_close(pooled.flatten(), torch.from_numpy(rankdata(values.flatten().numpy()) - 0.5) / 90 - 0.5)


def test_two_samples_are_compared_as_by_mann_and_whitney():
    with seeded(3):
        first, second = torch.randn(80, 4).double(), torch.randn(50, 4).double() + 0.3
    exact = mannwhitneyu(first.numpy(), second.numpy(), use_continuity=False, method="asymptotic").pvalue
    ours = 2 * norm.sf(two_sample_z(first, second).abs().numpy())
    torch.testing.assert_close(torch.from_numpy(ours), torch.from_numpy(exact), rtol=1e-3, atol=1e-9)
    assert torch.equal(two_sample_z(torch.ones(5, 2), torch.ones(4, 2)), torch.zeros(2).double())


def test_the_sum_of_signs_is_a_standard_normal_number():
    with seeded(4):
        differences = torch.randn(400, 2_000, dtype=torch.float64) * torch.rand(400, 1) ** -1.0
    z = sign_z(differences)
    assert abs(float(z.mean())) < 0.1
    assert float(z.std()) == pytest.approx(1, abs=0.05)
    assert sign_z(torch.full((400, 1), 1e-7)).abs() < 0.01


def test_pairs_that_depend_on_each_other_show_more():
    with seeded(5):
        first, noise = torch.randn(2, 500, 1).double().unbind()
    assert paired_z(first, noise).abs() < 4 < LARGEST_Z < paired_z(first + 0.2, first).abs()
    assert paired_z(first + 0.2, first).abs() > 2 * two_sample_z(first + 0.2, first).abs()
