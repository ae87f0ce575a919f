"""More rows or columns than a model was trained for: the user's choice, never a silent cut."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from priorfit.errors import InputError
from priorfit.estimators.notices import warn_of_table
from priorfit.network import ModelCard, Problem

TooManyRows = Literal["auto", "local", "subsample", "use_all", "error"]
TooManyColumns = Literal["auto", "select", "error"]

Scores = Callable[[], Float[np.ndarray, " features"]]
Labels = Int[np.ndarray, " rows"] | None


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a value that is not an option of a Literal."""
    if value not in get_args(choices):
        raise InputError(f"{name} must be one of {', '.join(map(repr, get_args(choices)))}; got {value!r}.")


def most_rows(card: ModelCard) -> int | None:
    """The largest context of a model's training; None where it is not known."""
    return None if card.trained_context is None else card.trained_context[1]


def answers_locally(num_rows: int, card: ModelCard, choice: TooManyRows) -> bool:
    """Whether queries are answered from the rows near to them; where nobody chose that, a warning says so."""
    most = most_rows(card)
    if most is None or num_rows <= most or choice not in ("auto", "local"):
        return False
    if choice == "auto":
        warn_of_table(
            f"this model was trained on at most {most} rows; got {num_rows}. Each query is answered from {most} of "
            "them, most of which are near to it: too_many_rows='local', which says so without this warning. Others are "
            "'subsample' (one random part), 'use_all' (all at once, beyond what it was trained for) and 'error'.",
        )
    return True


def kept_rows(
    num_rows: int, card: ModelCard, choice: TooManyRows, labels: Labels, generator: np.random.RandomState
) -> Int[np.ndarray, " kept"]:
    """The rows that are used. With the ``labels`` of classes, a random subsample keeps some of each."""
    most = most_rows(card)
    if most is None or num_rows <= most or choice in ("auto", "local", "use_all"):
        return np.arange(num_rows)
    if choice == "error":
        raise InputError(
            f"this model was trained on at most {most} rows; got {num_rows}. Choose: too_many_rows='local' answers "
            f"each query from {most} rows near to it, 'subsample' takes {most} of them at random (by random_state), "
            "'use_all' takes all and warns; or take a model that was trained on more."
        )
    return random_rows(num_rows, most, labels, generator)


def random_rows(num_rows: int, size: int, labels: Labels, generator: np.random.RandomState) -> Int[np.ndarray, " kept"]:
    """Rows drawn without replacement, in their order; one of each class first, so that no class is lost."""
    order = generator.permutation(num_rows)
    if labels is not None:
        _, first = np.unique(labels[order], return_index=True)
        if len(first) > size:
            raise InputError(f"{size} rows, as many as this model takes, cannot hold {len(first)} classes.")
        order = np.concatenate([order[first], np.delete(order, first)])
    return np.sort(order[:size])


def kept_columns(
    num_columns: int, problem: Problem, choice: TooManyColumns, scores: Scores
) -> Int[np.ndarray, " used"]:
    """The columns that the network sees: all, or those of the highest scores, in their order.

    By default they are chosen for models that take various numbers of columns; those of one number mean others by it.
    """
    if num_columns < problem.fewest_features:
        raise InputError(
            f"this model takes {problem.takes}; got {num_columns} feature(s). Take a model for fewer, or train one "
            "on PaddedFeatures."
        )
    most = problem.num_features
    if num_columns <= most:
        return np.arange(num_columns)
    if choice == "error" or (choice == "auto" and problem.fewest_features == most):
        raise InputError(
            f"this model takes {problem.takes}; got {num_columns} feature(s). Choose: too_many_columns='select' "
            f"takes the {most} that explain most of y in the training rows; or drop columns, or take a wider model."
        )
    best = np.sort(np.argsort(-scores(), kind="stable")[:most])
    if choice == "auto":
        warn_of_table(
            f"this model takes {problem.takes}; got {num_columns}. The {most} that explain most of y in the training "
            "rows, each alone, are used (columns_ says which): too_many_columns='select', which says so without this "
            "warning. Or choose columns yourself, or take 'error'.",
        )
    return best


def explained(
    x: Float[np.ndarray, "rows features"], y: Float[np.ndarray, "rows targets"], levels: Sequence[int | None]
) -> Float[np.ndarray, " features"]:
    """The share of variance that each column has in common with y, a column of reals or the indicators of classes.

    For a column of numbers it is that of the column between classes (eta squared), or of y along a line (r squared);
    for a nominal one that of y between its levels, less what chance would give. A missing value counts as the mean.
    """
    numbers = filled_by_mean(x)
    scores = explained_by_line(numbers, y[:, 0]) if y.shape[1] == 1 else explained_by_classes(numbers, y.argmax(1))
    for place, count in enumerate(levels):
        if count is not None:
            scores[place] = explained_by_levels(x[:, place], y)
    return scores


def filled_by_mean(x: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows features"]:
    """Columns whose missing values are their mean; 0 where all are missing."""
    is_missing = np.isnan(x)
    if not is_missing.any():
        return x
    count = (~is_missing).sum(0)
    mean = np.where(is_missing, 0.0, x).sum(0) / np.maximum(count, 1)
    return np.where(is_missing, mean, x)


def explained_by_levels(codes: Float[np.ndarray, " rows"], y: Float[np.ndarray, "rows targets"]) -> float:
    """The share of y's variance between the levels of a column, less what as many random levels would have.

    For indicators of classes it is the tau of Goodman and Kruskal; missing values are a level of their own.
    """
    _, level = np.unique(codes, return_inverse=True)
    centred = y - y.mean(0)
    sizes = np.bincount(level)
    sums = np.stack([np.bincount(level, weights=column) for column in centred.T])
    between, total = float((sums**2 / sizes).sum()), float((centred**2).sum())
    freedom = len(y) - len(sizes)
    if total <= 0 or freedom <= 0:
        return 0.0
    return 1 - (1 - between / total) * (len(y) - 1) / freedom


def explained_by_classes(
    x: Float[np.ndarray, "rows features"], labels: Int[np.ndarray, " rows"]
) -> Float[np.ndarray, " features"]:
    """The share of each column's variance that lies between classes (eta squared); 0 for a constant column."""
    centred = centred_and_sized(x)
    members = [centred[labels == label] for label in np.unique(labels)]
    between = np.sum([len(each) * each.mean(0) ** 2 for each in members], axis=0)
    return share(between, (centred**2).sum(0))


def explained_by_line(
    x: Float[np.ndarray, "rows features"], y: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " features"]:
    """The share of y's variance that a line through each column explains (r squared); 0 for a constant column."""
    centred, target = centred_and_sized(x), centred_and_sized(y[:, None])
    return share((centred * target).sum(0) ** 2, (centred**2).sum(0) * (target**2).sum(0))


def centred_and_sized(x: Float[np.ndarray, "rows features"]) -> Float[np.ndarray, "rows features"]:
    """Columns of mean 0 and at most 1 in absolute value, so that squares neither overflow nor underflow."""
    centred = x.astype(np.float64) - x.mean(0, dtype=np.float64)
    return share(centred, np.broadcast_to(np.abs(centred).max(0), centred.shape))


def share(part: Float[np.ndarray, "*shape"], whole: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """A quotient that is 0 where its denominator is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
