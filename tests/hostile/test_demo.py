"""The server of the demo: questions and requests that no page of ours would send."""

import json
from functools import cache
from typing import Any

import pytest
from hostile.cases import RIGHT, Case, check, waves

from priorfit.web.answers import PythonAnswers
from priorfit.web.demonstration import shown_models
from priorfit.web.hosts import Hosts
from priorfit.web.server import PageServer

INPUT, UNKNOWN = "`InputError`", "`UnknownModelError`"
HOSTS = Hosts.of("127.0.0.1", 5006)
QUESTION: dict[str, Any] = {
    "model": "gp-rbf-1d",
    "known": {},
    "x": [0.5],
    "y": [0.1],
    "queries": [0.5],
    "values": [-1.0, 1.0],
    "cursor": [0.5],
}


@cache
def answers() -> PythonAnswers:
    return PythonAnswers({"gp-rbf-1d": waves()})


def said(**changes: object) -> float:
    return float(len(answers().answer(json.dumps({**QUESTION, **changes}).encode())["surprise"]))


def listening(host: str, port: int) -> object:
    return PageServer("", answers(), host, port)


ASKED = {
    ("type", "text as points"): (lambda: said(x=["a"]), INPUT, None),
    ("type", "None as points"): (lambda: said(x=[None]), INPUT, None),
    ("type", "no list of points"): (lambda: said(x=0.5), INPUT, None),
    ("type", "no JSON"): (lambda: answers().answer(b"\xff{"), INPUT, None),
    ("type", "a list in place of a question"): (lambda: answers().answer(b"[]"), INPUT, None),
    ("type", "a model that is none in a question"): (lambda: said(model="gp"), INPUT, None),
    ("NaN", "NaN as x"): (lambda: said(x=[float("nan")]), INPUT, None),
    ("NaN", "infinity as y"): (lambda: said(y=[float("inf")]), INPUT, None),
    ("range", "y of 1e300"): (lambda: said(y=[1e300]), INPUT, None),
    ("shape", "more x than y"): (lambda: said(x=[0.1, 0.2]), INPUT, None),
    ("size", "no points"): (lambda: said(x=[], y=[]), RIGHT, lambda: 0.0),
    ("size", "3,000 points"): (lambda: said(x=[0.5] * 3000, y=[0.1] * 3000), INPUT, None),
    ("type", "a model that is none"): (lambda: shown_models("gp"), UNKNOWN, None),
    ("shape", "a model of five columns"): (lambda: shown_models("gp-rbf-5d"), INPUT, None),
    ("range", "a port that is none"): (lambda: listening("127.0.0.1", 10**6), INPUT, None),
    ("range", "a negative port"): (lambda: listening("127.0.0.1", -1), INPUT, None),
    ("type", "a host that is none"): (lambda: listening("no.such.host.invalid", 0), INPUT, None),
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
