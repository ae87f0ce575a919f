"""The page of the demo: points, examples and requests that no page of ours would send."""

from functools import cache

import numpy as np
import pytest
from hostile.cases import RIGHT, WARNED, Case, X, Y, check, waves

import priorfit as pf
from priorfit.demo.functions import draw_functions, example
from priorfit.demo.hosts import Hosts
from priorfit.demo.server import free_port
from priorfit.demo.state import Points, answer, cross_section, remarks
from priorfit.demo.subject import Subject, subject_of, subjects

INPUT, SHAPE, UNKNOWN = "`InputError`", "`ShapeError`", "`UnknownModelError`"
HOSTS = Hosts.of("127.0.0.1", 5006)


@cache
def subject() -> Subject:
    return subject_of("gp-rbf-1d", waves())


def shown(x: object, y: object) -> object:
    return answer(subject(), Points.of(x, y)).ppd


def section(x: object) -> object:
    return cross_section(subject(), answer(subject(), Points.of(X[:, 0], Y)), x).density


ASKED = {
    ("type", "text as points"): (lambda: shown(["a"], [0.1]), INPUT, None),
    ("type", "None as points"): (lambda: shown([None], [0.1]), INPUT, None),
    ("type", "no list of points"): (lambda: shown(0.5, 0.1), INPUT, None),
    ("NaN", "NaN as x"): (lambda: shown([np.nan], [0.1]), INPUT, None),
    ("NaN", "infinity as y"): (lambda: shown([0.5], [np.inf]), INPUT, None),
    ("range", "y of 1e300"): (lambda: shown([0.5], [1e300]), INPUT, None),
    ("range", "x outside of the window"): (lambda: shown([7.0], [0.1]), WARNED, None),
    ("shape", "more x than y"): (lambda: shown([0.1, 0.2], [0.1]), SHAPE, None),
    ("size", "no points"): (
        lambda: shown([], []),
        RIGHT,
        lambda: waves().condition(X[:0], Y[:0]).predict(subject().query_x),
    ),
    ("size", "3,000 points"): (
        lambda: float(len(remarks(subject(), Points.of([0.5] * 3000, [0.1] * 3000)))),
        RIGHT,
        lambda: 2.0,
    ),
    ("size", "a function after too many points"): (
        lambda: list(draw_functions(subject(), Points.of([0.5] * 200, [0.1] * 200), 1)),
        INPUT,
        None,
    ),
    ("type", "an example that is none"): (lambda: example(subject(), "a face"), INPUT, None),
    ("NaN", "a cut at NaN"): (lambda: section(np.nan), INPUT, None),
    ("range", "a cut outside of the window"): (lambda: section(9.0), WARNED, None),
    ("type", "a model that is none"): (lambda: subjects("gp"), UNKNOWN, None),
    ("shape", "a model of five columns"): (lambda: subjects("gp-rbf-5d"), INPUT, None),
    ("type", "a model over classes"): (lambda: subject_of("bnn", pf.load("bnn-small")), INPUT, None),
    ("range", "a port that is none"): (lambda: free_port("127.0.0.1", 10**6), INPUT, None),
    ("range", "a negative port"): (lambda: free_port("127.0.0.1", -1), INPUT, None),
    ("type", "a host that is none"): (lambda: free_port("no.such.host.invalid", 0), INPUT, None),
}

REQUESTS = {
    "another site's name": ("evil.example:5006", None),
    "no host": ("", None),
    "another port": ("localhost:80", None),
    "a port that is none": ("localhost:99999", None),
    "brackets that are not closed": ("[::1", None),
    "the page of another site": ("localhost:5006", "http://evil.example"),
    "an origin that is none": ("localhost:5006", "null"),
    "an origin with brackets that are not closed": ("localhost:5006", "http://[::1"),
}


def refused(host: str, origin: str | None) -> float:
    return float(HOSTS.refuses(host, origin))


CASES = [
    *(Case("demo", *key, ask, gets, clean) for key, (ask, gets, clean) in ASKED.items()),
    *(
        Case("demo, request", "type", words, lambda sent=sent: refused(*sent), RIGHT, lambda: 1.0)
        for words, sent in REQUESTS.items()
    ),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_page(case: Case) -> None:
    check(case)
