"""Tables as matrices of numbers in which NaN is missing: fitted to the training rows, then the same for all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from priorfit.estimators.cells import Numbers, columns_in, is_numeric
from priorfit.estimators.columns import Column, EmptyColumn, NumberColumn, fitted_column

Matrix = Float[np.ndarray, "rows columns"]


@dataclass(frozen=True)
class TableEncoder:
    """How each column of a table becomes numbers.

    Numbers stay what they are and truth values are 0 and 1. Text and categories become codes: of an ordered
    categorical by its order, of others by falling frequency in the training rows, then by name. A missing value, and a
    level that no training row had, is NaN.

    >>> table = np.array([["red", 1.5], ["blue", None], ["red", 2.5]], dtype=object)
    >>> fitted_encoder(table).encoded(table)
    array([[0. , 1.5],
           [1. , nan],
           [0. , 2.5]])
    """

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def fills(self) -> Float[np.ndarray, " columns"]:
        """What is put in place of a missing value where a model cannot read it."""
        return np.array([column.fill for column in self.columns])

    @property
    def num_levels(self) -> list[int | None]:
        """The number of levels of each nominal column; None of others."""
        return [column.num_levels for column in self.columns]

    def reads_plainly(self, table: Any) -> bool:
        """Whether the numbers of a table are already what `encoded` would give, but for empty columns."""
        return is_numeric(table) and all(isinstance(each, NumberColumn | EmptyColumn) for each in self.columns)

    def encoded(self, table: Any) -> Matrix:
        """A frame, or an array of any cells, as numbers."""
        if is_numeric(table):
            array = np.asarray(table, dtype=np.float64)
            cells = [Numbers(column) for column in array.T]
        else:
            cells = [each for _, each in columns_in(table)]
        return np.stack([column.coded(each) for column, each in zip(self.columns, cells, strict=True)], axis=1)

    def emptied(self, x: Matrix) -> Matrix:
        """Numbers with 0 in the columns that had no value in the training rows."""
        places = [place for place, column in enumerate(self.columns) if isinstance(column, EmptyColumn)]
        if places:
            x = x.copy()
            x[:, places] = 0.0
        return x


def fitted_encoder(table: Any) -> TableEncoder:
    """The encoder of the training rows of a frame, or of an array of any cells."""
    return TableEncoder(tuple(fitted_column(name, cells) for name, cells in columns_in(table)))


def numeric_encoder(x: Matrix, names: Sequence[str]) -> TableEncoder:
    """The encoder of training rows that are numbers already."""
    return TableEncoder(tuple(fitted_column(name, Numbers(each)) for name, each in zip(names, x.T, strict=True)))
