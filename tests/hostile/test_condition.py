"""`PFN.condition`: contexts of every wrong kind."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hostile.cases import QUERY, RIGHT, WARNED, Case, X, Y, check, crossed, labels, tables, waves

X3 = np.random.RandomState(0).randn(6, 3)


def given(x: object, y: object, query_x: object = QUERY) -> object:
    return waves().condition(x, y).predict(query_x)


def clean() -> object:
    return given(X, Y)


def threads() -> object:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda shift: given(X, Y + shift).mean, [i / 50 for i in range(24)]))


def one_by_one() -> object:
    return [given(X, Y + i / 50).mean for i in range(24)]


def trained_again() -> object:
    model = waves()
    model.train()
    try:
        return given(X, Y)
    finally:
        model.eval()


def in_dtype(dtype: torch.dtype) -> object:
    from priorfit.zoo import load

    return load("gp-rbf-1d").to(dtype).condition(X, Y).predict(QUERY)


def plain_in_dtype(dtype: torch.dtype) -> object:
    from priorfit.zoo import load

    return load("tabular-binary-small").to(dtype).condition(X3, [0, 1] * 3).predict(X3).probs


def plain() -> object:
    return plain_in_dtype(torch.float32)


SHAPE, INPUT = "`ShapeError`", "`InputError`"

OWN = [
    ("shape", "one number as x", lambda: given(0.5, Y), INPUT, None),
    ("shape", "a tensor of no axes as x", lambda: given(torch.tensor(0.5), Y), SHAPE, None),
    ("shape", "x without its axis of columns", lambda: given(X[:, 0], Y), SHAPE, None),
    ("shape", "x transposed", lambda: given(X.T, Y), SHAPE, None),
    ("shape", "x of no columns", lambda: given(X[:, :0], Y), SHAPE, None),
    ("shape", "x of two columns", lambda: given(np.hstack([X, X]), Y), SHAPE, None),
    ("shape", "x of eleven columns, where ten are taken", lambda: tables().condition(np.ones((6, 11)), Y), SHAPE, None),
    ("shape", "x and y of unequal length", lambda: given(X[:5], Y), SHAPE, None),
    ("shape", "y as a column", lambda: given(X, Y[:, None]), SHAPE, None),
    ("shape", "y as one number", lambda: given(X, torch.tensor(0.5)), SHAPE, None),
    ("shape", "batch of x, none of y", lambda: given(X[None], Y), SHAPE, None),
    ("shape", "y with its batch last", lambda: given(np.stack([X] * 3), np.stack([Y] * 3).T), SHAPE, None),
    ("shape", "an empty list as x", lambda: given([], []), SHAPE, None),
    (
        "size",
        "a batch of no datasets",
        lambda: given(np.ones((0, 6, 1)), np.ones((0, 6)), np.ones((0, 4, 1))),
        RIGHT,
        None,
    ),
    ("size", "no points", lambda: given(X[:0], Y[:0]), RIGHT, lambda: given(torch.zeros(0, 1), torch.zeros(0))),
    ("size", "one point", lambda: given(X[:1], Y[:1]), RIGHT, lambda: given(X[:1].tolist(), Y[:1].tolist())),
    ("size", "more points than in training", lambda: given(np.tile(X, (40, 1)), np.tile(Y, 40)), WARNED, None),
    ("size", "the same point many times", lambda: given(np.full((90, 1), 0.5), np.full(90, 0.2)), RIGHT, None),
    (
        "size",
        "four axes of datasets",
        lambda: given(*(np.broadcast_to(part, (2, 1, 2, 1, *part.shape)) for part in (X, Y, QUERY))),
        RIGHT,
        None,
    ),
    ("range", "inputs outside of the trained interval", lambda: given(X + 3, Y), WARNED, None),
    ("range", "inputs of 1e300", lambda: given(X * 1e300, Y), INPUT, None),
    ("range", "inputs of 1e30", lambda: given(X * 1e30, Y), INPUT, None),
    ("range", "inputs that are subnormal", lambda: given(X * 1e-310, Y), RIGHT, lambda: given(X * 0, Y)),
    ("range", "targets a hundred times too large", lambda: given(X, Y * 100), WARNED, None),
    ("range", "targets of 1e20", lambda: given(X, Y * 1e20), WARNED, None),
    ("range", "targets of 1e300", lambda: given(X, Y * 1e300), INPUT, None),
    ("range", "targets that are subnormal", lambda: given(X, Y * 1e-310), RIGHT, lambda: given(X, Y * 0)),
    ("range", "targets of 1e300, free units", lambda: tables().condition(X, Y * 1e300).predict(QUERY), INPUT, None),
    (
        "range",
        "inputs of 1e300, free units",
        lambda: tables().condition(X * 1e300, Y).predict(QUERY * 1e300),
        INPUT,
        None,
    ),
    ("range", "whole numbers beyond int64", lambda: given([[2**70]] * 6, Y), INPUT, None),
    ("range", "targets of another sign of zero", lambda: given(X, -0.0 * Y), RIGHT, lambda: given(X, 0 * Y)),
    ("range", "constant targets, free units", lambda: tables().condition(X, 0 * Y + 7).predict(QUERY), WARNED, None),
    ("range", "one point, free units", lambda: tables().condition(X[:1], Y[:1]).predict(QUERY), WARNED, None),
    ("range", "no points, free units", lambda: tables().condition(X[:0], Y[:0]).predict(QUERY), WARNED, None),
    ("range", "classes K + 1", lambda: labels().condition(X3, [0, 1, 2, 0, 1, 2]), INPUT, None),
    ("range", "classes from 1", lambda: labels().condition(X3, [1, 2, 1, 2, 1, 2]), INPUT, None),
    ("range", "classes -1 and 1", lambda: labels().condition(X3, [-1, 1, -1, 1, 1, 1]), INPUT, None),
    ("range", "classes between whole numbers", lambda: labels().condition(X3, Y), INPUT, None),
    ("dtype", "classes as text", lambda: labels().condition(X3, ["no", "yes"] * 3), INPUT, None),
    (
        "dtype",
        "classes as truth values",
        lambda: labels().condition(X3, [False, True] * 3).predict(X3),
        RIGHT,
        lambda: labels().condition(X3, [0, 1] * 3).predict(X3),
    ),
    (
        "dtype",
        "classes as uint8",
        lambda: labels().condition(X3, torch.tensor([0, 1] * 3, dtype=torch.uint8)).predict(X3),
        RIGHT,
        lambda: labels().condition(X3, [0, 1] * 3).predict(X3),
    ),
    ("NaN", "NaN among classes", lambda: labels().condition(X3, [0, 1, np.nan, 1, 0, 1]), INPUT, None),
    ("type", "x and y exchanged", lambda: given(Y, X), SHAPE, None),
    ("dtype", "model.double()", lambda: in_dtype(torch.float64), RIGHT, clean),
    ("dtype", "model.half()", lambda: in_dtype(torch.float16), INPUT, None),
    ("dtype", "model.bfloat16()", lambda: in_dtype(torch.bfloat16), INPUT, None),
    ("dtype", "model.half() without a solver", lambda: plain_in_dtype(torch.float16), RIGHT, plain, 0.02),
    ("dtype", "model.bfloat16() without a solver", lambda: plain_in_dtype(torch.bfloat16), RIGHT, plain, 0.05),
    ("type", "a model in train() mode", trained_again, RIGHT, clean),
    ("concurrency", "one model in eight threads", threads, RIGHT, one_by_one),
]

CASES = [
    *crossed("condition (x)", X, lambda x: given(x, Y)),
    *crossed("condition (y)", Y, lambda y: given(X, y)),
    *(Case("condition", *own) for own in OWN),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_contexts(case: Case) -> None:
    check(case)
