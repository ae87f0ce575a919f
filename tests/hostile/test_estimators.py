"""The estimators: what scikit-learn does not refuse, they answer rightly or refuse."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hostile.cases import CHANGED, QUERY, RIGHT, SKLEARN, WARNED, Case, X, Y, check, crossed, waves

from priorfit.estimators import PFNClassifier, PFNRegressor

INPUT, UNKNOWN = "`InputError`", "`UnknownModelError`"
X3 = np.random.RandomState(0).randn(12, 3)
LABELS = ["no", "yes"] * 6


@cache
def fitted() -> PFNRegressor:
    return PFNRegressor(waves()).fit(X, Y)


@cache
def classifier() -> PFNClassifier:
    return PFNClassifier("bnn-small").fit(X3, LABELS)


def regressed(x: object, y: object) -> object:
    return PFNRegressor(waves()).fit(x, y).predict(QUERY)


def classified(y: object, x: object = X3) -> object:
    return PFNClassifier("bnn-small").fit(x, y).predict_proba(X3)


BY_SKLEARN = (
    "None",
    "bytes",
    "a dict",
    "a set",
    "a generator",
    "a function",
    "a class",
    "complex numbers of numpy",
    "a record array",
    "infinity",
    "minus infinity",
    "rows of unequal length",
)
X_GETS = dict.fromkeys(BY_SKLEARN, SKLEARN) | {
    "an array of text": RIGHT,
    "a dict among numbers": "`CellTypeError`",
    "NaN": CHANGED,
    "None among numbers": CHANGED,
    "NA of pandas among numbers": CHANGED,
}
Y_SKLEARN = set(BY_SKLEARN) - {"a record array"} | {"text", "NaN", "None among numbers"}
Y_GETS = dict.fromkeys(Y_SKLEARN, SKLEARN) | {"an array of text": RIGHT}

OWN = [
    ("PFNRegressor", "type", "a number as model", lambda: PFNRegressor(3).fit(X, Y), INPUT),
    ("PFNRegressor", "type", "None as model", lambda: PFNRegressor(None).fit(X, Y), INPUT),
    ("PFNRegressor", "file", "a name that is none", lambda: PFNRegressor("gp").fit(X, Y), UNKNOWN),
    ("PFNRegressor", "type", "a model over classes", lambda: PFNRegressor("bnn-small").fit(X3, X3[:, 0]), INPUT),
    ("PFNClassifier", "type", "a model over reals", lambda: PFNClassifier(waves()).fit(X, [0, 1] * 3), INPUT),
    (
        "PFNRegressor",
        "type",
        "a choice that is none",
        lambda: PFNRegressor(waves(), too_many_rows="all").fit(X, Y),
        INPUT,
    ),
    ("PFNRegressor", "type", "None as a choice", lambda: PFNRegressor(waves(), too_many_columns=None).fit(X, Y), INPUT),
    (
        "PFNRegressor",
        "type",
        "text as random_state",
        lambda: PFNRegressor(waves(), random_state="a").fit(X, Y),
        SKLEARN,
    ),
    ("PFNRegressor", "type", "predict before fit", lambda: PFNRegressor(waves()).predict(X), SKLEARN),
    ("PFNRegressor", "type", "surprise before fit", lambda: PFNRegressor(waves()).surprise(), SKLEARN),
    ("PFNRegressor", "size", "too many rows", lambda: regressed(np.tile(X, (40, 1)), np.tile(Y, 40)), CHANGED),
    ("PFNRegressor", "size", "too many columns", lambda: regressed(np.hstack([X, X]), Y), INPUT),
    ("PFNRegressor", "size", "no rows", lambda: regressed(X[:0], Y[:0]), SKLEARN),
    ("PFNRegressor", "shape", "y of two columns", lambda: regressed(X, np.stack([Y, Y], axis=1)), SKLEARN),
    ("PFNRegressor", "shape", "x and y of unequal length", lambda: regressed(X, Y[:5]), SKLEARN),
    ("PFNRegressor", "shape", "queries of other columns", lambda: fitted().predict(X3), SKLEARN),
    ("PFNRegressor", "range", "targets of 1e300", lambda: regressed(X, Y * 1e300), INPUT),
    ("PFNRegressor", "range", "columns of 1e300", lambda: regressed(X * 1e300, Y), INPUT),
    ("PFNRegressor", "range", "columns outside of the trained interval", lambda: regressed(X + 4, Y), WARNED),
    ("PFNRegressor", "range", "targets in other units", lambda: regressed(X, 1000 * Y), WARNED),
    ("PFNRegressor", "range", "a quantile above 1", lambda: fitted().predict_quantiles(X, [0.5, 95]), INPUT),
    ("PFNRegressor", "range", "a quantile of 0", lambda: fitted().predict_quantiles(X, [0.0]), INPUT),
    ("PFNRegressor", "NaN", "NaN as quantile", lambda: fitted().predict_quantiles(X, [np.nan]), INPUT),
    ("PFNRegressor", "type", "one quantile without a list", lambda: fitted().predict_quantiles(X, 0.5), INPUT),
    ("PFNRegressor", "type", "text as quantiles", lambda: fitted().predict_quantiles(X, ["low"]), INPUT),
    ("PFNRegressor", "type", "None as quantiles", lambda: fitted().predict_quantiles(X, None), INPUT),
    ("PFNRegressor", "size", "no quantiles", lambda: fitted().predict_quantiles(X, []), INPUT),
    (
        "PFNRegressor",
        "type",
        "one that was pickled",
        lambda: pickle.loads(pickle.dumps(fitted())).predict(QUERY),  # noqa: S301  its own pickle
        RIGHT,
        lambda: fitted().predict(QUERY),
    ),
    (
        "PFNRegressor",
        "type",
        "frames of other names in predict",
        lambda: (
            PFNRegressor(waves()).fit(pd.DataFrame(X, columns=["a"]), Y).predict(pd.DataFrame(QUERY, columns=["b"]))
        ),
        SKLEARN,
    ),
    ("PFNClassifier", "type", "text labels", lambda: classified(LABELS), RIGHT, lambda: classified([0, 1] * 6)),
    (
        "PFNClassifier",
        "dtype",
        "truth values as labels",
        lambda: classified([False, True] * 6),
        RIGHT,
        lambda: classified([0, 1] * 6),
    ),
    (
        "PFNClassifier",
        "dtype",
        "labels as objects",
        lambda: classified(np.array(LABELS, dtype=object)),
        RIGHT,
        lambda: classified([0, 1] * 6),
    ),
    (
        "PFNClassifier",
        "dtype",
        "whole numbers as floats",
        lambda: classified([0.0, 1.0] * 6),
        RIGHT,
        lambda: classified([0, 1] * 6),
    ),
    (
        "PFNClassifier",
        "dtype",
        "labels of two types",
        lambda: classified(np.array(["no", 1] * 6, dtype=object)),
        INPUT,
    ),
    ("PFNClassifier", "dtype", "reals as labels", lambda: classified(X3[:, 0]), SKLEARN),
    ("PFNClassifier", "NaN", "NaN as a label", lambda: classified([0, 1] * 5 + [np.nan, 1]), SKLEARN),
    (
        "PFNClassifier",
        "NaN",
        "None as a label",
        lambda: classified(np.array(["no", "yes"] * 5 + [None, "yes"], dtype=object)),
        INPUT,
    ),
    ("PFNClassifier", "range", "classes K + 1", lambda: classified([0, 1, 2] * 4), INPUT),
    ("PFNClassifier", "range", "one class", lambda: classified(["no"] * 12), RIGHT, lambda: np.ones((12, 1))),
    (
        "PFNClassifier",
        "range",
        "labels -1 and 1",
        lambda: classified([-1, 1] * 6),
        RIGHT,
        lambda: classified([0, 1] * 6),
    ),
    (
        "PFNClassifier",
        "type",
        "predict_proba before fit",
        lambda: PFNClassifier("bnn-small").predict_proba(X3),
        SKLEARN,
    ),
    ("PFNClassifier", "shape", "labels as a column", lambda: classified(np.array([[0], [1]] * 6)), SKLEARN),
    ("PFNClassifier", "NaN", "NaN in a query", lambda: classifier().predict(X3 * np.nan), CHANGED),
]

CASES = [
    *crossed("PFNRegressor.fit (X)", X, lambda x: regressed(x, Y), X_GETS),
    *crossed("PFNRegressor.fit (y)", Y, lambda y: regressed(X, y), Y_GETS),
    *crossed("PFNRegressor.predict", QUERY, lambda x: fitted().predict(x), X_GETS),
    *(Case(*own) for own in OWN),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tables_of_rows(case: Case) -> None:
    check(case)
