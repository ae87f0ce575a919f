import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from priorfit.baselines.tabular.columns import (
    check_categories,
    named_categories,
    one_hot_columns,
    standardized_columns,
)
from priorfit.errors import InputError

NAN = np.nan
X = np.array([[1.0, 3.0, 0.1], [NAN, 5.0, 0.1], [5.0, 3.0, 0.1]])


def encoded(encoder, x, rows=None):
    return encoder.fit(x).transform(x if rows is None else rows)


def test_numbers_are_standardised_as_by_scikit_learn():
    x = np.random.default_rng(0).normal(3.0, 50.0, size=(20, 4))
    queries = x[:5] + 7
    assert_allclose(encoded(standardized_columns((), 4), x, queries), StandardScaler().fit(x).transform(queries))


def test_a_missing_number_becomes_the_mean_of_the_fitted_rows():
    assert_allclose(encoded(standardized_columns((), 3), X)[:, 0], np.array([-1.0, 0.0, 1.0]) * 1.5**0.5)
    assert_array_equal(encoded(standardized_columns((), 3), X, np.full((1, 3), NAN)), np.zeros((1, 3)))


def test_a_column_that_does_not_vary_says_nothing_of_any_query():
    constant = encoded(standardized_columns((), 3), X, np.array([[1.0, 3.0, 1e6]]))
    assert constant[0, 2] == 0
    empty = encoded(standardized_columns((), 1), np.full((3, 1), NAN), np.array([[5.0]]))
    assert_array_equal(empty, [[0.0]])


def test_categories_are_one_hot_and_a_missing_one_is_its_own():
    x = np.array([[0.5, 7.0], [1.5, NAN], [2.5, 2.0]])
    assert_array_equal(
        encoded(one_hot_columns((1,), 2), x), [[0.5, 0, 1, 0], [1.5, 0, 0, 1], [2.5, 1, 0, 0]]
    )  # 2, 7, missing


def test_a_category_that_was_not_seen_has_no_column():
    rows = encoded(one_hot_columns((0,), 1), np.array([[0.0], [1.0]]), np.array([[3.0], [NAN]]))
    assert_array_equal(rows, np.zeros((2, 2)))


def test_trees_get_missing_numbers_as_they_are():
    assert_array_equal(encoded(one_hot_columns((), 3), X), X)


def test_catboost_gets_categories_as_names_beside_the_numbers():
    frame = encoded(named_categories((0,)), X)
    assert list(frame[0]) == ["1", "missing", "5"]
    assert_array_equal(frame[[1, 2]].to_numpy(), X[:, 1:])


def test_categories_must_be_whole_numbers_in_columns_of_x():
    check_categories(X, (0, 1))
    with pytest.raises(InputError, match="whole numbers or NaN"):
        check_categories(X, (2,))
    for column in (3, -1):
        with pytest.raises(InputError, match=r"categorical_features must be columns of x, 0 to 2; got"):
            check_categories(X, (column,))
