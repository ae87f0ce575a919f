"""Distributions: parameters, values and levels of every wrong kind."""

from functools import cache

import numpy as np
import pytest
import torch
from hostile.cases import NOT_FINITE, QUERY, RIGHT, Case, X, Y, check, crossed, waves
from torch.distributions import Distribution

from priorfit import distributions
from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann

SHAPE, INPUT = "`ShapeError`", "`InputError`"
VALUES = np.array([0.1, 0.3, 0.45, 0.6])
TRUTH = {"truth values": INPUT}
"""A y or a level that is True or False is a mistake."""


@cache
def mixture() -> Distribution:
    return waves().condition(X, Y).predict(QUERY)


@cache
def bars() -> Distribution:
    borders = torch.linspace(-1, 2, 13)
    return UnboundedRiemann(borders, torch.linspace(-1, 1, 48).reshape(4, 12))


def box() -> Distribution:
    return BoundedRiemann(torch.linspace(0, 1, 6), torch.zeros(4, 5))


METHODS = {
    "NormalMixture.log_prob": lambda value: mixture().log_prob(value),
    "NormalMixture.cdf": lambda value: mixture().cdf(value),
    "NormalMixture.icdf": lambda value: mixture().icdf(value),
    "UnboundedRiemann.log_prob": lambda value: bars().log_prob(value),
    "UnboundedRiemann.icdf": lambda value: bars().icdf(value),
}

ENDS = ("int8", "uint8", "int64")
"""Levels of 0 and 1, whose quantiles are infinite."""


def at_first(entry: str, kind: str, words: str, value: float, expected: float) -> Case:
    """A method of a distribution whose first value is none: its first answer is none, the others stay."""
    ask = METHODS[entry]
    spoilt = np.array([value, *VALUES[1:]])
    gets = NOT_FINITE if not np.isfinite(expected) else RIGHT
    return Case(entry, kind, words, lambda: ask(spoilt), gets, lambda: np.array([expected, *ask(VALUES)[1:]]))


def nothing() -> object:
    return np.full(4, np.nan)


def levels(name: str, ask: object, gets: str = INPUT) -> list[tuple]:
    """What no level of a quantile may be."""
    wrong = {"below 0": -0.1, "above 1": 1.5, "NaN": float("nan"), "infinite": float("inf"), "95 for 95 %": 95}
    return [
        (
            name,
            "range",
            f"a level {words}",
            lambda level=level: ask(level),
            gets,
            nothing if gets == NOT_FINITE else None,
        )
        for words, level in wrong.items()
    ]


OWN = [
    *levels("NormalMixture.icdf", lambda level: mixture().icdf(level), NOT_FINITE),
    *levels("UnboundedRiemann.icdf", lambda level: bars().icdf(level), NOT_FINITE),
    *levels("BoundedRiemann.icdf", lambda level: box().icdf(level), NOT_FINITE),
    ("NormalMixture.log_prob", "shape", "values of another batch", lambda: mixture().log_prob(VALUES[:3]), SHAPE),
    ("NormalMixture.icdf", "shape", "several levels in one axis", lambda: mixture().icdf([0.1, 0.5]), SHAPE),
    (
        "NormalMixture.icdf",
        "shape",
        "several levels, with an axis",
        lambda: mixture().icdf([[0.1], [0.5]])[1],
        RIGHT,
        lambda: mixture().icdf(0.5),
    ),
    (
        "NormalMixture",
        "range",
        "a scale of 0",
        lambda: NormalMixture(torch.zeros(2), torch.zeros(2), torch.zeros(2)),
        INPUT,
    ),
    (
        "NormalMixture",
        "range",
        "a negative scale",
        lambda: NormalMixture(torch.zeros(2), torch.zeros(2), -torch.ones(2)),
        INPUT,
    ),
    (
        "NormalMixture",
        "NaN",
        "NaN as location",
        lambda: NormalMixture(torch.zeros(2), torch.full((2,), torch.nan), torch.ones(2)),
        INPUT,
    ),
    (
        "NormalMixture",
        "NaN",
        "NaN as logits",
        lambda: NormalMixture(torch.full((2,), torch.nan), torch.zeros(2), torch.ones(2)),
        INPUT,
    ),
    (
        "NormalMixture",
        "shape",
        "unequal numbers of components",
        lambda: NormalMixture(torch.zeros(2), torch.zeros(3), torch.ones(3)),
        SHAPE,
    ),
    ("NormalMixture", "type", "lists as parameters", lambda: NormalMixture([0.0], [0.0], [1.0]), INPUT),
    (
        "UnboundedRiemann",
        "range",
        "borders that fall",
        lambda: UnboundedRiemann(torch.linspace(1, 0, 6), torch.zeros(5)),
        INPUT,
    ),
    (
        "UnboundedRiemann",
        "range",
        "borders that are equal",
        lambda: UnboundedRiemann(torch.zeros(6), torch.zeros(5)),
        INPUT,
    ),
    (
        "UnboundedRiemann",
        "NaN",
        "NaN as a border",
        lambda: UnboundedRiemann(torch.tensor([0, torch.nan, 1]), torch.zeros(2)),
        INPUT,
    ),
    (
        "UnboundedRiemann",
        "shape",
        "as many logits as borders",
        lambda: UnboundedRiemann(torch.linspace(0, 1, 6), torch.zeros(6)),
        SHAPE,
    ),
    (
        "UnboundedRiemann",
        "shape",
        "one bucket",
        lambda: UnboundedRiemann(torch.tensor([0.0, 1.0]), torch.zeros(1)),
        SHAPE,
    ),
    (
        "BoundedRiemann",
        "range",
        "borders that fall",
        lambda: BoundedRiemann(torch.linspace(1, 0, 6), torch.zeros(5)),
        INPUT,
    ),
    (
        "BoundedRiemann",
        "NaN",
        "an infinite border",
        lambda: BoundedRiemann(torch.tensor([0, 1, torch.inf]), torch.zeros(2)),
        INPUT,
    ),
    (
        "equal_mass_borders",
        "size",
        "no targets",
        lambda: distributions.equal_mass_borders(torch.zeros(0), 5),
        "`BucketError`",
    ),
    (
        "equal_mass_borders",
        "range",
        "targets that are all equal",
        lambda: distributions.equal_mass_borders(torch.ones(100), 5),
        "`BucketError`",
    ),
    (
        "equal_mass_borders",
        "NaN",
        "NaN among targets",
        lambda: distributions.equal_mass_borders(torch.tensor([0.0, 1.0, torch.nan]), 2),
        "`BucketError`",
    ),
    (
        "equal_mass_borders",
        "range",
        "a negative number of buckets",
        lambda: distributions.equal_mass_borders(torch.randn(100), -3),
        "`BucketError`",
    ),
    ("NormalMixture.cdf", "range", "a value of 1e30", lambda: mixture().cdf(1e30), RIGHT, lambda: np.ones(4)),
    ("UnboundedRiemann.cdf", "range", "a value of -1e30", lambda: bars().cdf(-1e30), RIGHT, lambda: np.zeros(4)),
]


def skipped(entry: str) -> tuple[str, ...]:
    return ("NaN", "infinity", "minus infinity", *(ENDS if entry.endswith("icdf") else ()))


CASES = [
    *(case for entry, ask in METHODS.items() for case in crossed(entry, VALUES, ask, TRUTH, skipped(entry))),
    *(at_first(entry, "NaN", "NaN", np.nan, np.nan) for entry in METHODS),
    at_first("NormalMixture.log_prob", "NaN", "infinity", np.inf, -np.inf),
    at_first("NormalMixture.cdf", "NaN", "infinity", np.inf, 1.0),
    at_first("NormalMixture.cdf", "NaN", "minus infinity", -np.inf, 0.0),
    at_first("UnboundedRiemann.log_prob", "NaN", "infinity", np.inf, -np.inf),
    at_first("UnboundedRiemann.icdf", "NaN", "infinity", np.inf, np.nan),
    *(Case(*own) for own in OWN),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_levels(case: Case) -> None:
    check(case)
