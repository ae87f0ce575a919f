"""CSV files as frames: the rows with a target are the context, those without are the queries."""

import csv
import difflib
import io
import reprlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from priorfit.errors import InputError
from priorfit.estimators.cells import text_among_numbers
from priorfit.extras import needs_extra

with needs_extra("tables"):
    import pandas as pd

DELIMITERS = ",;\t"
EMPTY = ("", "NA", "NaN", "nan", "<NA>")
"""Texts of cells that count as empty."""

TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
"""Truth values as pandas reads them."""


@dataclass(frozen=True)
class Question:
    """A table as a model reads it: rows with a target, rows without, and their numbers in the file (from 1)."""

    context: "pd.DataFrame"
    target: "pd.Series"
    queries: "pd.DataFrame"
    numbers: tuple[int, ...]


def read_table(path: str | Path) -> "pd.DataFrame":
    r"""A CSV file with a header, in UTF-8, as text; comma, semicolon or tab, whichever divides the header.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = file.write_text("x;y\n0.1;2\n0.2;\n")
    >>> read_table(file).to_dict("list")
    {'x': ['0.1', '0.2'], 'y': ['2', '']}
    """
    text = file_text(Path(path))
    header = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=lambda each: len(cells(header, each)))
    check_header(str(path), [cell.strip() for cell in cells(header, delimiter)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                engine="python",  # the C engine pads short rows with empty cells
                skipinitialspace=True,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise InputError(
            f"{path} is not a table of {len(cells(header, delimiter))} columns as its header says ({error}). Check its "
            f"quotes; an empty cell keeps its delimiter {delimiter!r}, and decimals are written with a point."
        ) from error
    frame.columns = [str(column).strip() for column in frame.columns]
    check_rows(str(path), frame, delimiter)
    return frame.map(str.strip)


def cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line; none where its quotes contradict a delimiter."""
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []


def file_text(file: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark."""
    if file.is_dir() or not file.exists():
        found = "a folder" if file.is_dir() else "nothing"
        raise InputError(f"no file at {file}: expected a CSV file with a header, got {found}. Check the path.")
    try:
        return file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start}). Save it as CSV in UTF-8.") from error


def check_header(name: str, header: Sequence[str]) -> None:
    """Refuse a file without a header, a header of numbers, and columns without a unique name."""
    if not header:
        raise InputError(f"{name} is empty; expected a header with the names of the columns, then rows.")
    if any(header) and all(cell == "" or is_number(cell) for cell in header):
        raise InputError(
            f"{name} has no header: its first line holds numbers ({listed(header)}); expected the names of the "
            "columns. Add them as the first line."
        )
    for position, column in enumerate(header, start=1):
        if not column:
            raise InputError(
                f"{name}, header: column {position} of {len(header)} has no name; expected one for each column. "
                "Name it, or remove it (in pandas: index=False)."
            )
        if column in header[: position - 1]:
            raise InputError(f"{name}, header: two columns are named {column!r}; expected each name once. Rename one.")


def check_rows(name: str, frame: "pd.DataFrame", delimiter: str) -> None:
    """Refuse rows that are shorter than the header, which pandas fills with missing cells."""
    short = frame.isna().any(axis=1).to_numpy()
    if short.any():
        number = int(short.argmax())
        raise InputError(
            f"{name}, data row {number + 1}: expected {frame.shape[1]} cells as in the header "
            f"({listed(list(frame.columns))}), got {int(frame.iloc[number].notna().sum())}. An empty cell keeps its "
            f"delimiter {delimiter!r}, and decimals are written with a point."
        )


def split_table(frame: "pd.DataFrame", name: str, target: str | None = None) -> Question:
    """As `parted`; a table without queries is refused."""
    question = parted(frame, name, target)
    if not question.numbers:
        raise nothing_to_predict(name, target_column(frame, name, target), len(frame))
    return question


def nothing_to_predict(name: str, column: str | None, num_rows: int) -> InputError:
    """The error of a table whose rows all have a target."""
    return InputError(
        f"{name} has no rows to predict: expected some with an empty {column!r}, got {num_rows} rows, all with a "
        "value. Leave the target empty where you want it predicted."
    )


def parted(frame: "pd.DataFrame", name: str, target: str | None = None) -> Question:
    """The rows with a target as context, those without as queries; ``target`` is by default the last column."""
    column = target_column(frame, name, target)
    features = frame.drop(columns=column).apply(lambda cells: typed(cells, name))
    targets = pd.Series(frame[column])
    is_query = targets.isin(EMPTY).to_numpy()
    rows, context = np.flatnonzero(is_query), np.flatnonzero(~is_query)
    numbers = tuple(int(row) + 1 for row in rows)
    return Question(features.iloc[context], targets.iloc[context], features.iloc[rows], numbers)


def target_column(frame: "pd.DataFrame", name: str, target: str | None) -> str:
    """The name of the target column."""
    names = list(frame.columns)
    if target is None:
        return names[-1]
    if target in names:
        return target
    (near,) = difflib.get_close_matches(target, names, n=1, cutoff=0.0)
    raise InputError(
        f"{name} has no column {target!r} to be the target; it has {listed(names)}. Did you mean {near!r}?"
    )


def numbers_in(cells: "pd.Series", name: str, remedy: str) -> "pd.Series":
    """A column of text as finite numbers, or an error that names the cell."""
    numbers = as_numbers(cells.where(~cells.str.contains("_"), "text"))
    wrong = ~np.isfinite(numbers.to_numpy(dtype=float))
    if wrong.any():
        row = int(wrong.argmax())
        cell = cells.iloc[row]
        got = "an empty cell" if cell in EMPTY else reprlib.repr(cell)
        raise InputError(
            f"{name}, data row {int(cells.index[row]) + 1}, column {cells.name!r}: expected a finite number, got "
            f"{got}. Write numbers as 1.5 or 2e-3, or {remedy}."
        )
    return numbers


def typed(cells: "pd.Series", name: str) -> "pd.Series":
    """A column of text as numbers, as truth values or as names, whichever all of its cells are; empty ones are missing.

    Text among numbers is refused, and so are infinite ones, by their row and column.
    """
    is_empty = cells.isin(EMPTY)
    present = pd.Series(cells[~is_empty])
    if present.isin(TRUTHS).all() and len(present):
        return cells.map(TRUTHS).astype("boolean")
    odd = text_among_numbers(present)
    if odd is None and not present.map(is_number).all():
        return cells.astype(object).where(~is_empty, None)
    return numbers_in(present, name, "leave the cell empty if it is missing").reindex(cells.index)


def as_numbers(cells: "pd.Series") -> "pd.Series":
    """Text as numbers; NaN where it is not a number."""
    return pd.Series(pd.to_numeric(cells, errors="coerce"), index=cells.index, name=cells.name)


def is_number(cell: str) -> bool:
    """Whether a cell holds a number as files write them; Python would also take 1_000."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first few names, separated by commas."""
    return ", ".join(map(reprlib.repr, names[:most])) + (f", ... ({len(names)} in all)" if len(names) > most else "")
