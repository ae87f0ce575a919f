from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score
from torch.distributions import Categorical, Normal

from priorfit.metrics import expected_calibration_error


@pytest.fixture
def scores() -> ModuleType:
    import tabular_scores  # pyright: ignore[reportMissingImports]

    return tabular_scores


def drawn(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.ones(classes), rows)
    labels = (generator.random((rows, 1)) > probabilities.cumsum(1)).sum(1)
    return labels, probabilities


@pytest.mark.parametrize("classes", [2, 4])
def test_auc_and_log_loss_are_those_of_scikit_learn(scores: ModuleType, classes: int):
    y, p = drawn(300, classes, seed=0)
    expected = roc_auc_score(y, p[:, 1]) if classes == 2 else roc_auc_score(y, p, multi_class="ovr")
    assert scores.auc(y, p) == pytest.approx(expected)
    assert scores.log_loss(y, p) == pytest.approx(sklearn_log_loss(y, p), abs=1e-4)  # up to the floor of 1e-6


def test_a_class_without_queries_does_not_count_in_the_auc(scores: ModuleType):
    y, p = drawn(300, 3, seed=1)
    kept = y != 2
    each = [roc_auc_score(y[kept] == one, p[kept, one]) for one in (0, 1)]
    assert scores.auc(y[kept], p[kept]) == pytest.approx(np.mean(each))
    assert np.isnan(scores.auc(np.zeros(5, dtype=int), p[:5]))


def test_a_certain_error_costs_the_floor_and_not_infinity(scores: ModuleType):
    assert scores.log_loss(np.array([1]), np.array([[1.0, 0.0]])) == pytest.approx(-np.log(1e-6))


@pytest.mark.parametrize("classes", [2, 5])
def test_calibration_bins_of_parts_add_up_to_the_error_of_the_whole(scores: ModuleType, classes: int):
    y, p = drawn(1000, classes, seed=2)
    whole = expected_calibration_error(Categorical(torch.from_numpy(p)), torch.from_numpy(y).double(), 100)
    parts = scores.CalibrationBins.of_top_class(y[:300], p[:300], 100)
    parts += scores.CalibrationBins.of_top_class(y[300:], p[300:], 100)
    assert parts.error == pytest.approx(float(whole))


def test_the_error_of_events_is_that_of_a_loop_over_bins(scores: ModuleType):
    y, p = drawn(500, 2, seed=5)
    expected = 0.0
    for low in np.arange(20) / 20:
        inside = (p[:, 1] >= low) & (p[:, 1] < low + 0.05)
        expected += abs(p[inside, 1].sum() - y[inside].sum()) / 500
    assert scores.CalibrationBins.of_events(y == 1, p[:, 1], 20).error == pytest.approx(expected)


def test_the_floor_is_the_mean_error_of_calibrated_forecasts(scores: ModuleType):
    stated = np.random.default_rng(3).random(400)
    generator = np.random.default_rng(4)
    simulated = [generator.random(400) < stated for _ in range(400)]
    errors = [scores.CalibrationBins.of_events(happened, stated, 20).error for happened in simulated]
    spread = np.std(errors) * (1 / 400 + 1 / 200) ** 0.5
    assert abs(scores.calibration_floor(stated, 20, draws=200) - np.mean(errors)) < 4 * spread


def test_the_floor_of_one_bin_of_coins_is_their_mean_deviation(scores: ModuleType):
    expected = 0.5 * (2 / (np.pi * 100)) ** 0.5  # E|mean of 100 coins - 1/2|, to second order
    assert scores.calibration_floor(np.full(100, 0.5), 1, draws=4000) == pytest.approx(expected, rel=0.05)


def test_scores_of_numbers_are_in_units_of_the_scale(scores: ModuleType):
    y, scale = np.array([1.0, -3.0, 8.0, 0.5]), 2.5
    found = scores.regression_scores(y, Normal(torch.zeros(4, dtype=torch.float64), 2.0), scale)
    z = y / 2.0
    crps = 2.0 * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - np.pi**-0.5)  # closed form for a Normal
    assert found["crps"] == pytest.approx(crps.mean() / scale)
    assert found["log_loss"] == pytest.approx(-norm.logpdf(y / scale, scale=2.0 / scale).mean())
    assert found["squared_error"] == pytest.approx(((y / scale) ** 2).mean())
    assert found["coverage"] == 0.75  # 8 lies outside of 1.96 deviations
