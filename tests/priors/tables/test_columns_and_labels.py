"""Steps on the way to a table, each held to what it says."""

import numpy as np
import pytest
import torch

from priorfit.priors.tables import columns, labels
from priorfit.priors.tables.columns import drawn_columns, skewed, with_gaps, with_levels, with_useless
from priorfit.priors.tables.labels import REFERENCE_ROWS, by_cuts, by_largest, labelled, learnable
from priorfit.priors.tables.randomness import activated, log_uniform, relevances, standard, uniform, whole
from priorfit.seeding import seeded


def drawn(seed: int, rows: int = 200, width: int = 6) -> torch.Tensor:
    with seeded(seed):
        return drawn_columns((4, rows, width))


@pytest.mark.parametrize("seed", range(12))
def test_columns_are_standardised_and_finite(seed):
    x = drawn(seed)
    assert x.shape == (4, 200, 6) and x.isfinite().all()
    torch.testing.assert_close(x.mean(1), torch.zeros(4, 6), rtol=0, atol=1e-4)
    torch.testing.assert_close(x.std(1, correction=0), torch.ones(4, 6), rtol=0, atol=1e-3)


def test_long_tails_keep_the_order_of_rows():
    x = drawn(0)
    with seeded(1):
        found = skewed(x)
    assert torch.equal(found.argsort(1), x.argsort(1))
    assert not torch.equal(found, x)


@pytest.mark.parametrize("seed", range(8))
def test_discrete_columns_have_few_whole_values_in_an_order_that_may_mean_nothing(seed, monkeypatch):
    monkeypatch.setattr(columns, "happens", lambda _: False)  # then all columns are discrete
    x = drawn(seed)
    with seeded(seed):
        found = with_levels(x)
    assert torch.equal(found, found.round())
    assert found.min() >= 0 and found.max() <= 49
    monotone = 0
    for i in range(4):
        for c in range(6):
            assert 1 <= len(found[i, :, c].unique()) <= 49
            order = x[i, :, c].argsort()
            monotone += bool((found[i, order, c].diff() >= 0).all())
            groups = [x[i, found[i, :, c] == level, c] for level in found[i, :, c].unique()]
            edges = sorted((float(group.min()), float(group.max())) for group in groups)
            assert all(high <= low for (_, high), (low, _) in zip(edges, edges[1:], strict=False)), (
                "levels are intervals"
            )
    assert 3 <= monotone <= 23, "some are ordered codes and some are names"


@pytest.mark.parametrize("seed", range(8))
def test_useless_columns_are_columns_in_another_order(seed):
    x = drawn(seed)
    with seeded(seed):
        found = with_useless(x)
    assert torch.equal(found.sort(1).values, x.sort(1).values)


@pytest.mark.parametrize("seed", range(8))
def test_gaps_change_no_value_that_is_left(seed):
    x = drawn(seed)
    with seeded(seed):
        found = with_gaps(x)
    known = ~found.isnan()
    assert torch.equal(found[known], x[known])
    assert float(known.double().mean()) > 0.4


def test_some_gaps_are_where_values_are_large(monkeypatch):
    monkeypatch.setattr(columns, "uniform", lambda low, high: high)
    with seeded(0):
        x = torch.randn(400, 100, 1)
        missing = with_gaps(x).isnan()
    means = torch.stack([x[missing].mean(), x[~missing].mean()])
    assert means[0] > means[1] + 0.05


@pytest.mark.parametrize("count", [2, 3, 7, 10])
def test_cuts_of_equal_shares_lie_at_quantiles_of_hidden_rows(count, monkeypatch):
    monkeypatch.setattr(labels, "happens", lambda _: False)
    with seeded(count):
        scores = torch.randn(5, 200)
    found = by_cuts(scores, count)
    for row, each in zip(scores, found, strict=True):
        shares = torch.bincount(each[:REFERENCE_ROWS], minlength=count)
        assert (shares - REFERENCE_ROWS / count).abs().max() <= 1
        assert torch.equal(each[row.argsort()], each.sort().values), "classes are intervals"
    moved = torch.cat([scores[:, :REFERENCE_ROWS], 100 + scores[:, REFERENCE_ROWS:]], 1)
    assert torch.equal(by_cuts(moved, count)[:, :REFERENCE_ROWS], found[:, :REFERENCE_ROWS])


def test_the_largest_score_is_the_class_but_for_favours():
    scores = torch.zeros(3, 10, 4)
    scores[..., 2] = 100.0
    with seeded(0):
        assert (by_largest(scores) == 2).all()


@pytest.mark.parametrize("outputs", [1, 4])
def test_classes_are_named_at_random_and_few_labels_are_wrong(outputs, monkeypatch):
    scores = torch.zeros(300, 80, outputs)
    scores[:, :, 0] = torch.linspace(-1, 1, 80) * 100
    monkeypatch.setattr(labels, "happens", lambda _: False)
    with seeded(0):
        found = labelled(scores, 4, 0.0, 0.0)
    assert set(found.unique().tolist()) <= {0.0, 1.0, 2.0, 3.0}
    firsts = torch.bincount(found[:, -1].long(), minlength=4)
    assert firsts.min() > 40, "each name comes as often"


@pytest.mark.parametrize("is_class", [True, False])
def test_kept_tables_are_those_whose_hidden_rows_predict_each_other_best(is_class):
    """The measure again, each hidden row left out by a regression of its own."""
    with seeded(4):
        x = torch.randn(9, REFERENCE_ROWS + 5, 2)
        y = torch.sin(x[..., 0]) + torch.linspace(0, 4, 9)[:, None] * torch.randn(9, REFERENCE_ROWS + 5)
        y = (y > 0).float() if is_class else y
        found = learnable(x, y, is_class, 4, (1.0,))
    told = []
    for i in range(9):
        rows = 3 * np.tanh(standard(x[i : i + 1, :REFERENCE_ROWS])[0].double().numpy() / 3)
        known = y[i, :REFERENCE_ROWS]
        known = (known == known[0] if is_class else known).double().numpy()
        target = (known - known.mean()) / known.std()
        kernel = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(-1) / 2) + rows @ rows.T / 2
        guess = np.empty_like(target)
        for row in range(REFERENCE_ROWS):
            rest = np.arange(REFERENCE_ROWS) != row
            matrix = kernel[np.ix_(rest, rest)] + 0.3 * np.eye(REFERENCE_ROWS - 1)
            guess[row] = kernel[row, rest] @ np.linalg.solve(matrix, target[rest])
        told.append((guess * target).mean() / np.sqrt((guess**2).mean()))
    assert sorted(found.tolist()) == sorted(np.argsort(told)[-4:].tolist())


def test_numbers_lie_where_they_should():
    with seeded(0):
        assert all(2 <= uniform(2.0, 3.0) <= 3 for _ in range(200))
        logs = torch.tensor([log_uniform(0.01, 1.0) for _ in range(3_000)]).log()
        wholes = [whole(3, 7) for _ in range(500)]
        used = relevances(50, 9)
        mixed = activated(torch.randn(2, 30, 7))
    assert float(logs.mean()) == pytest.approx(float(torch.tensor(0.01).log()) / 2, abs=0.12)
    assert set(wholes) == {3, 4, 5, 6, 7}
    assert used.shape == (50, 9) and (used >= 0).all()
    assert mixed.shape == (2, 30, 7) and mixed.isfinite().all()
    constant = torch.full((2, 5, 1), 3.0)
    assert torch.equal(standard(constant), torch.zeros_like(constant))
