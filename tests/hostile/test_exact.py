"""`pf.exact` and the exact predictors: they take what the network takes."""

import numpy as np
import pytest
from hostile.cases import QUERY, RIGHT, Case, X, Y, check, crossed

import priorfit as pf

GP = pf.GaussianProcess(num_features=1)
LINEAR = pf.LinearRegression(num_features=1)
COINS = pf.BetaBernoulli()
MIXTURE = pf.Mixture([GP, pf.GaussianProcess(num_features=1, lengthscale=0.1)])
SHAPE, INPUT = "`ShapeError`", "`InputError`"
BITS = [0, 1, 1, 0, 1, 1]


def given(x: object, y: object, query_x: object = QUERY, prior: pf.Prior = GP) -> object:
    return pf.exact(prior).condition(x, y).predict(query_x)


OWN = [
    ("type", "a number as prior", lambda: pf.exact(3), INPUT),
    ("type", "a function as prior", lambda: pf.exact(np.sin), INPUT),
    ("type", "a class as prior", lambda: pf.exact(pf.GaussianProcess), INPUT),
    ("type", "a prior without an exact answer", lambda: pf.exact(pf.HyperGaussianProcess()), INPUT),
    ("type", "None as prior", lambda: pf.exact(None), INPUT),
    ("shape", "x without its axis of columns", lambda: given(X[:, 0], Y), SHAPE),
    ("shape", "two columns", lambda: given(np.hstack([X, X]), Y), SHAPE),
    ("shape", "x and y of unequal length", lambda: given(X, Y[:5]), SHAPE),
    ("shape", "queries of two columns", lambda: given(X, Y, np.hstack([QUERY, QUERY])), SHAPE),
    ("shape", "another batch of queries", lambda: given(X, Y, QUERY[None]), SHAPE),
    ("size", "no points", lambda: given(X[:0], Y[:0]).stddev, RIGHT, lambda: np.full(4, (1 + 1e-4) ** 0.5)),
    ("size", "no queries", lambda: given(X, Y, QUERY[:0]), RIGHT),
    (
        "size",
        "the same point 200 times",
        lambda: given(np.full((200, 1), 0.5), np.full(200, 0.3), [[0.5]]).mean,
        RIGHT,
        lambda: np.array([0.3]),
    ),
    ("range", "classes K + 1", lambda: given(X, [0, 1, 2, 0, 1, 2], prior=COINS), INPUT),
    ("range", "classes between whole numbers", lambda: given(X, Y, prior=COINS), INPUT),
    (
        "dtype",
        "classes as truth values",
        lambda: given(X, [bit == 1 for bit in BITS], prior=COINS),
        RIGHT,
        lambda: given(X, BITS, prior=COINS),
    ),
    (
        "type",
        "lists, coins",
        lambda: given(X.tolist(), BITS, QUERY.tolist(), COINS),
        RIGHT,
        lambda: np.array([[0.375, 0.625]] * 4),
    ),
]

CASES = [
    *crossed("exact (GP), x", X, lambda x: given(x, Y)),
    *crossed("exact (GP), y", Y, lambda y: given(X, y)),
    *crossed("exact (GP), queries", QUERY, lambda query_x: given(X, Y, query_x)),
    *crossed("exact (linear), x", X, lambda x: given(x, Y, prior=LINEAR)),
    *crossed("exact (mixture), queries", QUERY, lambda query_x: given(X, Y, query_x, MIXTURE)),
    *(Case("exact", *own) for own in OWN),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_answers(case: Case) -> None:
    check(case)
