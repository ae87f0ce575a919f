from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.tabular.columns import one_hot_columns, standardized_columns
from priorfit.baselines.tabular.cross_validation import Fold, search, stratified_folds
from priorfit.baselines.tabular.probabilities import FLOOR, floored
from priorfit.baselines.tabular.scores import accuracy, log_likelihood, roc_auc

NO_LIMIT = Deadline(None)


@dataclass(frozen=True)
class Sure:
    """Says that each row is of class 1 with the probability that its first column holds, or with 1 minus that."""

    sharpness: float

    def predict_proba(self, x):
        p = 0.5 + self.sharpness * (x[:, 0] - 0.5)
        return np.stack([1 - p, p], axis=-1)


def sure(x, y, settings):
    return Sure(settings["sharpness"])


def fold(held_x, held_y):
    return Fold(np.zeros((2, 1)), np.array([0, 1]), np.array(held_x)[:, None], np.array(held_y))


GOOD = [fold([0.1, 0.9], [0, 1]), fold([0.2, 0.7, 0.8], [0, 1, 1])]


def folds_of(y, num_features=1):
    x = np.random.default_rng(0).normal(size=(len(y), num_features))
    return x, stratified_folds(x, np.array(y), lambda: one_hot_columns((), num_features), seed=3)


@pytest.mark.parametrize(
    ("rows_of_classes", "count"), [((15, 15), 5), ((20, 5), 5), ((20, 3), 3), ((9, 2, 4), 2), ((20, 1), 0)]
)
def test_there_are_as_many_folds_as_the_rarest_class_has_rows(rows_of_classes, count):
    labels = np.repeat(np.arange(len(rows_of_classes)), rows_of_classes)
    x, folds = folds_of(labels)
    assert len(folds) == count
    for each in folds:
        assert set(each.held_y) == set(each.fitted_y) == set(labels)
        assert len(each.held_y) + len(each.fitted_y) == len(labels)
    if folds:
        assert_allclose(np.sort(np.concatenate([each.held_x for each in folds]), axis=0), np.sort(x, axis=0))


def test_the_encoder_sees_only_the_rows_that_are_fitted():
    x = np.random.default_rng(0).normal(5.0, 3.0, size=(20, 2))
    for each in stratified_folds(x, np.arange(20) % 2, lambda: standardized_columns((), 2), seed=0):
        assert_allclose(each.fitted_x.mean(0), 0, atol=1e-12)
        assert_allclose(each.fitted_x.std(0), 1)
        assert abs(each.held_x.mean()) > 1e-3


def test_the_setting_with_the_highest_score_wins():
    found = search({"sharpness": (-1.0, -0.5, 0.9, -0.1)}, GOOD, sure, roc_auc, NO_LIMIT)
    assert (found.chosen, found.score) == ({"sharpness": 0.9}, 1.0)
    assert (found.num_folds, found.num_settings, found.num_tried, found.cut_short) == (2, 4, 4, False)


def test_the_score_is_the_mean_over_the_folds():
    wrong = [*GOOD, fold([0.9, 0.1], [0, 1])]
    assert search({"sharpness": (1.0,)}, wrong, sure, roc_auc, NO_LIMIT).score == pytest.approx(2 / 3)


def test_of_equal_scores_the_higher_likelihood_wins():
    assert search({"sharpness": (0.1, 1.2, 0.2)}, GOOD, sure, roc_auc, NO_LIMIT).chosen == {"sharpness": 1.2}


def test_of_equals_in_all_the_earlier_wins():
    found = search({"sharpness": (0.5,), "z": (2, 1)}, GOOD, sure, roc_auc, NO_LIMIT)
    assert found.chosen == {"sharpness": 0.5, "z": 2}


def test_a_score_that_differs_by_rounding_alone_is_equal():
    def scores_in_another_order(x, y, settings):
        return settings["classifier"]

    values = iter([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    assert np.mean([0.1, 0.2, 0.3]) != np.mean([0.3, 0.2, 0.1])
    found = search(
        {"classifier": (Sure(1.0), Sure(0.5))},
        [GOOD[0]] * 3,
        scores_in_another_order,
        lambda y, probabilities: next(values),
        NO_LIMIT,
    )
    assert found.chosen == {"classifier": Sure(1.0)}


@pytest.mark.parametrize(
    ("fits_in_time", "tried", "chosen"), [(0, 0, -1.0), (1, 0, -1.0), (2, 1, -1.0), (3, 1, -1.0), (5, 2, 0.5)]
)
def test_when_the_time_is_up_the_best_so_far_is_chosen(monkeypatch, fits_in_time, tried, chosen):
    clock = iter([False] * fits_in_time + [True])
    monkeypatch.setattr(Deadline, "is_past", property(lambda self: next(clock)))
    found = search({"sharpness": (-1.0, 0.5, 1.0)}, GOOD, sure, roc_auc, Deadline(1.0))
    assert (found.chosen, found.num_tried, found.cut_short) == ({"sharpness": chosen}, tried, True)
    assert (found.score is None) == (tried == 0)


def test_without_folds_the_first_setting_is_chosen():
    found = search({"sharpness": (0.3, 0.9)}, [], sure, roc_auc, NO_LIMIT)
    assert (found.chosen, found.score, found.num_tried, found.cut_short) == ({"sharpness": 0.3}, None, 0, False)


def test_the_scores_are_these():
    y = np.array([0, 2, 1, 1])
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.6, 0.1], [0.4, 0.3, 0.3]])
    assert accuracy(y, p) == 0.5
    assert log_likelihood(y, p) == pytest.approx(np.log([0.7, 0.4, 0.6, 0.3]).mean())
    of_each = [1.0, 0.75, 1.0]  # pairs in the right order: 3 of 3, 3 of 4, 3 of 3
    assert roc_auc(y, p) == pytest.approx(np.mean(of_each))
    assert roc_auc(np.array([0, 1, 1]), np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]])) == 0.75


def test_the_floor_keeps_sum_and_order():
    p = np.array([[1.0, 0.0, 0.0], [1 - 1e-9, 1e-9, 0.0], [0.2, 0.3, 0.5]], dtype=np.float32)
    kept = floored(p)
    assert kept.dtype == np.float64
    assert kept.min() >= FLOOR
    assert kept[1, 1] > kept[0, 1]
    assert_allclose(kept.sum(-1), 1, rtol=1e-15)
    assert_allclose(kept[2], [0.2, 0.3, 0.5], atol=2 * FLOOR)
