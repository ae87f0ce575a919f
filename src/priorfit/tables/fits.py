"""Fits as folders: a model conditioned on the rows of one file, which predicts the rows of others."""

from pathlib import Path

import torch

from priorfit.checkpoint import holds_checkpoint, load_folder
from priorfit.errors import InputError
from priorfit.estimators import PFNClassifier
from priorfit.estimators.loading import read_fit
from priorfit.estimators.saving import save_estimator
from priorfit.extras import needs_extra
from priorfit.network import Model
from priorfit.paths import usable_path
from priorfit.tables.prediction import Answer, Excess, conditioned
from priorfit.tables.reading import EMPTY, Question, listed, nothing_to_predict, parted, target_column, typed

with needs_extra("tables"):
    import pandas as pd


def holds_fit(path: str | Path) -> bool:
    """Whether a folder holds a fitted estimator, as `save_fit` and `PFNEstimator.save` write them."""
    return holds_checkpoint(path) and load_folder(usable_path(path), groups=())[1].get("kind") == "estimator"


def save_fit(
    model: Model,
    frame: "pd.DataFrame",
    name: str,
    path: str | Path,
    target: str | None = None,
    excess: Excess | None = None,
) -> int:
    """Condition a model on the rows of a table that have a target, and write it to a folder; the number of those rows.

    ``target`` is by default the last column; ``name`` is what errors call the table.
    """
    question = parted(frame, name, target)
    if not len(question.context):
        column = target_column(frame, name, target)
        raise InputError(f"{name} has no row with a value in {column!r}; expected some to fit the model to.")
    save_estimator(conditioned(model, question, name, excess), path, target_column(frame, name, target))
    return len(question.context)


class Fit:
    """A fitted estimator of a folder, for tables with the columns of its training rows.

    The rows of a table whose target is empty are predicted, or all rows where the table has no such column.
    """

    def __init__(self, path: str | Path) -> None:
        self.estimator, self.target = read_fit(path)
        self.names = [str(name) for name in vars(self.estimator).get("feature_names_in_", [])]
        if not self.names:
            raise InputError(
                f"{path} was fitted to columns without names, so those of a file cannot be told apart. Fit it to a "
                "frame of pandas, or by priorfit fit."
            )

    @property
    def model(self) -> Model:
        """The network."""
        return self.estimator.model_

    def question(self, frame: "pd.DataFrame", name: str) -> Question:
        """The rows of a table that are predicted; its columns may come in any order."""
        check_columns(list(frame.columns), self.names, self.target, name)
        features = frame[self.names].apply(lambda cells: typed(cells, name))
        rows = range(len(frame))
        if self.target in frame.columns:
            rows = [row for row, cell in enumerate(frame[self.target]) if cell in EMPTY]
        if not len(rows):
            raise nothing_to_predict(name, self.target, len(frame))
        return Question(features.iloc[:0], pd.Series(dtype=object), features.iloc[rows], tuple(row + 1 for row in rows))

    def answer(self, question: Question) -> Answer:
        """The predictions; the rows that the model was fitted to are not part of it."""
        estimator = self.estimator
        ppd = estimator.predict_distribution(question.queries)
        labels = estimator.classes_ if isinstance(estimator, PFNClassifier) else None
        shown = torch.tensor(estimator.shown(question.queries), dtype=torch.float64)
        return Answer(shown[:0], shown.new_zeros(0), shown, ppd, labels)


def check_columns(found: list[str], expected: list[str], target: str | None, name: str) -> None:
    """Refuse a table that lacks columns of the training rows, or has others."""
    missing = [column for column in expected if column not in found]
    if missing:
        raise InputError(
            f"{name} lacks {listed(missing)}; expected the columns that the model was fitted to: {listed(expected)}. "
            "Add them, empty where values are missing."
        )
    other = [column for column in found if column not in (*expected, target)]
    if other:
        raise InputError(
            f"{name} has {listed(other)}, which the rows that the model was fitted to did not have; expected "
            f"{listed(expected)}. Remove them, or fit again."
        )
