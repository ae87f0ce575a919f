"""The tables of `tabular_default.py`: small ones of scikit-learn, and real ones that lie beside the clone."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from sklearn import datasets

DATA = Path(__file__).parents[3] / "shared" / "data" / "tabular"
"""Where the real tables are looked for: folders ``paper`` and ``validation`` of ``NAME.csv.gz``, target last."""

Kind = Literal["binary", "regression"]


@dataclass(frozen=True)
class Table:
    """Rows of numbers, and a target: a class 0 or 1, or a real number."""

    name: str
    kind: Kind
    x: np.ndarray
    y: np.ndarray


def all_tables(data: Path) -> list[Table]:
    """The tables of scikit-learn and, where the folder exists, those in it; a line says where it does not."""
    tables = [*of_scikit_learn()]
    if not data.is_dir():
        print(f"no real tables at {data}: only those of scikit-learn are judged. Name their folder with --data.")
        return tables
    for file in sorted(data.glob("*/*.csv.gz")):
        if file.parent.name in ("paper", "validation"):
            tables.append(of_file(file))
    return tables


def of_scikit_learn() -> Iterator[Table]:
    """Tables that need no download; Friedman's functions are made, the others are real."""
    for name, load in (("breast-cancer", datasets.load_breast_cancer), ("wine", datasets.load_wine)):
        yield two_classes(f"sklearn/{name}", *load(return_X_y=True))
    x, y = datasets.load_iris(return_X_y=True)
    yield two_classes("sklearn/iris-1-2", x[y > 0], y[y > 0])
    yield Table("sklearn/diabetes", "regression", *datasets.load_diabetes(return_X_y=True, scaled=False))
    for name, make in (
        ("friedman1", datasets.make_friedman1),
        ("friedman2", datasets.make_friedman2),
        ("friedman3", datasets.make_friedman3),
    ):
        scale = {"friedman1": 1.0, "friedman2": 125.0, "friedman3": 0.1}[name]  # a signal-to-noise ratio of about 3
        yield Table(f"sklearn/{name}", "regression", *make(n_samples=1_000, noise=scale, random_state=0))


def of_file(file: Path) -> Table:
    """A file's two first classes; text becomes the codes of its sorted values, a missing number stays NaN."""
    frame = pd.read_csv(file)
    labels = frame.pop("target").astype(str).to_numpy()
    columns = [coded(frame[name]) for name in frame]
    return two_classes(f"{file.parent.name}/{file.name.removesuffix('.csv.gz')}", np.stack(columns, axis=1), labels)


def coded(column: pd.Series) -> np.ndarray:
    """A column as numbers. The code of a category is that of the whole file: it tells nothing of the targets."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(np.float64)
    return column.astype(str).astype("category").cat.codes.to_numpy(np.float64)


def two_classes(name: str, x: np.ndarray, labels: np.ndarray) -> Table:
    """The rows of the first two classes, by sorted label, as the paper keeps them."""
    first, second = np.unique(labels)[:2]
    kept = (labels == first) | (labels == second)
    return Table(name, "binary", x[kept].astype(np.float64), (labels[kept] == second).astype(np.int64))


def is_large_enough(table: Table, num_train: int) -> bool:
    """Whether 50 rows are left to judge by."""
    rows = len(table.y) if table.kind == "regression" else 2 * int(np.bincount(table.y).min())
    return rows >= num_train + 50


def split(table: Table, num_train: int, num_test: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and other rows to judge by; of classes, half of each."""
    generator = np.random.RandomState(seed)
    if table.kind == "regression":
        order = generator.permutation(len(table.y))
        return order[:num_train], order[num_train:][:num_test]
    places = [generator.permutation(np.flatnonzero(table.y == label)) for label in (0, 1)]
    half, size = num_train // 2, min(len(each) for each in places)
    fitted = np.concatenate([each[:half] for each in places])
    judged = np.concatenate([each[half:size][: num_test // 2] for each in places])
    return fitted, judged


def filled(x: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Missing numbers become the median of the fitted rows; a column without any there becomes 0."""
    known = np.where(np.isnan(x[fitted]).all(0), 0.0, x[fitted])
    return np.where(np.isnan(x), np.nanmedian(known, axis=0), x)
