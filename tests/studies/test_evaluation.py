import math
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tiny_recipes import tiny_recipe

from priorfit import metrics
from priorfit.baselines import ExactGP
from priorfit.metrics import Estimate
from priorfit.predictor import Posterior
from priorfit.priors import GaussianProcess
from priorfit.training import train

GP = GaussianProcess(lengthscale=0.3)


@dataclass(frozen=True)
class Wide:
    """The exact answer with twice its standard deviation: its gap is known."""

    def condition(self, context_x, context_y):
        return WidePosterior(ExactGP(GP).condition(context_x, context_y))


@dataclass(frozen=True)
class WidePosterior:
    exact: Posterior

    def predict(self, query_x):
        ppd = self.exact.predict(query_x)
        return torch.distributions.Normal(ppd.mean, 2 * ppd.stddev)


def test_the_gap_of_a_known_error_is_found():
    from evaluation import measured  # pyright: ignore[reportMissingImports]

    found = measured({"wide": Wide()}, GP, size=4, num_datasets=30, seed=0)["wide"]
    assert found["gap"]["mean"] == pytest.approx(math.log(2) - 0.5 + 1 / 8, abs=1e-4)
    assert found["gap"]["count"] == 30
    assert found["floor"]["mean"] == pytest.approx(0.0, abs=1e-6)


def test_datasets_that_do_not_fit_at_once_are_all_measured(monkeypatch: pytest.MonkeyPatch):
    import evaluation  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(evaluation, "MOST_NUMBERS", 7 * 5**2)
    sizes = [len(tasks.query_y) for tasks in evaluation.datasets(GP, 4, 17, seed=0)]
    assert sizes == [7, 7, 3]


def test_all_models_are_compared_on_the_same_datasets():
    from evaluation import datasets  # pyright: ignore[reportMissingImports]

    first, second = (next(datasets(GP, 4, 10, seed=0)).query_y for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, next(datasets(GP, 4, 10, seed=1)).query_y)


def test_a_row_agrees_with_the_metrics_of_the_library(tmp_path: Path):
    import evaluation  # pyright: ignore[reportMissingImports]
    import models  # pyright: ignore[reportMissingImports]
    import study  # pyright: ignore[reportMissingImports]

    entrant = models.Trained("tiny", tiny_recipe(steps=2), tmp_path)
    setup = study.Setup(study.Rows(tmp_path / "rows.jsonl", seed=0), tmp_path)
    (row,) = evaluation.compare(setup, GP, [entrant], sizes=(3, 50), num_datasets=12)  # 50 is more than it was shown
    (tasks,) = evaluation.datasets(GP, 3, 12, seed=0)
    model = train(tiny_recipe(steps=2))
    for name, expected in (
        ("nll", metrics.nll(model, tasks)),
        ("gap", metrics.gap(model, ExactGP(GP), tasks)),
        ("exact_nll", metrics.nll(ExactGP(GP), tasks)),
    ):
        found = evaluation.estimate(row, name)
        assert isinstance(found, Estimate)
        assert found.mean == pytest.approx(expected.mean, abs=1e-5)
        assert found.half_width == pytest.approx(expected.half_width, abs=1e-5)
