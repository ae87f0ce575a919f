"""The columns of a table as users have them: numbers or names, of pandas, of numpy or of lists.

A frame is known by its class, which is there if pandas is loaded: nothing here loads it.
"""

import datetime
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from priorfit.errors import CellTypeError, InputError

DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
MISSING_TYPES = ("NAType", "NaTType")
"""The types of ``pandas.NA`` and ``pandas.NaT``."""

FEW_LEVELS = 10
"""A column of text and whole numbers with at most this many different cells holds names, such as 2, 3, 4, 5more."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; NaN is missing."""

    values: Float[np.ndarray, " rows"]


@dataclass(frozen=True)
class Names:
    """A column of names; None is missing.

    ``levels`` are those of a categorical column of pandas, in its own order; None of any other column. ``is_ordered``
    says whether that order means anything.
    """

    values: Shaped[np.ndarray, " rows"]
    levels: tuple[str, ...] | None = None
    is_ordered: bool = False


Cells = Numbers | Names


def is_numeric(table: Any) -> bool:
    """Whether a table can be read as one array of plain numbers; scikit-learn explains what is no table at all."""
    frame = as_frame(table)
    if frame is not None:
        return all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in frame.dtypes)
    array = as_array(table)
    return array is None or array.dtype.kind not in "OUS"


def as_frame(table: Any) -> Any:
    """A frame of pandas, or None."""
    pandas = sys.modules.get("pandas")
    return table if pandas is not None and isinstance(table, pandas.DataFrame) else None


def as_array(table: Any) -> Shaped[np.ndarray, "rows columns"] | None:
    """Rows and columns as an array, or None where they are none."""
    try:
        array = np.asarray(table)
    except (ValueError, TypeError):
        return None
    return array if array.ndim == 2 else None


def rows_and_columns(table: Any) -> Any:
    """A frame as it is; rows in any other form as an array."""
    return table if as_frame(table) is not None else as_array(table)


def columns_in(table: Any) -> list[tuple[str, Cells]]:
    """The columns of a frame or of an array of objects with their names; an array has numbers as names."""
    frame = as_frame(table)
    if frame is not None:
        return [(str(name), series_cells(frame.iloc[:, place], str(name))) for place, name in enumerate(frame.columns)]
    array = as_array(table)
    assert array is not None  # `is_numeric` sends everything else to scikit-learn
    array = array.astype(str) if array.dtype.kind == "S" else array
    return [(str(place), object_cells(array[:, place].tolist(), str(place))) for place in range(array.shape[1])]


def series_cells(series: Any, name: str) -> Cells:
    """A column of a frame by its dtype: categorical, numeric or boolean (nullable or not), else by its cells."""
    pandas, dtype = sys.modules["pandas"], series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        levels = [level_name(level) for level in dtype.categories]
        values = np.array([*levels, None], dtype=object)[series.cat.codes.to_numpy()]
        return Names(values, tuple(levels), bool(dtype.ordered))
    if dtype.kind in "mM" or isinstance(dtype, pandas.PeriodDtype):
        raise dated(name, str(dtype))
    if dtype.kind in "biuf":
        return Numbers(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return object_cells(series.to_numpy(dtype=object).tolist(), name)


def object_cells(cells: Sequence[Any], name: str) -> Cells:
    """Cells of any type: all of them numbers, or texts that read as such; else names."""
    check_types(cells, name)
    missing = [is_missing(cell) for cell in cells]
    levels = dict.fromkeys(cell for cell, is_gone in zip(cells, missing, strict=True) if not is_gone)
    numbers = {level: number_in(level) for level in levels}  # of each different cell once, since most come again
    if None not in numbers.values():
        pairs = zip(cells, missing, strict=True)
        return Numbers(np.array([np.nan if is_gone else numbers[cell] for cell, is_gone in pairs], dtype=np.float64))
    names = {level: level_name(level) for level in levels}
    odd = text_among_numbers(names.values())
    if odd is not None:
        raise InputError(
            f"column {name!r} holds numbers and text, such as {odd!r}; expected one of both. Correct that cell, or "
            "leave it empty (None or NaN) if it is missing; if these are names, make the column categorical: "
            "astype('category')."
        )
    pairs = zip(cells, missing, strict=True)
    return Names(np.array([None if is_gone else names[cell] for cell, is_gone in pairs], dtype=object))


def check_types(cells: Sequence[Any], name: str) -> None:
    """Refuse dates, and what is neither a number nor a text."""
    for kind in dict.fromkeys(map(type, cells)):
        if issubclass(kind, str | Real | Decimal | np.bool_ | type(None)) or kind.__name__ in MISSING_TYPES:
            continue
        if issubclass(kind, DATES) or kind.__name__ == "Period":
            raise dated(name, kind.__name__)
        raise CellTypeError(
            f"column {name!r}, row {[type(cell) for cell in cells].index(kind)}: the argument must be a string or a "
            f"number; got {kind.__name__}. Drop the column, or make numbers of it."
        )


def dated(name: str, kind: str) -> InputError:
    """The error of a column of dates or durations."""
    return InputError(
        f"column {name!r} holds dates or durations ({kind}), whose numbers depend on their unit. Give numbers that say "
        "what matters in place of it, such as days since the first row, month and weekday; or drop it."
    )


def is_missing(cell: object) -> bool:
    """None, NaN, and the missing values of pandas."""
    if cell is None or type(cell).__name__ in MISSING_TYPES:
        return True
    return isinstance(cell, float | np.floating | Decimal) and bool(cell != cell)


def number_in(cell: object) -> float | None:
    """A number, or a text that reads as one; None where it does not.

    >>> number_in("1e-3"), number_in(True), number_in("1_000"), number_in("red")
    (0.001, 1.0, None, None)
    """
    if isinstance(cell, str) and "_" in cell:
        return None
    try:
        return float(cell)  # pyright: ignore[reportArgumentType]
    except ValueError:
        return None


def level_name(cell: object) -> str:
    """The name of a level: whole numbers alike, whether they come as 3, 3.0 or "3"."""
    is_whole = isinstance(cell, float | np.floating) and cell == np.floor(cell) and np.isfinite(cell)
    return str(int(cell) if is_whole else cell)  # pyright: ignore[reportArgumentType]


def text_among_numbers(names: Iterable[str | None]) -> str | None:
    """The first text in a column that holds numbers else; None where text or few whole numbers show that it has names.

    >>> text_among_numbers(["0.1", "red", "2"]), text_among_numbers(["2", "4", "5more"])
    ('red', None)
    """
    levels = dict.fromkeys(name for name in names if name is not None)
    numbers = {level: number for level in levels if (number := number_in(level)) is not None}
    texts = [level for level in levels if level not in numbers]
    is_measured = any(number % 1 for number in numbers.values())
    are_many = len(levels) > FEW_LEVELS and len(numbers) > len(texts)
    return texts[0] if texts and (is_measured or are_many) else None
