"""Frames of every kind through the estimators, for models that read missing values and codes and for others."""

import numpy as np
import pandas as pd
import pytest
import torch
from estimators.stand_in import StandIn
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model

from priorfit.data import Classes, Real
from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError, TableWarning
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.showing import one_hot_levels
from priorfit.network import ModelCard, Problem, TableSettings
from priorfit.seeding import seeded

GENERATOR = np.random.RandomState(0)
FRAME = pd.DataFrame(
    {
        "size": GENERATOR.randn(30),
        "colour": GENERATOR.choice(["red", "blue", "green"], 30),
        "is_new": GENERATOR.rand(30) > 0.5,
        "grade": pd.Categorical(GENERATOR.choice(["low", "high"], 30), ["low", "high"], ordered=True),
    }
)
Y = np.arange(30) % 3


def with_holes(frame: pd.DataFrame) -> pd.DataFrame:
    holed = frame.copy()
    holed.loc[[1, 4], "size"] = np.nan
    holed.loc[3, "colour"] = None
    return holed


def coded(frame: pd.DataFrame) -> np.ndarray:
    """The table as it is documented: codes by frequency, then name; the order of ordered ones; truth as 0 and 1."""
    levels = FRAME["colour"].value_counts().sort_index().sort_values(ascending=False, kind="stable").index.tolist()
    colour = [np.nan if value is None or value != value else levels.index(value) for value in frame["colour"]]
    grade = [["low", "high"].index(value) for value in frame["grade"]]
    return np.stack([frame["size"], colour, frame["is_new"].astype(float), grade], axis=1).astype(float)


def test_a_model_that_knows_missing_values_and_codes_gets_them():
    model = StandIn()
    expected = class_probs(model.condition(coded(FRAME), Y).predict(coded(with_holes(FRAME))))
    found = PFNClassifier(model).fit(FRAME, Y).predict_proba(with_holes(FRAME))
    np.testing.assert_allclose(found, expected)


def test_a_network_of_cells_answers_as_it_does_to_the_matrix():
    problem = Problem(20, Classes(10), min_features=1, units="free", missing=True, min_classes=2)
    with seeded(0):
        model = TableSettings(width=16, layers=1, feedforward=16).build(problem, ModelCard(trained_context=(2, 100)))
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.1 * torch.randn_like(weight))
    model, holed = model.frozen(), with_holes(FRAME)
    expected = class_probs(model.condition(coded(holed), Y).predict(coded(FRAME)))
    found = PFNClassifier(model).fit(holed, np.array(["a", "b", "c"])[Y]).predict_proba(FRAME)
    assert found.shape == (30, 3) and np.ptp(found, axis=0).min() > 1e-4
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_missing_values_in_training_are_not_imputed_away():
    model, y = StandIn(Real()), FRAME["size"].to_numpy()
    holed = with_holes(FRAME)
    expected = model.condition(coded(holed), y).predict(coded(FRAME)).mean
    np.testing.assert_allclose(PFNRegressor(model).fit(holed, y).predict(FRAME), expected)


def test_other_models_get_medians_and_one_column_a_level():
    model = random_model(PADDED_LABELS)
    plain = coded(FRAME)
    shown = np.column_stack([plain[:, 0], plain[:, [1]] == np.arange(3), plain[:, 2:]])
    expected = class_probs(model.condition(shown, Y % 2).predict(shown))
    np.testing.assert_allclose(PFNClassifier(model).fit(FRAME, Y % 2).predict_proba(FRAME), expected, rtol=1e-5)


def test_what_is_imputed_is_the_median_and_is_said_once():
    model, x = random_model(PADDED_REALS), GENERATOR.randn(20, 3)
    holed, y = x.copy(), x[:, 0]
    holed[[2, 5], 1] = np.nan
    filled = np.where(np.isnan(holed), np.nanmedian(holed, axis=0), holed)
    with pytest.warns(
        TableWarning, match="no token for missing values: 2 of them in column '1' become the median"
    ) as all_:
        found = PFNRegressor(model).fit(holed, y)
    assert len(all_) == 1
    np.testing.assert_array_equal(found.predict(x), PFNRegressor(model).fit(filled, y).predict(x))
    with pytest.warns(TableWarning, match="1 of them in column '0'"):
        found.predict([[np.nan, 1.0, 1.0]])


def test_a_level_without_column_is_none_of_those_that_have_one():
    classifier = PFNClassifier(random_model(PADDED_LABELS)).fit(FRAME, Y % 2)
    with pytest.warns(TableWarning, match="column 'colour' has the level 'pink', which no training row has"):
        shown = classifier.shown(FRAME.assign(colour="pink"))
    assert (shown[:, 1:4] == 0).all() and shown.shape == (30, 6)


def test_levels_stay_codes_where_the_model_has_no_columns_for_them():
    assert one_hot_levels([3, None, None, None, None], most=6) == [None] * 5
    frame = FRAME.assign(a=FRAME["size"], b=FRAME["size"])
    shown = PFNClassifier(random_model(PADDED_LABELS)).fit(frame, Y % 2).context_[0]
    np.testing.assert_array_equal(shown[:, 1], coded(FRAME)[:, 1])


def test_columns_are_held_to_their_names():
    classifier = PFNClassifier(StandIn()).fit(FRAME, Y)
    for wrong in (FRAME[["colour", "size", "is_new", "grade"]], FRAME.drop(columns="size"), FRAME.assign(more=1)):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            classifier.predict(wrong)


def test_an_array_of_objects_answers_as_its_frame():
    classifier = PFNClassifier(StandIn())
    frame = FRAME.drop(columns="grade")
    array = frame.to_numpy(dtype=object)
    expected = classifier.fit(frame, Y).predict_proba(frame)
    np.testing.assert_array_equal(classifier.fit(array, Y).predict_proba(array), expected)
    rows = array.tolist()
    np.testing.assert_array_equal(classifier.fit(rows, Y).predict_proba(rows), expected)


def test_the_type_of_numbers_does_not_matter():
    frame = pd.DataFrame({"a": FRAME["size"], "b": np.arange(30)})
    expected = PFNClassifier(StandIn()).fit(frame, Y).predict_proba(frame)
    for same in (frame.astype({"b": "Int64"}), frame.astype("Float64"), frame.astype(object), frame.astype(str)):
        np.testing.assert_allclose(PFNClassifier(StandIn()).fit(same, Y).predict_proba(same), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [StandIn(Real()), random_model(PADDED_REALS)], ids=["missing", "no missing"])
def test_columns_without_any_value_are_constant(kind):
    x = np.column_stack([FRAME["size"], np.full(30, np.nan)])
    with pytest.warns(TableWarning, match="column '1' has no value"):
        regressor = PFNRegressor(kind).fit(x, Y)
    expected = PFNRegressor(kind).fit(np.nan_to_num(x), Y).predict(np.nan_to_num(x))
    np.testing.assert_array_equal(regressor.predict(np.nan_to_num(x, nan=7.0)), expected)


def test_a_fit_of_text_that_fails_is_explained():
    with pytest.raises(InputError, match="column 'when' holds dates"):
        PFNClassifier(StandIn()).fit(FRAME.assign(when=pd.Timestamp("2026-01-01")), Y)
    with pytest.raises(ValueError, match="infinity"):
        PFNClassifier(StandIn()).fit(FRAME.assign(size=np.inf), Y)


@pytest.mark.parametrize("weights", [np.ones(30), [1.0] * 30])
def test_weights_of_rows_are_refused(weights):
    with pytest.raises(InputError, match="PFNClassifier.fit takes X and y alone; got sample_weight.*repeat rows"):
        PFNClassifier(StandIn()).fit(FRAME, Y, sample_weight=weights)
    PFNClassifier(StandIn()).fit(FRAME, Y, sample_weight=None)


@pytest.mark.parametrize("labels", [[0, 4, 9], ["a", "b", "c"], [-1, 0, 5]])
def test_a_model_of_any_number_of_classes_answers_for_those_of_the_table(labels):
    expected = PFNClassifier(StandIn()).fit(FRAME, Y)
    found = PFNClassifier(StandIn()).fit(FRAME, np.array(labels)[Y])
    assert found.predict_distribution(FRAME).probs.shape == (30, 3)
    np.testing.assert_array_equal(found.predict_proba(FRAME), expected.predict_proba(FRAME))


def test_one_class_is_certain_and_eleven_are_refused():
    np.testing.assert_array_equal(
        PFNClassifier(StandIn()).fit(FRAME, ["a"] * 30).predict_proba(FRAME), np.ones((30, 1))
    )
    with pytest.raises(InputError, match="This model knows 10 classes; y has 11"):
        PFNClassifier(StandIn()).fit(FRAME, np.arange(30) % 11)


def test_the_distribution_of_a_regression_is_in_the_units_of_y():
    ppd = PFNRegressor(StandIn(Real())).fit(FRAME, 5.0 + FRAME["size"]).predict_distribution(FRAME)
    assert ppd.mean.dtype == torch.float64 and 4 < float(ppd.mean.mean()) < 6
