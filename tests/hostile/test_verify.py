"""`verify` and `surprise`: questions about a model that make no sense."""

from functools import cache

import numpy as np
import pytest
import torch
from hostile.cases import RIGHT, Case, X, Y, check, labels, scratch, waves

import priorfit as pf
from priorfit.network.posterior import PFNPosterior

INPUT, UNKNOWN = "`InputError`", "`UnknownModelError`"


@cache
def posterior() -> PFNPosterior:
    return waves().condition(X, Y)


def verdict(model: object = "gp-rbf-1d", **options: object) -> object:
    report = pf.verify(model, **{"context_sizes": [3], "num_datasets": 20, **options})
    return float(len(report.checks))


VERIFY = {
    ("type", "None as model"): (lambda: verdict(None), INPUT),
    ("type", "a number as model"): (lambda: verdict(3), INPUT),
    ("type", "a function as model"): (lambda: verdict(np.sin), INPUT),
    ("type", "a class as model"): (lambda: verdict(pf.PFN), INPUT),
    ("file", "a name that is none"): (lambda: verdict("gp"), UNKNOWN),
    ("file", "a folder that is not there"): (lambda: verdict(scratch() / "nowhere"), UNKNOWN),
    ("type", "a predictor without a prior"): (lambda: verdict(pf.exact(pf.GaussianProcess())), INPUT),
    ("type", "text as prior"): (lambda: verdict(prior="GaussianProcess"), INPUT),
    ("type", "a class as prior"): (lambda: verdict(prior=pf.GaussianProcess), INPUT),
    ("shape", "a prior of other columns"): (lambda: verdict(prior=pf.GaussianProcess(num_features=2)), "`ShapeError`"),
    ("type", "a prior over classes"): (lambda: verdict(prior=pf.BetaBernoulli()), INPUT),
    ("size", "no context sizes"): (lambda: verdict(context_sizes=[]), INPUT),
    ("range", "a negative context size"): (lambda: verdict(context_sizes=[-1]), INPUT),
    ("type", "a context size of 2.5"): (lambda: verdict(context_sizes=[2.5]), INPUT),
    ("type", "one context size without a list"): (lambda: verdict(context_sizes=5), INPUT),
    ("type", "context sizes as text"): (lambda: verdict(context_sizes="5"), INPUT),
    ("NaN", "NaN as context size"): (lambda: verdict(context_sizes=[float("nan")]), INPUT),
    ("range", "one dataset"): (lambda: verdict(num_datasets=1), INPUT),
    ("range", "a negative number of datasets"): (lambda: verdict(num_datasets=-5), INPUT),
    ("type", "a number of datasets of 2.5"): (lambda: verdict(num_datasets=2.5), INPUT),
    ("type", "a seed of 0.5"): (lambda: verdict(seed=0.5), INPUT),
    ("range", "a negative seed"): (lambda: verdict(seed=-1), INPUT),
    ("size", "context sizes twice"): (lambda: verdict(context_sizes=[3, 3]), RIGHT),
}


def p_value(**options: object) -> object:
    return posterior().surprise(**{"draws": 19, **options}).p_value


SURPRISE = {
    ("type", "text as prior"): (lambda: p_value(prior="GaussianProcess"), INPUT),
    ("type", "a class as prior"): (lambda: p_value(prior=pf.GaussianProcess), INPUT),
    ("shape", "a prior of other columns"): (lambda: p_value(prior=pf.GaussianProcess(num_features=2)), INPUT),
    ("type", "a prior over classes"): (lambda: p_value(prior=pf.BetaBernoulli()), INPUT),
    ("range", "no draws"): (lambda: p_value(draws=0), INPUT),
    ("range", "negative draws"): (lambda: p_value(draws=-3), INPUT),
    ("type", "draws of 2.5"): (lambda: p_value(draws=2.5), INPUT),
    ("type", "draws as text"): (lambda: p_value(draws="many"), INPUT),
    ("type", "a seed of 0.5"): (lambda: p_value(seed=0.5), INPUT),
    ("range", "a negative seed"): (lambda: p_value(seed=-1), INPUT),
    ("size", "no points"): (lambda: waves().condition(X[:0], Y[:0]).surprise(), INPUT),
    ("size", "a batch of no datasets"): (
        lambda: waves().condition(np.ones((0, 3, 1)), np.ones((0, 3))).surprise().p_value,
        RIGHT,
    ),
    ("size", "one point"): (lambda: waves().condition(X[:1], Y[:1]).surprise(draws=19).p_value, RIGHT),
    ("range", "constant targets"): (lambda: waves().condition(X, 0 * Y).surprise(draws=19).p_value, RIGHT),
    ("type", "classes"): (
        lambda: labels().condition(np.random.RandomState(0).randn(6, 3), [0, 1] * 3).surprise(draws=19).p_value,
        RIGHT,
    ),
    ("type", "a tensor that needs a gradient"): (
        lambda: waves().condition(torch.tensor(X, requires_grad=True), Y).surprise(draws=19).p_value,
        RIGHT,
    ),
}

CASES = [
    *(Case("verify", *key, ask, gets) for key, (ask, gets) in VERIFY.items()),
    *(Case("surprise", *key, ask, gets) for key, (ask, gets) in SURPRISE.items()),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_judgements(case: Case) -> None:
    check(case)
