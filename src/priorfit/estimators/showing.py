"""From encoded columns to those that a model is shown: some of them, filled where it knows no missing values, one-hot.

A model whose ``problem.missing`` is true reads missing values and codes as they are. Any other gets the median or the
most frequent level in place of a missing value, with a warning; its nominal columns become one column a level, the
columns of fewest levels first, as long as the model takes so many; the rest stay codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from priorfit.estimators.encoding import Matrix, TableEncoder
from priorfit.estimators.notices import warn_of_table
from priorfit.network import Problem


@dataclass(frozen=True)
class Showing:
    """Which encoded columns a model is shown, and how.

    ``fills`` replace missing values (None: the model reads them), ``one_hot`` holds the number of levels of each column
    that becomes one column a level, None of others; a missing value is 0 in all of these.
    """

    names: tuple[str, ...]
    columns: Int[np.ndarray, " used"]
    fills: Float[np.ndarray, " used"] | None
    one_hot: tuple[int | None, ...]
    num_levels: tuple[int | None, ...]

    def shown(self, x: Matrix) -> Float[np.ndarray, "rows shown"]:
        """The columns as the model sees them."""
        x = self._filled(x[:, self.columns])
        if not any(self.one_hot):
            return x
        pieces = [
            column[:, None] if count is None else (column[:, None] == np.arange(count)).astype(x.dtype)
            for column, count in zip(x.T, self.one_hot, strict=True)
        ]
        return np.concatenate(pieces, axis=1)

    @property
    def shown_levels(self) -> list[int | None]:
        """The number of levels of each shown column that holds codes without an order; None of others."""
        return [
            levels if count is None else None
            for count, levels in zip(self.one_hot, self.num_levels, strict=True)
            for _ in range(count or 1)
        ]

    def _filled(self, x: Matrix) -> Matrix:
        if self.fills is None:
            return x
        is_filled = np.isnan(x) & np.array([count is None for count in self.one_hot])
        if not is_filled.any():
            return x
        names = [self.names[place] for place in np.flatnonzero(is_filled.any(0))]
        warn_of_table(
            f"this model has no token for missing values: {int(is_filled.sum())} of them in {listed(names)} become the "
            "median, or the most frequent level, of the training rows. Take a model that reads missing values, or "
            "impute them as you choose.",
        )
        return np.where(is_filled, self.fills.astype(x.dtype), x)


def showing_for(problem: Problem, encoder: TableEncoder, columns: Int[np.ndarray, " used"]) -> Showing:
    """How the columns in use are shown to a model."""
    levels = [encoder.num_levels[place] for place in columns]
    one_hot = [None] * len(levels) if problem.missing else one_hot_levels(levels, problem.num_features)
    names = tuple(encoder.names[place] for place in columns)
    fills = None if problem.missing else encoder.fills[columns]
    return Showing(names, columns, fills, tuple(one_hot), tuple(levels))


def one_hot_levels(levels: Sequence[int | None], most: int) -> list[int | None]:
    """The levels of the columns that become one column a level, the fewest levels first, up to ``most`` columns.

    >>> one_hot_levels([None, 4, 2, 3], most=7), one_hot_levels([None, 4, 2, 3], most=9)
    ([None, None, None, 3], [None, 4, None, 3])
    """
    spare, chosen = most - len(levels), list[int | None]([None] * len(levels))
    nominal = [(count, place) for place, count in enumerate(levels) if count is not None and count > 2]
    for count, place in sorted(nominal):
        if count - 1 <= spare:
            chosen[place], spare = count, spare - (count - 1)
    return chosen


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few columns, by name."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names[:most]))}{more}"
