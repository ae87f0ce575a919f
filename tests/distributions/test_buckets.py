import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from priorfit.distributions import UnboundedRiemann, equal_mass_borders
from priorfit.errors import BucketError
from priorfit.seeding import seeded


@pytest.mark.parametrize("num_buckets", [1, 7, 1000])
def test_each_bucket_holds_equally_many_targets(num_buckets):
    with seeded(0):
        sample = torch.randn(100, 200)
    borders = equal_mass_borders(sample, num_buckets)
    counts = torch.histogram(sample, borders).hist
    assert borders.shape == (num_buckets + 1,)
    assert borders[0] == sample.min()
    assert borders[-1] == sample.max()
    assert (counts - sample.numel() / num_buckets).abs().max() <= 2


def test_a_frequent_value_fills_one_bucket_and_the_others_share_the_rest():
    with seeded(0):
        sample = torch.cat([torch.zeros(5000), torch.randn(10_000)])
    borders = equal_mass_borders(sample, 100)
    assert (borders.diff() > 0).all()
    assert (borders == 0).sum() == 1
    counts = torch.histogram(sample[sample != 0], borders).hist
    assert counts.max() < 1.5 * counts.mean()


@given(
    values=st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=40),
    repeats=st.integers(1, 5),
    num_buckets=st.integers(1, 30),
)
def test_any_sample_gives_all_buckets_or_an_error(values, repeats, num_buckets):
    sample = torch.tensor(values * repeats)
    if sample.unique().numel() <= num_buckets:
        with pytest.raises(BucketError):
            equal_mass_borders(sample, num_buckets)
        return
    borders = equal_mass_borders(sample, num_buckets)
    assert borders.shape == (num_buckets + 1,)
    assert (borders[1:] > borders[:-1]).all()


def test_borders_of_float64_targets_stay_distinct_in_float32():
    sample = 1 + torch.arange(1000, dtype=torch.float64) * 1e-9
    with pytest.raises(BucketError, match="distinct targets"):
        equal_mass_borders(sample, 100)
    borders = equal_mass_borders(sample * 1e3, 4)
    assert borders.dtype == torch.float64
    assert (borders.float().diff() > 0).all()


def test_borders_of_a_sample_make_a_distribution():
    with seeded(0):
        borders = equal_mass_borders(torch.randn(1000), 50)
    assert UnboundedRiemann(borders, torch.zeros(50), validate_args=True).variance.isfinite()


@pytest.mark.parametrize(
    ("sample", "num_buckets", "message"),
    [
        ([], 2, "the sample of targets is empty"),
        ([1.0, 2.0], 0, "num_buckets must be at least 1; got 0"),
        ([1.0, 1.0, 1.0], 2, "all 3 targets have the same value 1,"),
        ([1.0, 2.0, 2.0], 2, "2 buckets need at least 3 distinct targets; got 2 among 3"),
        ([1.0, torch.nan, 2.0], 1, "must be finite.*1 of 3 are NaN or infinite"),
        ([-torch.inf, 1.0, torch.inf], 1, "2 of 3 are NaN or infinite"),
    ],
)
def test_samples_that_no_buckets_fit_are_refused(sample, num_buckets, message):
    with pytest.raises(BucketError, match=message):
        equal_mass_borders(torch.tensor(sample), num_buckets)
