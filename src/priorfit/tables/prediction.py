"""Predictions for the rows of a table without a target, by the estimators."""

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float64, Num, Shaped
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Real
from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError, TableWarning
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.too_many import TooManyColumns, TooManyRows
from priorfit.extras import needs_extra
from priorfit.network import Model
from priorfit.predictor import Predictor
from priorfit.tables.reading import Question, as_numbers, numbers_in

with needs_extra("tables"):
    import pandas as pd

QUANTILES = (0.025, 0.5, 0.975)

Row = dict[str, Any]


@dataclass(frozen=True)
class Excess:
    """The options for more rows or columns than a model takes; see the estimators."""

    rows: TooManyRows = "auto"
    columns: TooManyColumns = "auto"
    random_state: int = 0


@dataclass(frozen=True)
class Answer:
    """The queries and their posterior predictive, in the user's units.

    Context and queries are as the network sees them, ``labels`` are the names of the classes, and ``predictor``,
    conditioned on that context, gives that answer.
    """

    context_x: Float64[Tensor, "context columns"]
    context_y: Float64[Tensor, " context"]
    query_x: Float64[Tensor, "query columns"]
    ppd: Distribution
    labels: Shaped[np.ndarray, " classes"] | None = None
    predictor: Predictor | None = None

    def columns(self, levels: Sequence[float] = QUANTILES) -> dict[str, list[Any]]:
        """The columns of the answer for each query.

        Real targets have mean, stddev and quantiles; classes have the most probable one and all probabilities.
        """
        if self.labels is None:
            quantiles = {f"q{level}": self.ppd.icdf(self.ppd.mean.new_tensor(level)) for level in levels}
            described = {"mean": self.ppd.mean, "stddev": self.ppd.stddev, **quantiles}
            return {name: shortest(column) for name, column in described.items()}
        probs = class_probs(self.ppd)  # (query, classes)
        most_probable = self.labels[probs.argmax(-1).cpu().numpy()].tolist()
        columns = zip(self.labels.tolist(), probs.unbind(-1), strict=True)
        return {"class": most_probable, **{f"p_{label}": shortest(column) for label, column in columns}}


def answered(model: Model, question: Question, name: str, excess: Excess | None = None) -> Answer:
    """Predict the rows of a table without a target, by `PFNRegressor` or `PFNClassifier`.

    Without context rows the answer is that of the prior. ``name`` is what errors call the table.
    """
    if not len(question.context):
        return prior_answer(model, torch.tensor(numbers_of(question, name)))
    estimator = conditioned(model, question, name, excess)
    ppd = estimator.predict_distribution(question.queries)
    labels = estimator.classes_ if isinstance(estimator, PFNClassifier) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # which the prediction gave already
        shown = [
            torch.tensor(each, dtype=torch.float64) for each in (*estimator.context_, estimator.shown(question.queries))
        ]
    return Answer(shown[0], shown[1], shown[2], ppd, labels, estimator.predictor_)


def conditioned(
    model: Model, question: Question, name: str, excess: Excess | None = None
) -> PFNRegressor | PFNClassifier:
    """The estimator for a model's outcome, fitted to the rows of a table that have a target."""
    excess = excess or Excess()
    options: Any = {"too_many_rows": excess.rows, "too_many_columns": excess.columns}
    is_real = isinstance(model.problem.outcome, Real)
    kind = PFNRegressor if is_real else PFNClassifier
    estimator = kind(model, **options, random_state=excess.random_state)
    if isinstance(estimator, PFNRegressor):
        target = numbers_in(question.target, name, "leave the target empty to have it predicted").to_numpy(dtype=float)
    else:
        target = labels_in(question.target).to_numpy()
    return estimator.fit(question.context, target)


def numbers_of(question: Question, name: str) -> Float[np.ndarray, "query columns"]:
    """The queries of a table without any context; names of levels mean nothing there."""
    try:
        return question.queries.to_numpy(dtype=float, na_value=np.nan)
    except ValueError as error:
        raise InputError(
            f"{name} has text in its columns and no row with a target ({error}). Give rows with a target, which say "
            "what the text means."
        ) from error


def prior_answer(model: Model, x: Float64[Tensor, "query columns"]) -> Answer:
    """The prior predictive of a model, given no row."""
    none_x, none_y = x.new_zeros(0, x.shape[1]), x.new_zeros(0)
    with torch.no_grad():
        ppd = model.condition(none_x, none_y).predict(x)
    is_real = isinstance(model.problem.outcome, Real)
    return Answer(none_x, none_y, x, ppd, None if is_real else np.arange(class_probs(ppd).shape[-1]))


def labels_in(cells: "pd.Series") -> "pd.Series":
    """Labels as numbers where all of them are whole ones, else as they are written."""
    numbers = as_numbers(cells)
    is_whole = bool((np.isfinite(numbers) & (numbers == numbers.round())).all())
    return numbers.astype("int64") if is_whole else cells


def answer_rows(question: Question, answer: Answer, levels: Sequence[float] = QUANTILES) -> list[Row]:
    """For each predicted row its number in the file, its features, and the prediction of its target."""
    columns = answer.columns(checked_levels(levels))
    for column in ("row", *columns):
        if column in question.queries.columns:
            raise InputError(f"the feature column {column!r} is named as a column of the answer. Rename it.")
    known = question.queries.astype(object)
    features = known.where(question.queries.notna(), None).to_dict("records")
    rows = [
        {"row": number, **cells, **dict(zip(columns, values, strict=True))}
        for number, cells, *values in zip(question.numbers, features, *columns.values(), strict=True)
    ]
    check_finite(rows, list(columns))
    return rows


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Refuse levels outside of (0, 1), where quantiles may be infinite."""
    for level in levels:
        if not 0 < level < 1:
            raise InputError(f"a quantile must lie above 0 and below 1; got {level:g}. Write 95 % as 0.95.")
    return tuple(levels)


def shortest(column: Num[Tensor, " query"]) -> list[float]:
    """Python numbers with no more digits than the tensor's dtype holds: 0.1, not 0.10000000149011612."""
    values: Float[np.ndarray, " query"] = column.detach().cpu().numpy()
    return [float(str(value)) for value in values]


def check_finite(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Refuse an answer that is not finite."""
    cells = ((row["row"], column, row[column]) for row in rows for column in columns)
    for number, column, value in cells:
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"data row {number}: the model's {column} is {value}: expected inputs, targets and quantiles nearer "
                "to those of its training. Rescale them."
            )


def table_text(rows: Sequence[Row], layout: Literal["csv", "json"]) -> str:
    """Rows as the text of a file; each is one line of it."""
    if layout == "json":
        return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"
    return pd.DataFrame(list(rows), dtype=object).to_csv(index=False, lineterminator="\n")
