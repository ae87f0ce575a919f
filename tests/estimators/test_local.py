"""Contexts of rows near to a query."""

import numpy as np
import pandas as pd
import pytest
from estimators.stand_in import StandIn
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model

from priorfit.data import Real
from priorfit.errors import InputError
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.local import NEAR_SHARE, Coordinates, context_rows
from priorfit.network import RiemannHead

GENERATOR = np.random.RandomState(0)
X = GENERATOR.randn(300, 2)
Y = np.sin(3 * X[:, 0])


def test_a_context_holds_the_nearest_rows_random_others_and_each_class():
    distance = np.arange(100.0)
    rows = context_rows(distance, 20, None, np.random.RandomState(0))
    near = int(NEAR_SHARE * 20)
    assert len(set(rows)) == 20 and set(range(near)) <= set(rows) and (rows >= near).sum() == 20 - near
    labels = np.array([0] * 98 + [1, 2])
    kept = context_rows(distance, 20, labels, np.random.RandomState(0))
    assert len(set(kept)) == 20 and {98, 99} <= set(kept)
    with pytest.raises(InputError, match="2 rows, .* cannot hold 3 classes"):
        context_rows(distance, 2, labels, np.random.RandomState(0))


def test_coordinates_are_in_standard_units_and_a_level_is_an_axis():
    x = np.array([[0.0, 0.0], [10.0, 1.0], [20.0, 1.0], [np.nan, np.nan]])
    points = Coordinates.of(x, [None, 2]).points(x)
    np.testing.assert_allclose(points[:, 0], [-(1.5**0.5), 0, 1.5**0.5, 0])
    np.testing.assert_array_equal(points[:, 1:], [[1, 0], [0, 1], [0, 1], [0, 0]])
    assert Coordinates.of(x[:, 1:], [99]).points(x[:, 1:]).shape == (4, 1)


@pytest.mark.parametrize("head", [None, RiemannHead(20)], ids=["mixture", "bars"])
def test_each_query_is_answered_by_the_context_of_its_centre(head):
    model = random_model(PADDED_REALS, trained_context=(0, 50), head=head)
    found = PFNRegressor(model, too_many_rows="local").fit(X, Y)
    posterior = found.posterior_
    assert len(posterior.rows) == 12 and all(len(rows) == 50 for rows in posterior.rows)
    points = posterior.coordinates.points(X[:9])
    mean = found.predict(X[:9])
    for query in range(9):
        home = ((points[query] - posterior.centres) ** 2).sum(1).argmin()
        rows = posterior.rows[home]
        alone = model.condition(X[rows], Y[rows]).predict(X[[query]]).mean
        np.testing.assert_allclose(mean[query], alone, rtol=1e-4, atol=1e-5)


def test_no_query_changes_the_answer_to_another():
    found = PFNRegressor(StandIn(Real()), too_many_rows="local").fit(X, Y)
    together = found.predict(X)
    np.testing.assert_allclose(np.concatenate([found.predict(X[[row]]) for row in range(20)]), together[:20])
    np.testing.assert_allclose(found.predict(X[::-1]), together[::-1])


def test_rare_classes_and_missing_values_are_in_every_context():
    y = np.array(["common"] * 297 + ["rare"] * 2 + ["single"])
    x = X.copy()
    x[::7, 1] = np.nan
    classifier = PFNClassifier(StandIn(), too_many_rows="local", n_estimators=2).fit(x, y)
    assert classifier.predict_proba(x).shape == (300, 3)
    np.testing.assert_allclose(classifier.predict_proba(x).sum(1), 1)


def test_ten_thousand_equal_rows_have_one_centre():
    x, y = np.zeros((10_000, 2)), np.arange(10_000) % 2
    model = random_model(PADDED_LABELS, trained_context=(0, 50))
    assert PFNClassifier(model, too_many_rows="local").fit(x, y).predict_proba(x[:3]).shape == (3, 2)


def test_near_rows_answer_better_than_random_ones_where_the_function_is_local():
    x = np.linspace(-3, 3, 400)[:, None]
    y = np.sin(6 * x[:, 0])
    errors = {
        choice: np.abs(PFNRegressor("tabular-regression-small", too_many_rows=choice).fit(x, y).predict(x) - y).mean()
        for choice in ("local", "subsample")
    }
    assert errors["local"] < 0.8 * errors["subsample"]


def test_frames_of_text_are_answered_locally():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.array(["u", "v", "w"])[np.arange(300) % 3]})
    with pytest.warns(match="most of which are near to it"):
        found = PFNClassifier(StandIn()).fit(frame, np.arange(300) % 2)
    assert found.predict(frame).shape == (300,)
