"""`predict` of a conditioned network: queries of every wrong kind."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch
from hostile.cases import QUERY, RIGHT, WARNED, Case, X, Y, check, crossed, labels, tables, waves

from priorfit.network.posterior import PFNPosterior

SHAPE, INPUT = "`ShapeError`", "`InputError`"
X3 = np.random.RandomState(0).randn(6, 3)


@cache
def posterior() -> PFNPosterior:
    return waves().condition(X, Y)


@cache
def batched() -> PFNPosterior:
    return waves().condition(np.stack([X, X]), np.stack([Y, -Y]))


def asked(query_x: object) -> object:
    return posterior().predict(query_x)


def clean() -> object:
    return asked(QUERY)


def threads() -> object:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda row: asked(QUERY[[row]]).mean, [0, 1, 2, 3] * 8))


def gradient() -> object:
    x = torch.tensor(QUERY, requires_grad=True)
    posterior().predict(x).mean.sum().backward()
    return x.grad


def differences() -> object:
    step = 1e-3
    means = [waves_in_double().predict(QUERY + sign * step).mean for sign in (1, -1)]
    return ((means[0] - means[1]) / (2 * step))[:, None]


@cache
def waves_in_double() -> PFNPosterior:
    from priorfit.zoo import load

    return load("gp-rbf-1d").double().condition(X, Y)


OWN = [
    ("shape", "one number", lambda: asked(0.5), INPUT),
    ("shape", "a tensor of no axes", lambda: asked(torch.tensor(0.5)), SHAPE),
    ("shape", "queries without the axis of columns", lambda: asked(QUERY[:, 0]), SHAPE),
    ("shape", "queries transposed", lambda: asked(QUERY.T), SHAPE),
    ("shape", "no columns", lambda: asked(QUERY[:, :0]), SHAPE),
    ("shape", "two columns", lambda: asked(np.hstack([QUERY, QUERY])), SHAPE),
    ("shape", "other columns than the context", lambda: tables().condition(X, Y).predict(X3), SHAPE),
    ("shape", "a batch where the context has none", lambda: asked(QUERY[None]), SHAPE),
    ("shape", "no batch where the context has one", lambda: batched().predict(QUERY), SHAPE),
    ("shape", "another batch than the context's", lambda: batched().predict(np.stack([QUERY] * 3)), SHAPE),
    ("shape", "an empty list", lambda: asked([]), SHAPE),
    ("size", "no queries", lambda: asked(QUERY[:0]), RIGHT),
    ("size", "100,000 queries", lambda: asked(np.tile(QUERY, (25_000, 1))).mean[-4:], RIGHT, lambda: clean().mean),
    ("size", "a slice of a larger tensor", lambda: asked(torch.tensor(np.hstack([QUERY, QUERY]))[:, :1]), RIGHT, clean),
    ("range", "queries outside of the trained interval", lambda: asked(QUERY + 5), WARNED),
    ("range", "queries of 1e300", lambda: asked(QUERY * 1e300), INPUT),
    ("range", "queries of 1e30", lambda: asked(QUERY * 1e30), INPUT),
    ("range", "queries of 1e300, free units", lambda: tables().condition(X, Y).predict(QUERY * 1e300), INPUT),
    ("range", "queries that are subnormal", lambda: asked(QUERY * 1e-310), RIGHT, lambda: asked(QUERY * 0)),
    ("range", "queries far away, classes", lambda: labels().condition(X3, [0, 1] * 3).predict(X3 * 100), WARNED),
    ("type", "the context as queries", lambda: asked(X).mean, RIGHT, lambda: Y, 0.1),
    (
        "type",
        "a posterior that was pickled",
        lambda: pickle.loads(pickle.dumps(posterior())).predict(QUERY),  # noqa: S301  its own pickle
        RIGHT,
        clean,
    ),
    ("type", "gradients by the queries", gradient, RIGHT, differences, 0.05),
    ("concurrency", "one posterior in eight threads", threads, RIGHT, lambda: [clean().mean] * 8),
]

CASES = [*crossed("predict", QUERY, asked), *(Case("predict", *own) for own in OWN)]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_queries(case: Case) -> None:
    check(case)
