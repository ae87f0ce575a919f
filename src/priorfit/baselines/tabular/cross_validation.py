"""Grid search with cross-validation that ends when the time is up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.tabular.columns import Encoder, Table
from priorfit.baselines.tabular.grids import Grid
from priorfit.baselines.tabular.probabilities import floored
from priorfit.baselines.tabular.scores import Score, log_likelihood
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from sklearn.model_selection import ParameterGrid, StratifiedKFold

NUM_FOLDS = 5
"""Folds of the cross-validation, as in the paper."""

Settings = Mapping[str, Any]
Labels = Int[np.ndarray, " rows"]


@runtime_checkable
class Classifier(Protocol):
    """Gives the probabilities of the labels that it was fitted to."""

    def predict_proba(self, x: Any, /) -> np.ndarray:
        """The probabilities (rows, classes)."""
        ...


Fit = Callable[[Any, Labels, Settings], Classifier]


@dataclass(frozen=True)
class Fold:
    """Rows to fit and rows to score, both as the method takes them."""

    fitted_x: Any
    fitted_y: Int[np.ndarray, " fitted"]
    held_x: Any
    held_y: Int[np.ndarray, " held"]


@dataclass(frozen=True)
class Search:
    """The result of a search, and how much of the grid it scored.

    ``chosen`` is None where the context holds fewer than two classes, so that there was nothing to fit; ``score`` is
    the mean over the folds, None where no setting was scored. ``cut_short`` says that the time was up.
    """

    chosen: Settings | None
    score: float | None = None
    num_folds: int = 0
    num_settings: int = 0
    num_tried: int = 0
    cut_short: bool = False


def stratified_folds(x: Table, y: Labels, encoder: Callable[[], Encoder], seed: int) -> list[Fold]:
    """Shuffled folds with all classes in each: five, or as many as the rarest class has rows; none if that is one.

    The encoder sees only the rows that are fitted.
    """
    count = min(NUM_FOLDS, int(np.bincount(y).min()))
    if count < 2:
        return []
    folds = []
    for fitted, held in StratifiedKFold(count, shuffle=True, random_state=seed).split(x, y):
        columns = encoder().fit(x[fitted])
        folds.append(Fold(columns.transform(x[fitted]), y[fitted], columns.transform(x[held]), y[held]))
    return folds


def search(grid: Grid, folds: list[Fold], fit: Fit, score: Score, deadline: Deadline) -> Search:
    """The setting with the highest mean score; of equal ones that with the higher likelihood, then the earlier one.

    Settings come in the order of scikit-learn's ``ParameterGrid``: names by the alphabet, the last one fastest. Without
    folds, or if the time is up before one setting has been scored on all of them, the first setting is chosen.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores: list[tuple[float, float]] = []
    for settings in candidates if folds else []:
        scored = _scored(settings, folds, fit, score, deadline)
        if scored is None:
            break
        scores.append(scored)
    best = max(range(len(scores)), key=scores.__getitem__, default=0)
    return Search(
        chosen=candidates[best],
        score=scores[best][0] if scores else None,
        num_folds=len(folds),
        num_settings=len(candidates),
        num_tried=len(scores),
        cut_short=bool(folds) and len(scores) < len(candidates),
    )


def _scored(
    settings: Settings, folds: list[Fold], fit: Fit, score: Score, deadline: Deadline
) -> tuple[float, float] | None:
    """Mean score and mean log likelihood of the held-out rows; None if the time is up."""
    values = []
    for fold in folds:
        if deadline.is_past:
            return None
        probabilities = floored(fit(fold.fitted_x, fold.fitted_y, settings).predict_proba(fold.held_x))
        values.append((score(fold.held_y, probabilities), log_likelihood(fold.held_y, probabilities)))
    mean = np.mean(values, axis=0)
    # the same scores in another order of folds must be equal, whatever the last digit of their sum
    return round(float(mean[0]), 12), float(mean[1])
