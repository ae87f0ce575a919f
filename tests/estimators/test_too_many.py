import numpy as np
import pytest
from estimators.tiny_models import PADDED_LABELS, PADDED_QUARTERS, PADDED_REALS, UNIT_SQUARE, random_model
from sklearn.feature_selection import f_classif, r_regression

from priorfit.errors import InputError, OutsideTrainingWarning, TableWarning
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.too_many import explained, explained_by_classes, explained_by_levels, explained_by_line

SMALL = (0, 30)


def table(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(0)
    x = generator.randn(rows, features)
    return x, x[:, 0] + 0.1 * generator.randn(rows)


def test_more_rows_than_trained_for_are_an_error_that_names_the_choices():
    x, y = table(31, 2)
    with pytest.raises(InputError, match="at most 30 rows; got 31.*too_many_rows='local'.*'subsample'.*'use_all'"):
        PFNRegressor(random_model(PADDED_REALS, trained_context=SMALL), too_many_rows="error").fit(x, y)


def test_more_rows_than_trained_for_are_warned_of_once_where_nobody_chose():
    x, y = table(70, 2)
    model = random_model(PADDED_REALS, trained_context=SMALL)
    with pytest.warns(TableWarning, match="at most 30 rows; got 70. Each query is answered from 30.*'local'") as caught:
        default = PFNRegressor(model).fit(x, y)
    assert len(caught) == 1
    chosen = PFNRegressor(model, too_many_rows="local").fit(x, y)
    np.testing.assert_array_equal(default.predict(x), chosen.predict(x))
    assert len(chosen.rows_) == 70


def test_as_many_rows_as_trained_for_are_all_taken():
    x, y = table(30, 2)
    regressor = PFNRegressor(random_model(PADDED_REALS, trained_context=SMALL)).fit(x, y)
    assert regressor.rows_.tolist() == list(range(30))


def test_a_model_that_does_not_say_what_it_was_trained_on_takes_all_rows():
    x, y = table(500, 2)
    assert len(PFNRegressor(random_model(PADDED_REALS, trained_context=None)).fit(x, y).rows_) == 500


def test_a_subsample_answers_as_its_rows_alone_do():
    x, y = table(100, 2)
    model = random_model(PADDED_REALS, trained_context=SMALL)
    part = PFNRegressor(model, too_many_rows="subsample", random_state=3).fit(x, y)
    assert len(set(part.rows_)) == 30
    alone = PFNRegressor(model).fit(x[part.rows_], y[part.rows_])
    np.testing.assert_array_equal(part.predict(x), alone.predict(x))


def test_the_subsample_is_that_of_the_seed():
    x, y = table(100, 2)
    model = random_model(PADDED_REALS, trained_context=SMALL)
    rows = [
        PFNRegressor(model, too_many_rows="subsample", random_state=seed).fit(x, y).rows_.tolist() for seed in (0, 0, 1)
    ]
    assert rows[0] == rows[1] != rows[2]


def test_a_subsample_of_classes_keeps_some_of_each():
    x, _ = table(1000, 2)
    y = np.array(["common"] * 997 + ["rare"] * 2 + ["single"])
    model = random_model(PADDED_QUARTERS, trained_context=SMALL)
    for seed in range(5):
        classifier = PFNClassifier(model, too_many_rows="subsample", random_state=seed).fit(x, y)
        assert len(classifier.rows_) == 30
        assert set(y[classifier.rows_]) == {"common", "rare", "single"}


def test_a_subsample_too_small_for_the_classes_is_refused():
    x, _ = table(10, 2)
    model = random_model(PADDED_QUARTERS, trained_context=(0, 3))
    with pytest.raises(InputError, match="3 rows.*cannot hold 4 classes"):
        PFNClassifier(model, too_many_rows="subsample").fit(x, np.arange(10) % 4)


def test_all_rows_are_used_with_a_warning():
    x, y = table(31, 2)
    regressor = PFNRegressor(random_model(PADDED_REALS, trained_context=SMALL), too_many_rows="use_all")
    with pytest.warns(OutsideTrainingWarning, match="trained on contexts of 0 to 30 points and is asked about 31"):
        regressor.fit(x, y)
    assert len(regressor.rows_) == 31


def test_more_features_than_the_model_takes_are_an_error_that_names_the_choices():
    x, y = table(20, 7)
    with pytest.raises(InputError, match=r"takes 1 to 6 columns; got 7.*too_many_columns='select'"):
        PFNRegressor(random_model(PADDED_REALS), too_many_columns="error").fit(x, y)


def test_more_features_are_selected_with_a_warning_where_nobody_chose():
    x, y = table(20, 7)
    with pytest.warns(TableWarning, match=r"takes 1 to 6 columns; got 7. The 6 that explain most of y.*'select'"):
        default = PFNRegressor(random_model(PADDED_REALS)).fit(x, y)
    chosen = PFNRegressor(random_model(PADDED_REALS), too_many_columns="select").fit(x, y)
    np.testing.assert_array_equal(default.predict(x), chosen.predict(x))


@pytest.mark.parametrize("features", [1, 3])
def test_a_model_without_padding_takes_its_own_number_of_features(features: int):
    x, y = table(20, features)
    with pytest.raises(InputError, match=rf"takes 2 columns; got {features} feature\(s\)"):
        PFNRegressor(random_model(UNIT_SQUARE)).fit(x, y)


def test_selected_features_are_those_that_tell_most_and_answer_alone():
    x, _ = table(50, 9)
    x[:, 4] = 1.0
    y = x[:, [8, 1, 5, 0, 7, 2]] @ [3.0, -4.0, 5.0, 6.0, -7.0, 8.0]
    model = random_model(PADDED_REALS)
    regressor = PFNRegressor(model, too_many_columns="select").fit(x, y)
    assert regressor.columns_.tolist() == [0, 1, 2, 5, 7, 8]
    assert regressor.n_features_in_ == 9
    alone = PFNRegressor(model).fit(x[:, [0, 1, 2, 5, 7, 8]], y)
    np.testing.assert_array_equal(regressor.predict(x), alone.predict(x[:, [0, 1, 2, 5, 7, 8]]))


def test_a_column_that_tells_the_classes_apart_is_selected():
    x, _ = table(60, 12)
    y = np.arange(60) % 2
    x[:, 10] += 3 * y
    classifier = PFNClassifier(random_model(PADDED_LABELS), too_many_columns="select").fit(x, y)
    assert 10 in classifier.columns_
    assert len(classifier.columns_) == 6


def test_the_scores_of_columns_are_those_of_scikit_learn():
    x, y = table(40, 5)
    labels = np.arange(40) % 3
    np.testing.assert_allclose(explained_by_line(x, y), r_regression(x, y) ** 2)
    f, _ = f_classif(x, labels)
    np.testing.assert_allclose(explained_by_classes(x, labels), f * 2 / (f * 2 + 37))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_scores_of_columns_do_not_depend_on_their_units(size: float):
    x, y = table(40, 5)
    labels = np.arange(40) % 2
    np.testing.assert_allclose(explained_by_line(x * size, y / size), explained_by_line(x, y))
    np.testing.assert_allclose(explained_by_classes(x * size, labels), explained_by_classes(x, labels))


def test_a_constant_column_or_target_tells_nothing():
    x = np.ones((10, 2))
    assert (explained_by_line(x, np.arange(10.0)) == 0).all()
    assert (explained_by_line(np.arange(20.0).reshape(10, 2), np.ones(10)) == 0).all()
    assert (explained_by_classes(x, np.arange(10) % 2) == 0).all()


def test_levels_explain_what_a_regression_on_their_indicators_does():
    """The adjusted share of variance of least squares, which numpy solves."""
    generator = np.random.RandomState(0)
    codes, noise = generator.randint(4, size=60), generator.randn(60)
    y = (np.array([0.0, 2.0, -1.0, 0.0])[codes] + noise)[:, None]
    indicators = np.eye(4)[codes]
    residual = y - indicators @ np.linalg.lstsq(indicators, y)[0]
    expected = 1 - (residual.var() * 60 / 56) / (y.var() * 60 / 59)
    assert explained_by_levels(codes.astype(float), y) == pytest.approx(expected)
    assert abs(explained_by_levels(codes.astype(float), noise[:, None])) < 0.1
    assert explained_by_levels(np.arange(60.0), y) == 0


def test_nominal_columns_and_missing_values_have_their_scores():
    generator = np.random.RandomState(0)
    codes = generator.randint(5, size=80)
    labels = np.eye(3)[np.array([0, 2, 1, 0, 2])[codes]]
    useless = np.where(np.arange(80) % 3 == 0, np.nan, generator.randn(80))
    scores = explained(np.stack([useless, codes, np.full(80, np.nan)], axis=1), labels, [None, 5, None])
    assert scores[1] == pytest.approx(1)
    assert scores[0] < 0.2 and scores[2] == 0


@pytest.mark.parametrize("name", ["too_many_rows", "too_many_columns"])
@pytest.mark.usefixtures("as_users_run_it")
def test_a_choice_that_does_not_exist_is_refused(name: str):
    with pytest.raises(InputError, match=f"{name} must be one of 'auto', .*; got 'ignore'"):
        PFNRegressor(random_model(PADDED_REALS), **{name: "ignore"}).fit(*table(5, 2))
