"""More rows or columns than a model was trained for: the user's choice, never a silent cut."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from priorfit.errors import InputError
from priorfit.network import ModelCard, Problem

TooManyRows = Literal["error", "subsample", "use_all"]
TooManyColumns = Literal["error", "select"]

Scores = Callable[[], Float[np.ndarray, " features"]]
Labels = Int[np.ndarray, " rows"] | None


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a value that is not an option of a Literal."""
    if value not in get_args(choices):
        raise InputError(f"{name} must be one of {', '.join(map(repr, get_args(choices)))}; got {value!r}.")


def kept_rows(
    num_rows: int, card: ModelCard, choice: TooManyRows, labels: Labels, generator: np.random.RandomState
) -> Int[np.ndarray, " kept"]:
    """The rows that become the context. With the ``labels`` of classes, a random subsample keeps some of each."""
    most = None if card.trained_context is None else card.trained_context[1]
    if most is None or num_rows <= most or choice == "use_all":
        return np.arange(num_rows)
    if choice == "error":
        raise InputError(
            f"this model was trained on at most {most} rows; got {num_rows}. Choose: too_many_rows='subsample' takes "
            f"{most} of them at random (by random_state), too_many_rows='use_all' takes all and warns; or take a model "
            "that was trained on more."
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
    """The columns that the network sees: all, or those of the highest scores, in their order."""
    if num_columns < problem.fewest_features:
        raise InputError(
            f"this model takes {problem.takes}; got {num_columns} feature(s). Take a model for fewer, or train one "
            "on PaddedFeatures."
        )
    most = problem.num_features
    if num_columns <= most:
        return np.arange(num_columns)
    if choice == "error":
        raise InputError(
            f"this model takes {problem.takes}; got {num_columns} feature(s). Choose: too_many_columns='select' "
            f"takes the {most} that explain most of y in the training rows; or drop columns, or take a wider model."
        )
    best = np.argsort(-scores(), kind="stable")[:most]
    return np.sort(best)


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
