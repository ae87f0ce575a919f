"""Tables in, tables out: the rows of a CSV file whose target is empty, predicted from its other rows."""

import csv
import difflib
import io
import json
import math
import re
import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Float64, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Classes, Outcome
from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError
from priorfit.network import Task
from priorfit.predictor import Predictor

DELIMITERS = ",;\t"
LARGEST = torch.finfo(torch.float32).max
QUANTILES = (0.025, 0.5, 0.975)

Row = dict[str, int | float]


@dataclass(frozen=True)
class Table:
    """The cells of a file as text, all rows as long as the header; ``name`` is what errors call it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def place(self, row: int, column: str) -> str:
        """Where a cell is, in words; rows count from 0 here and from 1 in the words."""
        return f"{self.name}, data row {row + 1}, column {column!r}"


@dataclass(frozen=True)
class Question:
    """A table as a model reads it: a context, and the rows to predict with their numbers in the file (from 1)."""

    outcome: Outcome
    context_x: Float64[Tensor, "context features"]
    context_y: Float64[Tensor, " context"]
    query_x: Float64[Tensor, "query features"]
    query_features: tuple[Row, ...]
    query_numbers: tuple[int, ...]


def read_table(path: str | Path) -> Table:
    r"""A CSV file with a header, in UTF-8; comma, semicolon or tab, whichever divides the header.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = file.write_text("x;y\n0.1;2\n0.2;\n")
    >>> table = read_table(file)
    >>> table.columns, table.rows
    (('x', 'y'), (('0.1', '2'), ('0.2', '')))
    """
    text = file_text(Path(path))
    delimiter = max(DELIMITERS, key=lambda candidate: num_columns(text, candidate))
    try:
        header, *rows = [*records(text, delimiter)] or [()]
    except csv.Error as error:
        raise InputError(f"{path} is not valid CSV ({error}). Check its quotes.") from error
    check_header(str(path), header)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(
                f"{path}, data row {number}: expected {len(header)} cells as in the header ({listed(header)}), got "
                f"{len(row)}. An empty cell keeps its delimiter {delimiter!r}, and decimals are written with a point."
            )
    return Table(str(path), header, tuple(rows))


def records(text: str, delimiter: str) -> Iterator[tuple[str, ...]]:
    """The cells of each line that is not blank, without the spaces around them."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    for line in reader:
        cells = tuple(cell.strip() for cell in line)
        if len(cells) > 1 or any(cells):
            yield cells


def num_columns(text: str, delimiter: str) -> int:
    """Into how many columns a delimiter divides the header; 0 if the header's quotes speak against it."""
    try:
        return len(next(records(text, delimiter), ()))
    except csv.Error:
        return 0


def file_text(file: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark."""
    if file.is_dir() or not file.exists():
        found = "a folder" if file.is_dir() else "nothing"
        raise InputError(f"no file at {file}: expected a CSV file with a header, got {found}. Check the path.")
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start}). Save it as CSV in UTF-8.") from error


def check_header(name: str, header: Sequence[str]) -> None:
    """Refuse a file without one, a first line of numbers, and columns without a name of their own."""
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


def split_table(table: Table, task: Task, target: str | None = None) -> Question:
    """The rows with a target as context, those without as queries; ``target`` is by default the last column.

    >>> from priorfit.data import Real
    >>> table = Table("data.csv", ("x", "y"), (("0.1", "2"), ("0.2", "")))
    >>> question = split_table(table, Task(1, Real()))
    >>> question.context_x.shape, question.query_x.shape, question.query_numbers
    (torch.Size([1, 1]), torch.Size([1, 1]), (2,))
    """
    place = target_place(table, target)
    features = [column for position, column in enumerate(table.columns) if position != place]
    check_features(table, features, task, table.columns[place])
    inputs = [feature_cells(table, number, place) for number in range(len(table.rows))]
    context = [number for number, row in enumerate(table.rows) if row[place]]
    queries = [number for number, row in enumerate(table.rows) if not row[place]]
    if not queries:
        raise InputError(
            f"{table.name} has no rows to predict: expected some with an empty {table.columns[place]!r}, got "
            f"{len(context)} rows, all with a value. Leave the target empty where you want it predicted."
        )
    all_x = torch.tensor(inputs, dtype=torch.float64)  # (rows, features)
    return Question(
        outcome=task.outcome,
        context_x=all_x[context],
        context_y=torch.tensor([target_cell(table, number, place, task) for number in context], dtype=torch.float64),
        query_x=all_x[queries],
        query_features=tuple(dict(zip(features, inputs[number], strict=True)) for number in queries),
        query_numbers=tuple(number + 1 for number in queries),
    )


def target_place(table: Table, target: str | None) -> int:
    """The position of the target column."""
    if target is None:
        return len(table.columns) - 1
    if target in table.columns:
        return table.columns.index(target)
    (near,) = difflib.get_close_matches(target, table.columns, n=1, cutoff=0.0)
    raise InputError(
        f"{table.name} has no column {target!r} to be the target; it has {listed(table.columns)}. "
        f"Did you mean {near!r}?"
    )


def check_features(table: Table, features: Sequence[str], task: Task, target: str) -> None:
    """Refuse a table of another width than the model's."""
    if len(features) != task.num_features:
        raise InputError(
            f"{table.name}: this model takes {task.num_features} feature column(s); got {len(features)} beside the "
            f"target {target!r} ({listed(features) or 'none'}). Keep those it was trained on, or take another model."
        )


def feature_cells(table: Table, row: int, target: int) -> list[int | float]:
    """The features of a row as numbers."""
    cells = zip(table.columns, table.rows[row], strict=True)
    return [
        number_in(cell, table.place(row, column), "a number", "drop the row")
        for position, (column, cell) in enumerate(cells)
        if position != target
    ]


def target_cell(table: Table, row: int, target: int, task: Task) -> int | float:
    """A target that is there: a number, or one of the classes."""
    where, cell = table.place(row, table.columns[target]), table.rows[row][target]
    remedy = "leave the target empty to have it predicted"
    if not isinstance(task.outcome, Classes):
        return number_in(cell, where, "a number", remedy)
    last = task.outcome.count - 1
    value = number_in(cell, where, f"a class, 0 ... {last}", remedy)
    if value not in range(last + 1):
        raise InputError(f"{where}: expected a class, 0 ... {last}, got {cell!r}. Number the classes from 0.")
    return value


def number_in(cell: str, where: str, expected: str, remedy: str) -> int | float:
    """A cell as a finite number; one that is written without a point stays whole."""
    if not is_number(cell):
        got = reprlib.repr(cell) if cell else "an empty cell"
        raise InputError(f"{where}: expected {expected}, got {got}. Write numbers as 1.5 or 2e-3, or {remedy}.")
    if not abs(float(cell)) <= LARGEST:  # so is NaN refused
        raise InputError(f"{where}: expected {expected}, finite and below 3.4e38, got {cell}. Correct it, or {remedy}.")
    return int(cell) if re.fullmatch(r"[+-]?\d+", cell) else float(cell)


def is_number(cell: str) -> bool:
    """Whether a cell holds a number as files write them; Python would also take 1_000."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Refuse levels that are no probabilities, and those where quantiles may be infinite."""
    for level in levels:
        if not 0 < level < 1:
            raise InputError(f"a quantile must lie above 0 and below 1; got {level:g}. Write 95 % as 0.95.")
    return tuple(levels)


def predict_table(predictor: Predictor, question: Question, quantiles: Sequence[float] = QUANTILES) -> list[Row]:
    """For each row to predict its number, its features, and what the predictor says of its target.

    That is mean, stddev and the quantiles of a real target; the most probable class and all probabilities of classes.
    """
    levels = checked_levels(quantiles)
    with torch.no_grad():
        ppd = predictor.condition(question.context_x, question.context_y).predict(question.query_x)
        answer = class_answer(ppd) if isinstance(question.outcome, Classes) else real_answer(ppd, levels)
    for column in ("row", *answer):
        if column in question.query_features[0]:
            raise InputError(f"the feature column {column!r} is named as a column of the answer. Rename it.")
    columns = [shortest(column) for column in answer.values()]
    rows = [
        {"row": number, **features, **dict(zip(answer, values, strict=True))}
        for number, features, *values in zip(question.query_numbers, question.query_features, *columns, strict=True)
    ]
    check_finite(rows)
    return rows


def real_answer(ppd: Distribution, levels: Sequence[float]) -> dict[str, Float[Tensor, " query"]]:
    """The columns that describe a real target."""
    quantiles = {f"q{level}": ppd.icdf(ppd.mean.new_tensor(level)) for level in levels}
    return {"mean": ppd.mean, "stddev": ppd.stddev, **quantiles}


def class_answer(ppd: Distribution) -> dict[str, Num[Tensor, " query"]]:
    """The columns that describe a class."""
    probs = class_probs(ppd)  # (query, classes)
    return {"class": probs.argmax(-1), **{f"p{number}": column for number, column in enumerate(probs.unbind(-1))}}


def shortest(column: Num[Tensor, " query"]) -> list[int | float]:
    """Python numbers with no more digits than the tensor's dtype holds: 0.1, not 0.10000000149011612."""
    if not column.is_floating_point():
        return column.tolist()
    return [float(str(value)) for value in column.cpu().numpy()]


def check_finite(rows: Sequence[Row]) -> None:
    """Refuse to hand out what is no number."""
    cells = ((row["row"], column, value) for row in rows for column, value in row.items())
    for number, column, value in cells:
        if not math.isfinite(value):
            raise InputError(
                f"data row {number}: the model's {column} is {value}: expected inputs, targets and quantiles nearer "
                "to those of its training. Rescale them."
            )


def table_text(rows: Sequence[Row], layout: Literal["csv", "json"]) -> str:
    """Rows as the text of a file; each is one line of it."""
    if layout == "json":
        return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first few names, divided by commas."""
    return ", ".join(map(reprlib.repr, names[:most])) + (f", ... ({len(names)} in all)" if len(names) > most else "")
