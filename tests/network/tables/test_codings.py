import pytest
import torch

from priorfit.network.tables.codings import (
    LEAST_SPREAD,
    against_others,
    class_probabilities,
    number_of_classes,
    signs_of,
    standard_coding,
)
from priorfit.seeding import seeded


def log_odds(count: int, batch: int = 3, queries: int = 50) -> torch.Tensor:
    with seeded(count):
        return 4 * torch.randn(batch * count, queries, dtype=torch.float64)


@pytest.mark.parametrize("count", range(2, 11))
def test_probabilities_sum_to_1_and_are_in_proportion_to_those_of_the_codings(count):
    each = log_odds(count)
    found = class_probabilities(each, count).probs
    assert found.shape == (3, 50, count)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 50, dtype=torch.float64))
    expected = torch.sigmoid(each).unflatten(0, (3, count)).transpose(1, 2)
    torch.testing.assert_close(found, expected / expected.sum(-1, keepdim=True))


@pytest.mark.parametrize("count", range(2, 11))
def test_codings_that_agree_are_not_changed(count):
    with seeded(count):
        wanted = torch.rand(3, 50, count, dtype=torch.float64).softmax(-1)
    each = torch.logit(wanted).transpose(1, 2).flatten(0, 1)
    torch.testing.assert_close(class_probabilities(each, count).probs, wanted)


def test_two_classes_are_answered_between_the_two_codings_and_as_their_mean_where_these_are_close():
    each = log_odds(2)
    found = class_probabilities(each, 2).probs[..., 0]
    first, second = torch.sigmoid(each[0::2]), 1 - torch.sigmoid(each[1::2])
    assert (found >= torch.minimum(first, second) - 1e-12).all()
    assert (found <= torch.maximum(first, second) + 1e-12).all()
    close = torch.stack([each[0::2], 1e-3 * each[1::2] - each[0::2]], 1).flatten(0, 1)
    mean = (torch.sigmoid(close[0::2]) + 1 - torch.sigmoid(close[1::2])) / 2
    torch.testing.assert_close(class_probabilities(close, 2).probs[..., 0], mean, rtol=0, atol=2e-3)


@pytest.mark.parametrize("count", range(2, 11))
def test_permuted_codings_permute_the_probabilities(count):
    each = log_odds(count)
    with seeded(1):
        order = torch.randperm(count)
    permuted = each.unflatten(0, (3, count))[:, order].flatten(0, 1)
    torch.testing.assert_close(
        class_probabilities(permuted, count).probs, class_probabilities(each, count).probs[..., order]
    )


def test_far_log_odds_stay_finite():
    each = torch.tensor([[-800.0], [-900.0], [-1000.0]], dtype=torch.float64)
    torch.testing.assert_close(class_probabilities(each, 3).probs[0, 0], torch.tensor([1.0, 0, 0]).double())


@pytest.mark.parametrize(
    ("labels", "count"), [([[0, 1]], 2), ([[0, 0]], 2), ([[0, 4]], 5), ([[0, 1], [2, 0]], 3), ([[9, 0]], 10), ([[]], 2)]
)
def test_an_answer_has_the_classes_up_to_the_largest_label_and_two_at_least(labels, count):
    assert number_of_classes(torch.tensor(labels, dtype=torch.float32), 10) == count


def test_each_class_is_coded_against_the_others():
    coded = against_others(torch.tensor([[0.0, 2, 1, 2], [1, 1, 0, 0]]), 3)
    expected = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert coded.tolist() == expected
    assert signs_of(coded).flatten().tolist() == [1, 1, 1, 1, 1, -1]


@pytest.mark.parametrize("positives", [0, 1, 3, 10, 50, 97, 100])
def test_a_coding_has_mean_0_and_deviation_1_unless_its_class_is_rare(positives):
    coding = (torch.arange(100) < positives).double()[None]
    share = positives / 100
    spread = (share * (1 - share)) ** 0.5
    found = standard_coding(coding)
    assert float(found.mean()) == pytest.approx(0, abs=1e-12)
    assert float(found.std(correction=0)) == pytest.approx(spread / max(spread, LEAST_SPREAD))
    assert found.shape == coding.shape and standard_coding(coding[:, :0]).shape == (1, 0)
