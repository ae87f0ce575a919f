"""Metrics and acquisition functions: predictions, values and levels of every wrong kind."""

import numpy as np
import pytest
import torch
from hostile.cases import RIGHT, Case, check, crossed
from hostile.test_distributions import INPUT, SHAPE, TRUTH, VALUES, bars, levels, mixture
from torch.distributions import Categorical, Normal

from priorfit import metrics

NORMAL = Normal(torch.zeros(4), 1.0)
CLASSES = Categorical(logits=torch.zeros(4, 3))

METRICS = {
    "metrics.crps": lambda value: metrics.crps(mixture(), value),
    "metrics.expected_improvement": lambda value: metrics.expected_improvement(bars(), value, "maximise"),
    "metrics.pit": lambda value: metrics.pit(mixture(), value),
}

OWN = [
    *levels("metrics.interval", lambda level: metrics.interval(mixture(), level)),
    *levels("metrics.coverage", lambda level: metrics.coverage(mixture(), VALUES, level)),
    *levels("metrics.upper_confidence_bound", lambda level: metrics.upper_confidence_bound(bars(), level, "maximise")),
    ("metrics.crps", "type", "a distribution of classes", lambda: metrics.crps(CLASSES, VALUES), INPUT),
    ("metrics.interval", "type", "a distribution of classes", lambda: metrics.interval(CLASSES, 0.9), INPUT),
    ("metrics.interval", "type", "no distribution", lambda: metrics.interval(VALUES, 0.9), INPUT),
    ("metrics.crps", "type", "no distribution", lambda: metrics.crps(None, VALUES), INPUT),
    (
        "metrics.coverage",
        "type",
        "no labels of a distribution of classes",
        lambda: metrics.coverage(CLASSES, VALUES, 0.9),
        INPUT,
    ),
    (
        "metrics.coverage",
        "shape",
        "targets of another batch",
        lambda: metrics.coverage(mixture(), VALUES[:3], 0.9),
        SHAPE,
    ),
    ("metrics.interval", "shape", "several levels", lambda: metrics.interval(mixture(), [0.5, 0.9]), SHAPE),
    (
        "metrics.expected_improvement",
        "type",
        "a goal that is none",
        lambda: metrics.expected_improvement(bars(), 0.5, "best"),
        INPUT,
    ),
    (
        "metrics.expected_improvement",
        "type",
        "None as goal",
        lambda: metrics.expected_improvement(bars(), 0.5, None),
        INPUT,
    ),
    (
        "metrics.expected_calibration_error",
        "type",
        "a distribution of reals",
        lambda: metrics.expected_calibration_error(mixture(), VALUES),
        INPUT,
    ),
    (
        "metrics.expected_calibration_error",
        "range",
        "labels K + 1",
        lambda: metrics.expected_calibration_error(CLASSES, torch.tensor([0, 1, 2, 3])),
        INPUT,
    ),
    (
        "metrics.expected_calibration_error",
        "shape",
        "labels of another batch",
        lambda: metrics.expected_calibration_error(CLASSES, torch.tensor([0, 1, 2])),
        SHAPE,
    ),
    ("metrics.crps", "range", "y of 1e30", lambda: metrics.crps(NORMAL, 1e30), RIGHT, lambda: np.full(4, 1e30)),
    (
        "metrics.crps",
        "range",
        "y that is subnormal",
        lambda: metrics.crps(NORMAL, 1e-310),
        RIGHT,
        lambda: metrics.crps(NORMAL, 0.0),
    ),
]

CASES = [
    *(case for entry, ask in METRICS.items() for case in crossed(entry, VALUES, ask, TRUTH)),
    *(Case(*own) for own in OWN),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_scores(case: Case) -> None:
    check(case)
