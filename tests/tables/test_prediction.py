import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from estimators.stand_in import StandIn
from estimators.tiny_models import PADDED_LABELS, PADDED_QUARTERS, PADDED_REALS, UNIT_SQUARE, random_model

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError, TableWarning
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.network import PFN
from priorfit.tables import (
    Answer,
    Excess,
    Question,
    answer_rows,
    answered,
    checked_levels,
    read_table,
    split_table,
    table_text,
)

LABELS = ("no", "yes", "maybe")


def question(target: list[object], columns: int = 2, seed: int = 0) -> Question:
    """A table whose rows have these targets, and three rows without."""
    x = np.random.RandomState(seed).rand(len(target) + 3, columns)
    table = pd.DataFrame(x, columns=[f"x{number}" for number in range(columns)]).astype(str)
    table["y"] = [*map(str, target), "", "", ""]
    return split_table(table, "data.csv")


def numbers(rows: int = 12) -> list[object]:
    return [500 + 30 * math.sin(row) for row in range(rows)]


@pytest.mark.parametrize("units", ["fixed", "free"])
@pytest.mark.parametrize("columns", [2, 5])
def test_python_estimator_and_table_agree_on_numbers(units, columns: int):
    model, asked = random_model(PADDED_REALS, units=units), question(numbers(), columns)
    answer = answered(model, asked, "data.csv")
    x, y, query_x = asked.context.to_numpy(), asked.target.astype(float).to_numpy(), asked.queries.to_numpy()
    estimator = PFNRegressor(model).fit(x, y)
    by_python = model.condition(x, y).predict(query_x)
    np.testing.assert_array_equal(estimator.predict(query_x), by_python.mean.double().numpy())
    rows = answer_rows(asked, answer, [0.1])
    np.testing.assert_allclose([row["mean"] for row in rows], by_python.mean.numpy(), rtol=1e-6)
    np.testing.assert_allclose([row["q0.1"] for row in rows], by_python.icdf(torch.tensor(0.1)).numpy(), rtol=1e-6)
    assert [row["row"] for row in rows] == [13, 14, 15]


@pytest.mark.parametrize("prior", [PADDED_LABELS, PADDED_QUARTERS], ids=["two classes", "four classes"])
def test_python_estimator_and_table_agree_on_labels(prior):
    model, asked = random_model(prior), question([row % 2 for row in range(12)], 3)
    answer = answered(model, asked, "data.csv")
    x, y, query_x = asked.context.to_numpy(), asked.target.astype(int).to_numpy(), asked.queries.to_numpy()
    estimator = PFNClassifier(model).fit(x, y)
    by_python = class_probs(model.condition(x, y).predict(query_x))[:, :2]
    by_python = by_python / by_python.sum(-1, keepdim=True)
    np.testing.assert_allclose(estimator.predict_proba(query_x), by_python.numpy(), rtol=1e-5)
    rows = answer_rows(asked, answer)
    np.testing.assert_allclose([[row["p_0"], row["p_1"]] for row in rows], by_python.numpy(), rtol=1e-5)


def test_labels_that_are_numbers_of_the_model_stay_them():
    model, x = random_model(PADDED_QUARTERS), np.random.RandomState(0).randn(12, 3)
    y = np.array([0, 2, 3] * 4)
    by_python = class_probs(model.condition(x, y).predict(x))[:, [0, 2, 3]]
    by_python = by_python / by_python.sum(-1, keepdim=True)
    np.testing.assert_allclose(PFNClassifier(model).fit(x, y).predict_proba(x), by_python.numpy(), rtol=1e-5)


TEXT = """size,colour,is_new,grade,y
{}
"""


def text_table(queries: int = 3) -> str:
    generator = np.random.RandomState(0)
    rows = [
        [
            "" if row in (2, 25) else f"{generator.randn():.6f}",
            "" if row == 3 else generator.choice(["red", "blue", "green"]),
            generator.choice(["True", "False"]),
            generator.choice(["3", "4", "5more"]),
            "" if row >= 24 else ["no", "yes", "maybe"][row % 3],
        ]
        for row in range(24 + queries)
    ]
    return TEXT.format("\n".join(map(",".join, rows)))


@pytest.mark.parametrize("model", [StandIn(), random_model(PADDED_QUARTERS)], ids=["missing", "no missing"])
@pytest.mark.filterwarnings("ignore::priorfit.errors.TableWarning")
def test_a_file_of_text_is_answered_as_its_frame_by_the_estimator_and_its_matrix_by_the_model(model, tmp_path):
    file = tmp_path / "data.csv"
    file.write_text(text_table())
    asked = split_table(read_table(file), "data.csv")
    rows = answer_rows(asked, answered(model, asked, "data.csv"))
    frame = pd.read_csv(file)
    context, queries = frame[frame["y"].notna()], frame[frame["y"].isna()].drop(columns="y")
    estimator = PFNClassifier(model).fit(context.drop(columns="y"), context["y"])
    by_estimator = estimator.predict_proba(queries)
    np.testing.assert_allclose([[row[f"p_{each}"] for each in estimator.classes_] for row in rows], by_estimator)
    shown, y = estimator.context_
    by_python = class_probs(model.condition(shown, y).predict(estimator.shown(queries)))[:, :3]
    np.testing.assert_allclose(by_estimator, by_python / by_python.sum(1, keepdim=True), rtol=1e-5)
    assert (rows[1]["size"], rows[1]["is_new"]) == (None, bool(queries["is_new"].iloc[1]))


def test_text_without_any_row_with_a_target_is_refused():
    asked = split_table(pd.DataFrame({"colour": ["red", "blue"], "y": ["", ""]}), "data.csv")
    with pytest.raises(InputError, match="data.csv has text in its columns and no row with a target"):
        answered(random_model(PADDED_REALS), asked, "data.csv")


def test_labels_may_be_text():
    asked = question([LABELS[row % 3] for row in range(12)])
    rows = answer_rows(asked, answered(random_model(PADDED_QUARTERS), asked, "data.csv"))
    assert list(rows[0])[3:] == ["class", "p_maybe", "p_no", "p_yes"]
    assert all(row["class"] in LABELS for row in rows)
    assert all(sum(row[f"p_{label}"] for label in LABELS) == pytest.approx(1) for row in rows)


@pytest.mark.parametrize("prior", [PADDED_REALS, UNIT_SQUARE, PADDED_QUARTERS], ids=["free", "fixed", "classes"])
@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")
def test_without_context_the_prior_answers(prior):
    model, asked = random_model(prior, units="fixed" if prior is UNIT_SQUARE else "free"), question([])
    rows = answer_rows(asked, answered(model, asked, "data.csv"))
    assert all(math.isfinite(value) for row in rows for value in row.values())


@pytest.mark.parametrize("cell", ["high", "inf"])
def test_a_target_that_is_no_number_is_named_by_row_and_column(cell: str):
    asked = question([1.0, cell, 2.0])
    with pytest.raises(InputError, match=r"data row 2, column 'y': expected a finite number, got '.*leave the target"):
        answered(random_model(PADDED_REALS), asked, "data.csv")


def test_too_many_rows_and_columns_are_the_users_choice():
    model = random_model(PADDED_REALS, trained_context=(0, 10))
    asked = question(numbers(20), columns=8)
    with pytest.raises(InputError, match="at most 10 rows; got 20.*subsample"):
        answered(model, asked, "data.csv", Excess(rows="error"))
    with pytest.raises(InputError, match="takes 1 to 6 columns; got 8.*select"):
        answered(model, asked, "data.csv", Excess(rows="subsample", columns="error"))
    with pytest.warns(TableWarning) as caught:
        local = answered(model, asked, "data.csv")
    assert [str(each.message).split(";")[0][:18] for each in caught] == ["this model takes 1", "this model was tra"]
    torch.testing.assert_close(
        local.predictor.condition(local.context_x, local.context_y).predict(local.query_x).mean, local.ppd.mean
    )
    answer = answered(model, asked, "data.csv", Excess("subsample", "select", random_state=3))
    assert (answer.context_x.shape, answer.query_x.shape) == ((10, 6), (3, 6))
    shown = model.condition(answer.context_x, answer.context_y).predict(answer.query_x)
    torch.testing.assert_close(shown.mean, answer.ppd.mean)


@pytest.mark.parametrize("column", ["row", "mean", "q0.5"])
def test_a_feature_named_as_a_column_of_the_answer_is_refused(column: str):
    table = pd.DataFrame({column: ["1", "2", "3"], "y": ["1", "2", ""]})
    asked = split_table(table, "data.csv")
    with pytest.raises(InputError, match=f"the feature column '{column}' is named as a column of the answer"):
        answer_rows(asked, answered(random_model(PADDED_REALS), asked, "data.csv"))


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.1, math.nan])
def test_a_quantile_that_is_no_probability_is_refused(level: float):
    with pytest.raises(InputError, match="a quantile must lie above 0 and below 1"):
        checked_levels([level])


def test_an_answer_that_is_not_finite_is_refused():
    asked = question(numbers())
    answer = answered(random_model(PADDED_REALS), asked, "data.csv")
    spoilt = Answer(
        answer.context_x, answer.context_y, answer.query_x, torch.distributions.Normal(torch.full((3,), torch.inf), 1.0)
    )
    with pytest.raises(InputError, match="data row 13: the model's mean is inf"):
        answer_rows(asked, spoilt)


def test_csv_and_json_hold_the_same_numbers():
    asked = question(numbers())
    rows = answer_rows(asked, answered(random_model(PADDED_REALS), asked, "data.csv"))
    lines = table_text(rows, "csv").splitlines()
    by_csv = [dict(zip(lines[0].split(","), map(float, line.split(",")), strict=True)) for line in lines[1:]]
    assert by_csv == json.loads(table_text(rows, "json"))


def released(name: str) -> PFN:
    import priorfit as pf

    return pf.load(name)


@pytest.mark.parametrize(
    "name", ["tabular-regression-small", "gp-rbf-5d", "gp-rbf-1d", "gp-hyper-5d", "gp-hyper-1d", "gp-rbf-1d-short"]
)
@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")
def test_every_door_of_a_released_model_of_numbers_gives_one_answer(name: str):
    model = released(name)
    for columns in {model.problem.fewest_features, model.problem.num_features}:
        scale, shift = (1e4, -3e3) if model.problem.units == "free" else (1.0, 0.0)
        asked = question([shift + scale * math.sin(row) for row in range(15)], columns)
        x, y, query_x = asked.context.to_numpy(), asked.target.astype(float).to_numpy(), asked.queries.to_numpy()
        by_python = model.condition(x, y).predict(query_x)
        by_table = answer_rows(asked, answered(model, asked, "data.csv"))
        by_estimator, spread = PFNRegressor(name).fit(x, y).predict(query_x, return_std=True)
        np.testing.assert_array_equal(by_estimator, by_python.mean.double().numpy())
        np.testing.assert_allclose([row["mean"] for row in by_table], by_estimator, rtol=1e-6)
        np.testing.assert_allclose([row["stddev"] for row in by_table], spread, rtol=1e-6)


@pytest.mark.parametrize("name", ["tabular-binary-small", "bnn-small", "bnn-large", "bnn-small-tanh", "bnn-large-tanh"])
@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")
def test_every_door_of_a_released_model_of_classes_gives_one_answer(name: str):
    model = released(name)
    for columns in {model.problem.fewest_features, model.problem.num_features}:
        asked = question([row % 2 for row in range(15)], columns)
        x, y, query_x = asked.context.to_numpy(), asked.target.astype(int).to_numpy(), asked.queries.to_numpy()
        by_python = class_probs(model.condition(x, y).predict(query_x)).numpy()
        np.testing.assert_array_equal(PFNClassifier(name).fit(x, y).predict_proba(query_x), by_python)
        by_table = answer_rows(asked, answered(model, asked, "data.csv"))
        np.testing.assert_allclose([[row["p_0"], row["p_1"]] for row in by_table], by_python, rtol=1e-6)
