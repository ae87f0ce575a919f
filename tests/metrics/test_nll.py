import dataclasses
import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.data import Batch
from priorfit.distributions import UnboundedRiemann
from priorfit.metrics import Estimate, floor, gap, nll
from priorfit.seeding import seeded


@dataclass(frozen=True)
class Constant:
    """Predicts the same distribution for each query."""

    ppd: Distribution

    def condition(self, context_x: Tensor, context_y: Tensor) -> "Constant":
        return self

    def predict(self, query_x: Tensor) -> Distribution:
        return self.ppd.expand(query_x.shape[:-1])


BORDERS = torch.linspace(-4, 4, 41)
BUCKETS = Constant(UnboundedRiemann(BORDERS, torch.zeros(40)))
NORMAL = Constant(Normal(torch.tensor(0.0), torch.tensor(1.0)))


def tasks(datasets=500):
    with seeded(0):
        return with_queries(torch.randn(datasets, 4))


def with_queries(query_y):
    batch = query_y.shape[:-1]
    return Batch(torch.zeros(*batch, 3, 2), torch.zeros(*batch, 3), torch.zeros(*query_y.shape, 2), query_y)


def test_nll_is_the_mean_over_queries_and_then_datasets():
    batch = tasks()
    values = -NORMAL.ppd.log_prob(batch.query_y).mean(-1)
    estimate = nll(NORMAL, batch)
    assert estimate.mean == pytest.approx(values.mean().item(), rel=1e-6)
    assert estimate.half_width == pytest.approx(1.96 * values.std().item() / math.sqrt(500), rel=1e-5)
    assert estimate.count == 500
    assert abs(estimate.mean - NORMAL.ppd.entropy().item()) < 2 * estimate.half_width


def test_nll_of_classes_takes_labels_kept_as_floats():
    batch = with_queries(torch.tensor([[0.0, 1.0], [2.0, 2.0]]))
    assert nll(Constant(Categorical(torch.tensor([0.2, 0.3, 0.5]))), batch).mean == pytest.approx(
        -(math.log(0.2) + math.log(0.3) + 2 * math.log(0.5)) / 4, rel=1e-5
    )


def test_the_gap_to_itself_is_zero_and_to_another_the_divergence():
    assert gap(NORMAL, NORMAL, tasks()).mean == pytest.approx(0, abs=1e-6)
    shifted = Constant(Normal(torch.tensor(0.5), torch.tensor(1.0)))
    estimate = gap(shifted, NORMAL, tasks())
    assert estimate.mean == pytest.approx(0.125, abs=1e-6)
    assert estimate.half_width < 1e-6


def test_the_gap_agrees_with_the_difference_of_two_nlls():
    batch = tasks(20_000)
    difference = nll(BUCKETS, batch), nll(NORMAL, batch)
    assert gap(BUCKETS, NORMAL, batch).mean == pytest.approx(difference[0].mean - difference[1].mean, abs=0.02)


def test_the_floor_lies_between_zero_and_the_gap():
    batch = tasks(3)
    lowest, reached = floor(BUCKETS, NORMAL, batch), gap(BUCKETS, NORMAL, batch)
    assert 0 < lowest.mean < 0.01 < reached.mean
    finer_borders = torch.cat([BORDERS[:1], torch.linspace(-3.8, 3.8, 381), BORDERS[-1:]])  # with the same tails
    finer = Constant(UnboundedRiemann(finer_borders, torch.zeros(382)))
    assert floor(finer, NORMAL, batch).mean < lowest.mean / 50
    assert floor(NORMAL, NORMAL, batch).mean == pytest.approx(0, abs=1e-6)


def test_an_estimate_reads_well_and_cannot_be_changed():
    estimate = Estimate(mean=-1.2341, half_width=0.01234, count=7)
    assert str(estimate) == "-1.234 ± 0.012"
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.mean = 0.0


def test_one_dataset_leaves_the_interval_open():
    assert Estimate.over(torch.tensor([1.0])) == Estimate(1.0, math.inf, 1)
    assert nll(NORMAL, with_queries(torch.zeros(4))).count == 1


@pytest.mark.parametrize(
    ("mean", "half_width", "words"),
    [
        (2.0, 1.132, "2.000 ± 1.132"),
        (0.0123, 0.0007, "0.012 ± 0.001"),
        (0.01234, 0.00021, "0.0123 ± 0.0002"),
        (4.2e-6, 1.1e-6, "4e-06 ± 1e-06"),
        (4.27e-5, 1.1e-6, "4.3e-05 ± 1e-06"),
        (-3e-7, 1.1e-6, "-3e-07 ± 1e-06"),
        (0.0, 1.1e-6, "0e+00 ± 1e-06"),
        (-1.2345678, 1.1e-6, "-1.234568 ± 0.000001"),
        (0.0, 0.0, "0.000 ± 0.000"),
        (-0.0, 0.2, "0.000 ± 0.200"),
        (4.2e-6, 0.2, "4e-06 ± 0.200"),
        (0.5, math.inf, "0.500 ± inf"),
        (math.nan, math.nan, "nan ± nan"),
    ],
)
def test_an_estimate_is_written_with_the_digits_that_it_has(mean, half_width, words):
    assert str(Estimate(mean, half_width, count=10)) == words
