"""Estimators within the tools of scikit-learn: copies, pipelines, searches, frames."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from priorfit.estimators import PFNClassifier, PFNRegressor

GENERATOR = np.random.RandomState(0)
X = GENERATOR.randn(30, 3)
Y = X @ [1.0, 2.0, 3.0]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
LABELS = np.where(Y > 0, "high", "low")


@pytest.fixture
def regressor() -> PFNRegressor:
    return PFNRegressor(random_model(PADDED_REALS))


@pytest.fixture
def classifier() -> PFNClassifier:
    return PFNClassifier(random_model(PADDED_LABELS))


def test_a_fitted_estimator_answers_the_same_after_pickling(regressor, classifier):
    for estimator, y in ((regressor, Y), (classifier, LABELS)):
        estimator.fit(FRAME, y)
        again = pickle.loads(pickle.dumps(estimator))  # noqa: S301  our own
        np.testing.assert_array_equal(again.predict(FRAME), estimator.predict(FRAME))
        assert again.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_pickle_of_a_fitted_estimator_holds_the_weights(tmp_path):
    """So it answers the same where the folder is gone or another model has taken its name."""
    random_model(PADDED_REALS).save(tmp_path / "mine")
    fitted = PFNRegressor(tmp_path / "mine").fit(X, Y)
    expected, pickled = fitted.predict(X), pickle.dumps(fitted)
    (tmp_path / "mine").rename(tmp_path / "gone")
    np.testing.assert_array_equal(pickle.loads(pickled).predict(X), expected)  # noqa: S301


def test_a_pickle_of_an_unfitted_estimator_holds_the_name_alone():
    assert len(pickle.dumps(PFNRegressor("gp-rbf-1d"))) < 1_000


def test_a_clone_is_unfitted_and_fits_to_the_same(regressor):
    expected = regressor.fit(X, Y).predict(X)
    again = clone(regressor)
    with pytest.raises(NotFittedError):
        again.predict(X)
    np.testing.assert_array_equal(again.fit(X, Y).predict(X), expected)


def test_fitting_leaves_the_model_as_it_was(regressor):
    model = regressor.model
    weights, card = copy.deepcopy(model.state_dict()), model.card
    regressor.fit(X, Y).predict(X)
    assert regressor.model is regressor.model_ is model
    assert model.card is card
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_names_of_features_are_checked_as_scikit_learn_does(regressor):
    regressor.fit(FRAME, Y)
    assert regressor.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        regressor.predict(FRAME[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        regressor.predict(X)
    with pytest.raises(ValueError, match="X has 2 features, but PFNRegressor is expecting 3 features"):
        PFNRegressor(regressor.model).fit(X, Y).predict(X[:, :2])


def test_a_frame_answers_as_its_array(regressor, classifier):
    np.testing.assert_array_equal(regressor.fit(FRAME, pd.Series(Y)).predict(FRAME), regressor.fit(X, Y).predict(X))
    by_frame = classifier.fit(FRAME, pd.Series(LABELS)).predict_proba(FRAME)
    np.testing.assert_array_equal(by_frame, classifier.fit(X, LABELS).predict_proba(X))


@pytest.mark.parametrize("dtype", ["Float64", "int64", "boolean", "float32", object])
def test_columns_of_any_numeric_type_are_taken(regressor, dtype):
    frame = (FRAME > 0).astype(dtype)
    expected = regressor.fit((X > 0).astype(float), Y).predict((X > 0).astype(float))
    np.testing.assert_allclose(regressor.fit(frame, Y).predict(frame), expected, rtol=1e-5)


def test_a_pipeline_hands_on_standard_deviations_and_frames(regressor):
    pipeline = make_pipeline(StandardScaler(), regressor).set_output(transform="pandas").fit(FRAME, Y)
    mean, std = pipeline.predict(FRAME, return_std=True)
    assert mean.shape == std.shape == (30,)
    assert regressor.feature_names_in_.tolist() == ["a", "b", "c"]


def test_text_columns_are_encoded_in_a_pipeline(regressor):
    frame = FRAME.assign(colour=["red", "green", "blue"] * 10)
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    assert make_pipeline(encoder, regressor).fit(frame, Y).predict(frame).shape == (30,)


def test_transformed_targets_are_taken_back(regressor):
    model = TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp).fit(X, np.exp(Y))
    np.testing.assert_allclose(model.predict(X), np.exp(regressor.fit(X, Y).predict(X)))


def test_cross_validation_fits_each_fold(regressor, classifier):
    assert cross_val_score(regressor, X, Y, cv=3).shape == (3,)
    scores = cross_val_score(classifier, X, LABELS, cv=3, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    assert cross_val_predict(classifier, X, LABELS, cv=3, method="predict_proba").shape == (30, 2)


def test_a_grid_chooses_among_models_and_their_excess(classifier):
    small = random_model(PADDED_LABELS, trained_context=(0, 12))
    grid = {"model": [classifier.model, small], "too_many_rows": ["error", "subsample"]}
    search = GridSearchCV(classifier, grid, cv=2, error_score=0.0, scoring="accuracy")
    with pytest.warns(FitFailedWarning, match="this model was trained on at most 12 rows"):
        search.fit(X, LABELS)
    assert (search.cv_results_["mean_test_score"] == 0).sum() == 1
    assert search.predict(X).shape == (30,)


@pytest.mark.slow  # two processes that import everything anew
def test_two_processes_give_the_scores_of_one(regressor):
    one, two = (cross_val_score(regressor, X, Y, cv=2, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_allclose(two, one, rtol=1e-5)
