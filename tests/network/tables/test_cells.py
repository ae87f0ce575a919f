"""What a cell is told, beside loops over all pairs of rows."""

import math

import numpy as np
import pytest
import torch
from network.tables.tiny_tables import labels_of, table
from scipy.stats import rankdata

from priorfit.network.tables import cells
from priorfit.network.tables.cells import BANDWIDTHS, CELL_NUMBERS, RANK_SCALE, SOFT_CLIP, ColumnStatistics
from priorfit.network.tables.codings import against_others, standard_coding

CASES = [(seed, rows, columns) for seed in range(4) for rows, columns in ((1, 1), (2, 3), (11, 4), (24, 2))]
every_case = pytest.mark.parametrize(("seed", "rows", "columns"), CASES)


def statistics(seed: int, rows: int, columns: int) -> tuple[ColumnStatistics, torch.Tensor, torch.Tensor, torch.Tensor]:
    x, y, queries = table(seed, rows, columns, (2,))
    return ColumnStatistics.of(x, y), x, y, queries


def brute_ranks(context: np.ndarray, values: np.ndarray) -> np.ndarray:
    known = context[~np.isnan(context)]
    if not len(known):
        return np.zeros(len(values))
    below = np.array([(known < value).sum() + 0.5 * (known == value).sum() for value in values])
    return np.where(np.isnan(values), 0.0, RANK_SCALE * (2 * below / len(known) - 1))


def brute_smooth(column: tuple, cell: tuple, y: np.ndarray, left_out: int | None) -> tuple[list[float], list[float]]:
    """The means and counts of one cell, given the values and ranks of its column; ``cell`` has the same two."""
    means, counts = [], []
    for smoother in range(len(BANDWIDTHS) + 1):
        total = weight_sum = 0.0
        for row, (value, rank) in enumerate(zip(*column, strict=True)):
            known = not math.isnan(value) and not math.isnan(cell[0])
            if smoother < len(BANDWIDTHS):
                weight = known * math.exp(-0.5 * ((rank - cell[1]) / BANDWIDTHS[smoother]) ** 2)
            else:
                weight = float(value == cell[0] or (math.isnan(value) and math.isnan(cell[0])))
            if row != left_out:
                total, weight_sum = total + weight * y[row], weight_sum + weight
        means.append(total / (weight_sum + 1))
        counts.append(weight_sum)
    return means, counts


@every_case
def test_mid_ranks_are_those_of_scipy(seed, rows, columns):
    found, x, _, queries = statistics(seed, rows, columns)
    for i in range(2):
        for c in range(columns):
            column = x[i, :, c].numpy()
            known = ~np.isnan(column)
            expected = RANK_SCALE * (2 * (rankdata(column[known], "average") - 0.5) / max(known.sum(), 1) - 1)
            np.testing.assert_allclose(found.cells.ranks[i, c].numpy()[known], expected, atol=1e-12)
            assert (found.cells.ranks[i, c].numpy()[~known] == 0).all()
            asked = found.features_of(queries).ranks[i, c].numpy()
            np.testing.assert_allclose(asked, brute_ranks(column, queries[i, :, c].numpy()), atol=1e-12)


def test_the_ranks_of_a_continuous_column_have_mean_0_and_deviation_1():
    ranks = ColumnStatistics.of(torch.randn(1, 999, 1), torch.randn(1, 999)).cells.ranks
    assert abs(float(ranks.mean())) < 1e-5
    assert float(ranks.std(correction=0)) == pytest.approx(1, abs=1e-3)


@every_case
def test_labels_are_smoothed_as_a_loop_over_rows_does_it_leaving_the_row_itself_out(seed, rows, columns):
    found, x, y, queries = statistics(seed, rows, columns)
    asked = found.features_of(queries)
    for i in range(2):
        for c in range(columns):
            column = x[i, :, c].tolist(), found.cells.ranks[i, c].tolist()
            for row in range(rows):
                cell = column[0][row], column[1][row]
                check_numbers(found.features.numbers[i, c, row], brute_smooth(column, cell, y[i].numpy(), row))
            for row in range(queries.shape[1]):
                cell = float(queries[i, row, c]), float(asked.ranks[i, c, row])
                check_numbers(asked.numbers[i, c, row], brute_smooth(column, cell, y[i].numpy(), None))


def check_numbers(told: torch.Tensor, expected: tuple[list[float], list[float]]) -> None:
    means, counts = (np.array(part) for part in expected)
    np.testing.assert_allclose(told[4:8].numpy(), means, atol=1e-12)
    np.testing.assert_allclose(told[8:12].numpy(), np.log1p(counts) / 3, atol=1e-12)


@every_case
def test_a_cell_is_told_its_value_rank_ties_and_whether_it_is_missing(seed, rows, columns):
    found, x, _, queries = statistics(seed, rows, columns)
    for features, values in ((found.features, x), (found.features_of(queries), queries)):
        turned = values.transpose(1, 2)
        assert features.numbers.shape == (2, columns, values.shape[1], CELL_NUMBERS)
        clipped = SOFT_CLIP * torch.tanh(turned / SOFT_CLIP).nan_to_num(0.0)
        torch.testing.assert_close(features.numbers[..., 0], clipped)
        torch.testing.assert_close(features.numbers[..., 1], features.ranks)
        context = x.transpose(1, 2)
        same = (turned[..., None] == context[:, :, None]) | (turned.isnan()[..., None] & context.isnan()[:, :, None])
        torch.testing.assert_close(features.numbers[..., 2], 2 * same.double().mean(-1))
        assert torch.equal(features.numbers[..., 3], turned.isnan().double())


@every_case
def test_a_row_does_not_see_its_own_label(seed, rows, columns):
    found, x, y, _ = statistics(seed, rows, columns)
    for row in {0, rows // 2, rows - 1}:
        other = y.clone()
        other[:, row] += 10
        changed = ColumnStatistics.of(x, other).features.numbers
        assert torch.equal(changed[:, :, row, :12], found.features.numbers[:, :, row, :12])


@every_case
def test_correlations_are_those_of_leave_one_out_means_and_targets(seed, rows, columns):
    found, _, y, _ = statistics(seed, rows, columns)
    means = found.features.numbers[..., 4:8]
    for i in range(2):
        for c in range(columns):
            for smoother in range(4):
                guess = means[i, c, :, smoother].numpy()
                expected = np.mean(guess * y[i].numpy()) / (np.sqrt(np.mean(guess**2)) + 0.05)
                assert float(found.correlations[i, c, smoother]) == pytest.approx(expected, abs=1e-12)
    told = found.correlations[:, :, None].expand(-1, -1, rows, -1)
    assert torch.equal(found.features.numbers[..., 12:], told)


@every_case
def test_relevances_are_squares_of_the_best_correlation_with_mean_1(seed, rows, columns):
    found, _, _, _ = statistics(seed, rows, columns)
    best = found.correlations.max(-1).values.clamp(min=0) ** 2 + 0.02
    torch.testing.assert_close(found.relevances(), best / best.mean(1, keepdim=True))
    torch.testing.assert_close(found.relevances().mean(1), torch.ones(2, dtype=torch.float64))


def test_a_column_that_tells_the_label_is_more_relevant_than_noise():
    torch.manual_seed(0)
    x = torch.randn(1, 60, 4)
    y = torch.sin(2 * x[..., 2]) - torch.sin(2 * x[..., 2]).mean()
    relevances = ColumnStatistics.of(x, y / y.std(correction=0)).relevances()[0]
    assert relevances.argmax() == 2
    assert relevances[2] > 2


@pytest.mark.parametrize("most", [1, 40, 700])
def test_columns_compared_a_few_at_a_time_give_the_same_numbers(most, monkeypatch):
    whole, x, y, queries = statistics(0, 11, 5)
    monkeypatch.setattr(cells, "MOST_PAIRS", most)
    parts = ColumnStatistics.of(x, y)
    torch.testing.assert_close(parts.features.numbers, whole.features.numbers)
    torch.testing.assert_close(parts.features_of(queries).numbers, whole.features_of(queries).numbers)


def test_codings_of_one_table_get_what_each_gets_alone():
    x, y, queries = table(3, 20, 4, (2,))
    coded = standard_coding(against_others(labels_of(y, 3), 3).double())
    together = ColumnStatistics.of(x, coded)
    alone = ColumnStatistics.of(x.repeat_interleave(3, 0), coded)
    torch.testing.assert_close(together.features.numbers, alone.features.numbers)
    torch.testing.assert_close(together.relevances(), alone.relevances())
    repeated = alone.features_of(queries.repeat_interleave(3, 0))
    torch.testing.assert_close(together.features_of(queries).numbers, repeated.numbers)
