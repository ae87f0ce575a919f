import json
from typing import Any

import pytest
import torch

import priorfit as pf
from priorfit.errors import InputError
from priorfit.network import PFN
from priorfit.web.answers import PythonAnswers, Question, oracle_of

QUESTION: dict[str, Any] = {
    "model": "waves",
    "known": {},
    "x": [0.1, 0.4, 0.8],
    "y": [0.5, 0.9, -0.2],
    "queries": [0.0, 0.25, 0.5],
    "values": [-4.0, 5.0],
    "cursor": [0.3],
}


def body(**changes: object) -> bytes:
    return json.dumps({**QUESTION, **changes}).encode()


def test_the_truth_is_that_of_the_bound_prior(latents: PFN) -> None:
    answers = PythonAnswers({"waves": latents})
    assert answers.asked_about("waves") == {"reference": "truth (importance sampling)"}
    said = answers.answer(body(known={"decay": [0.5]}))
    oracle = oracle_of(latents)
    assert oracle is not None
    x, y = torch.tensor(QUESTION["x"])[:, None], torch.tensor(QUESTION["y"])
    ppd = oracle.condition(x, y, decay=0.5).predict(torch.tensor(QUESTION["queries"])[:, None])
    assert said["bands"]["mean"] == pytest.approx(ppd.mean.tolist(), abs=1e-5)
    assert said["bands"]["low95"] == pytest.approx(ppd.icdf(torch.tensor(0.025)).tolist(), abs=1e-4)
    assert sum(said["cut"]["density"]) * 9 / 600 == pytest.approx(1, abs=1e-3) and said["cut"]["x"] == 0.3
    assert said["surprise"] == ""  # known latents are not part of the test


def test_a_p_value_says_whether_the_prior_drew_the_points() -> None:
    answers = PythonAnswers({"gp": pf.load("gp-rbf-1d")})
    assert answers.asked_about("gp") == {"reference": None} and answers.asked_about("other") is None
    usual = answers.answer(body(model="gp", x=[0.1, 0.4, 0.8], y=[0.2, 0.5, 0.1]))
    strange = answers.answer(body(model="gp", x=[0.1, 0.11, 0.12, 0.5], y=[2.0, -2.0, 2.0, -2.0]))
    assert usual["surprise"].startswith("surprise: p = 0.") and "bands" not in usual
    assert strange["surprise"].startswith("surprise: p = 0.01, ")
    for count in (0, 61):
        assert answers.answer(body(model="gp", x=[0.5] * count, y=[0.1] * count))["surprise"] == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "no model 'other'"),
        ({"x": [0.1] * 201, "y": [0.1] * 201}, "up to 200 points"),
        ({"x": [0.1]}, "got 1 and 3"),
        ({"queries": [0.1] * 501}, "up to 500 queries"),
        ({"values": [1.0, 1.0]}, "a range of y"),
        ({"cursor": []}, "one cursor"),
        ({"x": "abc"}, "could not convert"),
        ({"known": [1]}, "expected a question"),
    ],
)
def test_what_no_page_of_ours_would_ask_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        PythonAnswers({"waves": pf.load("gp-rbf-1d")}).answer(body(**changes))


def test_points_that_are_no_numbers_are_refused_by_the_model() -> None:
    with pytest.raises(InputError, match="NaN or infinite values"):
        PythonAnswers({"waves": pf.load("gp-rbf-1d")}).answer(body(y=[0.1, float("nan"), 0.2]))
    assert Question.of(body()).context[0].shape == (3, 1)
