"""Small tables to predict: a folder of data, its subsets, and one question of a subset.

The folder holds ``INDEX.csv`` (one row a file), ``splits/NAME.json`` and the tables as CSV: a header, ``target`` as the
last column, text for categories, an empty cell for a missing value. It is given by ``--data`` or by the environment
variable ``PRIORFIT_DATA``, itself or as the ``tabular`` of a folder of all data; no data are committed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Num
from study import DATA, data_folder

EXCLUDED = "german.numer"
"""A validation set whose people are those of credit-g, a set of the study: nothing is chosen on it."""

Matrix = Float[np.ndarray, "rows features"]
Targets = Num[np.ndarray, " rows"]


@dataclass(frozen=True)
class Task:
    """One question: the labelled rows of a subset (context), and the rows to predict (query).

    Targets are numbers, or codes 0 ... K - 1 of the classes. Frames hold numbers, text and gaps as the file has them.
    """

    set: str
    subset: int
    context_x: pd.DataFrame
    context_y: Targets
    query_x: pd.DataFrame
    query_y: Targets

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """The columns that hold text."""
        return tuple(i for i, kind in enumerate(self.context_x.dtypes) if not pd.api.types.is_numeric_dtype(kind))

    def matrices(self) -> tuple[Matrix, Matrix]:
        """Context and query as numbers: NaN where a value is missing, ordinal codes for categories.

        The levels of the context, sorted, have the codes 0, 1, ...; all other levels have the code after the last.
        """
        context, query = np.empty(self.context_x.shape), np.empty(self.query_x.shape)
        for i, name in enumerate(self.context_x.columns):
            levels = sorted(self.context_x[name].dropna().unique()) if i in self.categorical else None
            context[:, i], query[:, i] = (coded(x[name], levels) for x in (self.context_x, self.query_x))
        return context, query

    @property
    def num_classes(self) -> int:
        """How many classes the context holds; only for classification."""
        return int(self.context_y.max()) + 1


def coded(column: pd.Series, levels: Sequence[object] | None) -> Float[np.ndarray, " rows"]:
    """A column as numbers; ``levels`` are the categories with the codes 0, 1, ..., None for a column of numbers."""
    if levels is None:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    codes = {level: float(code) for code, level in enumerate(levels)}
    return np.array([np.nan if pd.isna(value) else codes.get(value, float(len(codes))) for value in column])


@dataclass(frozen=True)
class Subset:
    """Row numbers of a table: those whose targets are given, and those to predict."""

    context: Int[np.ndarray, " context"]
    query: Int[np.ndarray, " query"]


@dataclass(frozen=True)
class Table:
    """A set: its columns, its target and its subsets."""

    name: str
    x: pd.DataFrame
    y: pd.Series
    subsets: tuple[Subset, ...]
    classes: tuple[str, ...] | None = None
    """Two classes as text, the second being class 1; None where the context of each subset says which there are."""
    is_regression: bool = False

    @property
    def scale(self) -> float:
        """The standard deviation of the target over the whole table: the unit in which errors are comparable."""
        return float(self.y.astype(float).std(ddof=0))

    def task(self, index: int, num_context: int | None = None) -> Task:
        """One subset as a question, with the first ``num_context`` labelled rows, or all of them.

        Queries of a class that the context does not hold are left out: no method can name that class.
        """
        subset = self.subsets[index]
        context, query = subset.context[:num_context], subset.query
        if self.is_regression:
            target = self.y.to_numpy(dtype=np.float64)
            return self._task(index, context, query, (target[context], target[query]))
        text = self.y.astype(str).to_numpy()
        codes = {name: code for code, name in enumerate(self.classes or sorted(set(text[context])))}
        query = query[np.isin(text[query], list(codes))]
        labels = [np.array([codes[name] for name in text[rows]], dtype=np.int64) for rows in (context, query)]
        return self._task(index, context, query, (labels[0], labels[1]))

    def _task(
        self, index: int, context: Int[np.ndarray, " c"], query: Int[np.ndarray, " q"], y: tuple[Targets, Targets]
    ) -> Task:
        return Task(self.name, index, self.x.iloc[context], y[0], self.x.iloc[query], y[1])


class Source(Protocol):
    """Where tables come from: a `Folder`, or OpenML."""

    label: str

    def names(self, group: str) -> list[str]:
        """The sets of a group."""
        ...

    def table(self, name: str) -> Table:
        """A set by its name."""
        ...

    def other_answers(self) -> pd.DataFrame | None:
        """What another method answered: columns set, subset, row, probability of class 1."""
        ...


class Folder:
    """A folder of tables with their subsets."""

    label = "folder"

    def __init__(self, path: Path) -> None:
        if not (path / "INDEX.csv").exists():
            raise SystemExit(f"{path} is no folder of tables: INDEX.csv is missing. Give one by --data or {DATA}.")
        self.path = path
        self._index = pd.read_csv(path / "INDEX.csv")

    def names(self, group: str) -> list[str]:
        """The sets of a group that have subsets, in the order of the index."""
        names = self._index.loc[self._index["group"] == group, "name"]
        return [name for name in names if (self.path / "splits" / f"{name}.json").exists() and name != EXCLUDED]

    @cache  # noqa: B019  (a folder lives as long as the run)
    def table(self, name: str) -> Table:
        """A set by its name."""
        split = json.loads((self.path / "splits" / f"{name}.json").read_text(encoding="utf-8"))
        num_classes = int(self._index.loc[self._index["name"] == name, "n_classes"].iloc[0])
        # classes and text stay what they are in the file: "None" is a word, "1" is a name
        frame = pd.read_csv(
            self.path / split["file"],
            keep_default_na=False,
            na_values=[""],
            dtype={} if num_classes == 0 else {"target": str},
        )
        return Table(
            name,
            frame.drop(columns="target"),
            frame["target"],
            tuple(Subset(np.array(one["context"]), np.array(one["query"])) for one in split["subsets"]),
            tuple(split["classes"]) if "classes" in split else None,
            is_regression=num_classes == 0,
        )

    def other_answers(self) -> pd.DataFrame | None:
        """See `Source.other_answers`: those of TabPFN v1, if the folder has them."""
        file = self.path / "tabpfn1.csv.gz"
        return pd.read_csv(file) if file.exists() else None


def given_folder(option: Path | None) -> Folder | None:
    """The folder of the command line, else that of the environment."""
    path = data_folder(option, "tabular")
    return None if path is None else Folder(path)


def needed_folder(option: Path | None) -> Folder:
    """The folder of the command line, else that of the environment, or the end."""
    found = given_folder(option)
    if found is None:
        raise SystemExit(f"no folder of tables: give one by --data or by the environment variable {DATA}.")
    return found
