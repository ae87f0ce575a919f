"""How the cells of one column become numbers, as the training rows decide."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from priorfit.errors import InputError
from priorfit.estimators.cells import Cells, Names, Numbers, level_name, number_in
from priorfit.estimators.notices import warn_of_table

MOST_DISTINCT = 0.9
"""Text with more different values than this share of its cells is an identifier or free text."""

FEWEST_TEXTS = 10
"""Texts from which on that is judged."""

Coded = Float[np.ndarray, " rows"]


class Column(ABC):
    """How a column is read after training; ``fill`` is its median or most frequent code in the training rows."""

    name: str
    fill: float

    @abstractmethod
    def coded(self, cells: Cells) -> Coded:
        """The cells as numbers; NaN is missing."""

    @property
    def num_levels(self) -> int | None:
        """The number of levels of a nominal column, whose codes have no order; None of any other."""
        return None


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers as they are, truth values as 0 and 1."""

    name: str
    fill: float

    def coded(self, cells: Cells) -> Coded:
        """See `Column.coded`."""
        if isinstance(cells, Numbers):
            return cells.values
        numbers = [np.nan if name is None else number_in(name) for name in cells.values]
        if None in numbers:
            odd = cells.values[numbers.index(None)]
            raise InputError(
                f"column {self.name!r} held numbers in the training rows; got the text {odd!r}. Give numbers, or leave "
                "the cell empty (None or NaN) if it is missing."
            )
        return np.array(numbers, dtype=np.float64)


@dataclass(frozen=True)
class NominalColumn(Column):
    """Names as codes: of an ordered categorical its order, else 0, 1, ... by falling frequency, then by name."""

    name: str
    levels: tuple[str, ...]
    fill: float
    is_ordered: bool

    @property
    def num_levels(self) -> int | None:
        """See `Column.num_levels`."""
        return None if self.is_ordered else len(self.levels)

    def coded(self, cells: Cells) -> Coded:
        """See `Column.coded`; a level that the training rows did not have is missing, with a warning."""
        codes = {level: float(code) for code, level in enumerate(self.levels)}
        names = names_in(cells)
        unseen = dict.fromkeys(name for name in names if name is not None and name not in codes)
        if unseen:
            more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
            warn_of_table(
                f"column {self.name!r} has the level {next(iter(unseen))!r}{more}, which no training row has; such "
                "cells count as missing.",
            )
        return np.array([codes.get(name, np.nan) if name is not None else np.nan for name in names], dtype=np.float64)


@dataclass(frozen=True)
class EmptyColumn(Column):
    """A column without any value in the training rows tells nothing: it is constant, whatever comes later."""

    name: str
    fill: float = 0.0

    def coded(self, cells: Cells) -> Coded:
        """See `Column.coded`."""
        return np.zeros(len(cells.values))


def names_in(cells: Cells) -> list[str | None]:
    """The names of levels; numbers are named as `level_name` does."""
    if isinstance(cells, Names):
        return cells.values.tolist()
    return [None if number != number else level_name(number) for number in cells.values.tolist()]


def fitted_column(name: str, cells: Cells) -> Column:
    """How a column of the training rows is read from now on."""
    if isinstance(cells, Numbers):
        present = cells.values[~np.isnan(cells.values)]
        return NumberColumn(name, float(np.median(present))) if len(present) else empty(name)
    counts = Counter(value for value in cells.values.tolist() if value is not None)
    if not counts:
        return empty(name)
    if cells.levels is None:
        check_repeated(name, counts)
    by_frequency = sorted(counts, key=lambda level: (-counts[level], level))
    if cells.is_ordered and cells.levels is not None:
        return NominalColumn(name, cells.levels, float(cells.levels.index(by_frequency[0])), is_ordered=True)
    return NominalColumn(name, tuple(by_frequency), 0.0, is_ordered=False)


def empty(name: str) -> EmptyColumn:
    """A column of missing values, with a warning."""
    warn_of_table(
        f"column {name!r} has no value in the training rows and tells nothing; it is left constant.",
    )
    return EmptyColumn(name)


def check_repeated(name: str, counts: Counter[str]) -> None:
    """Refuse names, identifiers and free text, which a later row can hardly share."""
    total = sum(counts.values())
    if total >= FEWEST_TEXTS and len(counts) > MOST_DISTINCT * total:
        raise InputError(
            f"column {name!r} holds text of {len(counts)} different values in {total} cells, such as "
            f"{next(iter(counts))!r}: an identifier, a date or free text, from which nothing can be learned. Drop the "
            "column, or make numbers or fewer categories of it; if it is meant as it is, make it categorical: "
            "astype('category')."
        )
