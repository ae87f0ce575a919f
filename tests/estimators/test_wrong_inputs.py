"""What wrong inputs get. The table of docs/estimators.md is held to these cases, word for word."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from estimators.tiny_models import PADDED_QUARTERS, PADDED_REALS, random_model
from scipy.sparse import csr_array

from priorfit.estimators import PFNClassifier, PFNRegressor

PAGE = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)[2:]
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)

Question = tuple[object, object, object]
"""Training rows, targets, and rows to predict."""

COLOURS = ["red", "blue", "green", "red"] * 5


def table(rows: int = 20, features: int = 3, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return np.random.RandomState(0).randn(rows, features), np.arange(rows) % classes


def with_value(value: float) -> Question:
    x, y = table()
    spoilt = x.copy()
    spoilt[3, 1] = value
    return spoilt, y, x


def with_column(values: object, later: object = None) -> Question:
    x, y = table()
    train, asked = pd.DataFrame(x[:, :2]).assign(more=values), pd.DataFrame(x[:, :2]).assign(more=values)
    for each in (train, asked):
        each.columns = ["a", "b", "more"]
    return train, y, asked if later is None else asked.assign(more=later)


def with_missing_target() -> Question:
    x, y = table()
    return x, np.where(y == 1, np.nan, 0.0), x


def with_constant_column() -> Question:
    x, y = table()
    x[:, 2] = 5.0
    return x, y, x


def asked(x: object, y: object) -> Question:
    return x, y, x


CASES: dict[str, Callable[[], Question]] = {
    "NaN in X": lambda: with_value(np.nan),
    "infinity in X": lambda: with_value(np.inf),
    "NaN in y": with_missing_target,
    "a text column": lambda: with_column(COLOURS),
    "a level that no training row has": lambda: with_column(COLOURS, "pink"),
    "a column without any value": lambda: with_column(None),
    "a column of dates": lambda: with_column(pd.Timestamp("2026-01-01")),
    "a column of identifiers": lambda: with_column([f"customer {row}" for row in range(20)]),
    "text among numbers": lambda: with_column(["?", *np.linspace(0, 1, 19)]),
    "a column of objects": lambda: with_column([{}] * 20),
    "no rows": lambda: asked(np.empty((0, 3)), []),
    "no columns": lambda: asked(np.empty((20, 0)), table()[1]),
    "one row": lambda: asked(table()[0][:1], [1]),
    "one class": lambda: asked(table()[0], [1] * 20),
    "a constant column": with_constant_column,
    "a constant target": lambda: asked(table()[0], [1] * 20),
    "10,000 rows": lambda: asked(*table(rows=10_000)),
    "500 columns": lambda: asked(*table(features=500)),
    "too many classes": lambda: asked(*table(classes=5)),
    "other columns in predict": lambda: (*table(), table()[0][:, :2]),
    "a one-dimensional X": lambda: asked(table()[1], table()[1]),
    "a sparse X": lambda: asked(csr_array(table()[0]), table()[1]),
    "values beyond float32": lambda: with_value(1e39),
}


def answer_of(estimator: PFNRegressor | PFNClassifier, question: Question) -> np.ndarray:
    train_x, train_y, query_x = question
    return estimator.fit(train_x, train_y).predict(query_x)


@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning", "ignore::priorfit.errors.TableWarning")
@pytest.mark.parametrize(("case", "outcome"), ROWS, ids=[case for case, _ in ROWS])
@pytest.mark.parametrize("kind", [PFNRegressor, PFNClassifier])
def test_the_page_tells_what_an_input_gets(kind: type, case: str, outcome: str):
    prior = PADDED_REALS if kind is PFNRegressor else PADDED_QUARTERS
    estimator = kind(random_model(prior, units="fixed" if case == "values beyond float32" else "free"))
    if outcome.startswith("an answer") or (kind is PFNRegressor and case == "too many classes"):
        answer = answer_of(estimator, CASES[case]())
        assert len(answer) > 0
        assert np.isfinite(answer).all()
        return
    message = outcome.strip("`").replace("PFNClassifier", kind.__name__)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        answer_of(estimator, CASES[case]())


def test_the_page_has_every_case():
    assert [case for case, _ in ROWS] == list(CASES)


def test_questions_are_checked_as_training_rows_are():
    wrong, y, right = with_value(np.inf)
    fitted = PFNRegressor(random_model(PADDED_REALS)).fit(right, y)
    with pytest.raises(ValueError, match="contains infinity"):
        fitted.predict(wrong)
    with pytest.raises(ValueError, match="column '1' held numbers in the training rows; got the text 'red'"):
        fitted.predict([[0.5, "red", 1.0]])


@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")
@pytest.mark.parametrize("units", ["fixed", "free"])
def test_one_row_is_predicted_with_a_spread(units):
    mean, std = (
        PFNRegressor(random_model(PADDED_REALS, units=units)).fit([[1.0, 2.0]], [5.0]).predict([[1.0, 2.5]], True)
    )
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning", "ignore::priorfit.errors.TableWarning")
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_code_of_the_page_runs(block: str):
    exec(compile(block, "estimators.md", "exec"), {"__name__": "page"})
