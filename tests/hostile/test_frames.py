"""Frames and large tables through the estimators: text, categories, missing values, too much of everything."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from estimators.stand_in import StandIn
from hostile.cases import CHANGED, RIGHT, SKLEARN, WARNED, Case, check, tables

from priorfit.data import Real
from priorfit.estimators import PFNClassifier, PFNRegressor

INPUT = "`InputError`"
GENERATOR = np.random.RandomState(0)
NUMBER = GENERATOR.randn(24)
COLOUR = np.array(["red", "blue", "green"])[np.arange(24) % 3]
CODE = (np.arange(24) + 2) % 3 * 1.0  # of equally frequent levels by name: blue, green, red
Y = NUMBER + np.arange(24) % 3
LABELS = np.arange(24) % 2


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"a": NUMBER, "b": COLOUR}).assign(**columns)


@cache
def reading() -> StandIn:
    """A model that reads missing values and codes."""
    return StandIn(Real())


@cache
def fitted() -> PFNRegressor:
    return PFNRegressor(reading()).fit(frame(), Y)


def answered(x: object, model: object = None, query: object = None) -> object:
    """The answer of a model that reads missing values, if no other is given."""
    return PFNRegressor(model or reading()).fit(x, Y).predict(x if query is None else query)


def by_numbers(**columns: object) -> object:
    """The answer to the same frame with codes in place of names."""
    return answered(frame(b=CODE, **columns).to_numpy(dtype=float))


def classified(labels: object, **options: object) -> object:
    return PFNClassifier(StandIn(), **options).fit(frame(), labels).predict_proba(frame())


def large(rows: int, columns: int, **options: object) -> object:
    generator = np.random.RandomState(0)
    x = generator.randn(rows, columns)
    return PFNRegressor(tables(), **options).fit(x, x[:, 0]).predict(x[:20])


HOLE = np.where(np.arange(24) == 3, np.nan, NUMBER)
NO_DATE = pd.Timestamp("2026-01-01")

OWN = [
    ("type", "a text column", lambda: answered(frame()), RIGHT, by_numbers),
    ("type", "a categorical column", lambda: answered(frame(b=pd.Categorical(COLOUR))), RIGHT, by_numbers),
    ("type", "a column of bytes", lambda: answered(frame(b=[b"red"] * 24)), "`CellTypeError`"),
    ("type", "a column of lists", lambda: answered(frame(b=[[1]] * 24)), "`CellTypeError`"),
    ("type", "an array of objects", lambda: answered(frame().to_numpy(dtype=object)), RIGHT, by_numbers),
    ("type", "a list of rows with text", lambda: answered(frame().to_numpy(dtype=object).tolist()), RIGHT, by_numbers),
    ("type", "identifiers", lambda: answered(frame(b=[f"row {row}" for row in range(24)])), INPUT),
    ("type", "text among numbers", lambda: answered(frame(a=["red", *NUMBER[1:]])), INPUT),
    (
        "type",
        "text where training had numbers",
        lambda: fitted().predict(frame(a="red")),
        INPUT,
    ),
    ("type", "sample weights", lambda: PFNRegressor(reading()).fit(frame(), Y, sample_weight=np.ones(24)), INPUT),
    ("type", "None as n_estimators", lambda: classified(LABELS, n_estimators=None), INPUT),
    ("range", "0 as n_estimators", lambda: classified(LABELS, n_estimators=0), INPUT),
    (
        "dtype",
        "truth values in a column",
        lambda: answered(frame(c=NUMBER > 0)),
        RIGHT,
        lambda: by_numbers(c=(NUMBER > 0) * 1.0),
    ),
    (
        "dtype",
        "nullable numbers of pandas",
        lambda: answered(frame().astype({"a": "Float64"})),
        RIGHT,
        by_numbers,
    ),
    ("dtype", "a column of dates", lambda: answered(frame(c=NO_DATE)), INPUT),
    ("dtype", "a column of durations", lambda: answered(frame(c=NO_DATE - NO_DATE)), INPUT),
    ("dtype", "dates as objects", lambda: answered(frame(c=[NO_DATE.date()] * 24)), INPUT),
    ("NaN", "a missing number", lambda: answered(frame(a=HOLE)), RIGHT, lambda: by_numbers(a=HOLE)),
    (
        "NaN",
        "a missing number, a model without missing values",
        lambda: answered(frame(a=HOLE), tables()),
        CHANGED,
    ),
    ("NaN", "a missing name", lambda: answered(frame(b=[None, *COLOUR[1:]])), RIGHT),
    ("NaN", "a level that no training row has", lambda: fitted().predict(frame(b="pink")), CHANGED),
    ("NaN", "a column without any value", lambda: answered(frame(c=np.nan)), CHANGED),
    ("NaN", "a column of None", lambda: answered(frame(c=None)), CHANGED),
    ("NaN", "infinity in a frame with text", lambda: answered(frame(a=np.inf)), SKLEARN),
    ("shape", "columns in another order", lambda: fitted().predict(frame()[["b", "a"]]), SKLEARN),
    ("shape", "a column too few", lambda: fitted().predict(frame()[["a"]]), SKLEARN),
    ("shape", "a column too many", lambda: fitted().predict(frame(c=1.0)), SKLEARN),
    ("shape", "no columns", lambda: answered(frame()[[]]), SKLEARN),
    ("shape", "no rows", lambda: PFNRegressor(reading()).fit(frame()[:0], Y[:0]), SKLEARN),
    ("size", "one row", lambda: PFNRegressor(tables()).fit(frame()[:1], Y[:1]).predict(frame()[:1]), WARNED),
    ("size", "10,000 rows", lambda: large(10_000, 3), CHANGED),
    ("size", "10,000 rows, which are too many", lambda: large(10_000, 3, too_many_rows="error"), INPUT),
    ("size", "500 columns", lambda: large(50, 500), CHANGED),
    ("size", "500 columns, which are too many", lambda: large(50, 500, too_many_columns="error"), INPUT),
    ("range", "one class", lambda: classified(["only"] * 24), RIGHT, lambda: np.ones((24, 1))),
    ("range", "eleven classes", lambda: classified(np.arange(24) % 11), INPUT),
]

CASES = [Case("PFNRegressor and PFNClassifier (frames)", *own) for own in OWN]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_frames(case: Case) -> None:
    check(case)
