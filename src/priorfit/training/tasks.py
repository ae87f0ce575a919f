"""Tasks to fine-tune on, from whatever users have: tables in memory, folders of tables or images, or a prior."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.network import Problem
from priorfit.paths import usable_path
from priorfit.priors import Empirical, FewShot, Prior, ResampledTables
from priorfit.seeding import seeded
from priorfit.values import as_tensor

Table: TypeAlias = tuple[Num[Tensor, "_ _"], Num[Tensor, " _"]]
Tasks: TypeAlias = Prior | Sequence[tuple[Any, Any]] | str | Path
"""A prior, tables ``(x, y)``, or a folder: ``*.csv`` with the target last, or images in ``GROUP/CLASS/*.png``."""

IMAGES = (".png", ".jpg", ".jpeg", ".bmp")
FEWEST_WAYS = 2


@dataclass(frozen=True)
class SplitTasks:
    """Tasks to train on, and tasks that only judge, if any."""

    shown: Prior
    left_out: Prior | None


def split_tasks(tasks: Tasks, problem: Problem, left_out: Prior | float, seed: int) -> SplitTasks:
    """Tasks as priors for a problem; of tables a share ``left_out`` judges, of a single table that share of rows."""
    if isinstance(tasks, Prior):
        return SplitTasks(tasks, left_out if isinstance(left_out, Prior) else None)
    tables = read_folder(usable_path(tasks)) if isinstance(tasks, str | Path) else as_tables(tasks)
    if isinstance(left_out, Prior):
        return SplitTasks(prior_of(tables, problem), left_out)
    if not 0 <= left_out < 1:
        raise InputError(f"left_out is a prior, or a share of the tasks from 0 to below 1; got {left_out}.")
    with seeded(seed):
        kept, judged = split_tables(tables, left_out) if len(tables) > 1 else split_rows(tables[0], left_out)
    return SplitTasks(prior_of(kept, problem), prior_of(judged, problem) if judged else None)


def split_tables(tables: Sequence[Table], share: float) -> tuple[list[Table], list[Table]]:
    """Some tables to train on, and at least one other, unless the share is 0."""
    count = min(len(tables) - 1, max(1, round(share * len(tables)))) if share else 0
    order = torch.randperm(len(tables)).tolist()
    return [tables[i] for i in sorted(order[count:])], [tables[i] for i in sorted(order[:count])]


def split_rows(table: Table, share: float) -> tuple[list[Table], list[Table]]:
    """The rows of a table in two."""
    (x, y), count = table, round(share * len(table[1]))
    order = torch.randperm(len(y))
    judged, kept = order[:count], order[count:]
    return [(x[kept], y[kept])], [(x[judged], y[judged])] if count else []


def as_tables(tasks: Sequence[tuple[Any, Any]]) -> list[Table]:
    """Tables as tensors; images become rows of pixels, bytes become numbers from 0 to 1."""
    if not isinstance(tasks, Sequence) or not tasks or any(not isinstance(each, tuple | list) for each in tasks):
        raise InputError(
            "tasks are a prior, a folder, or one table (x, y) or more in a list; got "
            f"{'an empty list' if isinstance(tasks, Sequence) and not tasks else type(tasks).__name__}."
        )
    return [as_table(index, each) for index, each in enumerate(tasks)]


def as_table(index: int, table: Sequence[Any]) -> Table:
    """One table as tensors."""
    if len(table) != 2:
        raise InputError(f"task {index} must be a pair (x, y); got {len(table)} parts.")
    is_bytes = np.asarray(table[0]).dtype == np.uint8
    x, y = as_tensor(table[0], f"x of task {index}"), as_tensor(table[1], f"y of task {index}")
    x = x.to(torch.get_default_dtype()) / (255 if is_bytes else 1)
    return x.flatten(1), y


def prior_of(tables: Sequence[Table], problem: Problem) -> Prior:
    """The prior of tables: N-way tasks for a model of any number of classes, else rows of one table a batch."""
    outcome = problem.outcome
    if isinstance(outcome, Classes) and problem.min_classes is not None and not problem.missing:
        ways = min([outcome.count, *(len(y.unique()) for _, y in tables)])
        return FewShot(Empirical.from_tables(tables, num_ways=ways), min(FEWEST_WAYS, ways), count=outcome.count)
    return ResampledTables(tables, outcome)


def read_folder(folder: Path) -> list[Table]:
    """One table for each ``*.csv``, or one for each subfolder of folders of images, one folder a class."""
    if not folder.is_dir():
        raise InputError(f"there is no folder of tasks at {folder}.")
    files = sorted(folder.glob("*.csv"))
    if files:
        return [read_csv(file) for file in files]
    groups = [group for group in sorted(folder.iterdir()) if group.is_dir()]
    tables = [table for group in groups if (table := read_images(group)) is not None]
    if not tables:
        raise InputError(f"{folder} holds no tasks: expected *.csv with the target last, or GROUP/CLASS/*.png.")
    return tables


def read_csv(file: Path) -> Table:
    """A table with a header and numbers; the last column is the target, and an empty cell is a missing value."""
    with file.open(newline="", encoding="utf-8") as lines:
        _, *rows = list(csv.reader(lines)) or [[]]
    try:
        numbers = torch.tensor([[float(cell) if cell else float("nan") for cell in row] for row in rows if row])
    except ValueError as error:
        raise InputError(f"{file.name} must hold a header and rows of as many numbers each; {error}.") from error
    if numbers.ndim != 2 or numbers.shape[1] < 2:
        raise InputError(f"{file.name} needs at least one row, one column and the target; got {tuple(numbers.shape)}.")
    return numbers[:, :-1], numbers[:, -1]


def read_images(group: Path) -> Table | None:
    """The images of a folder of classes, dark ink on a light ground turned round; None where there are none."""
    with needs_extra("plots"):
        from PIL import Image

    x, y = [], []
    for label, place in enumerate(each for each in sorted(group.iterdir()) if each.is_dir()):
        for file in sorted(each for each in place.iterdir() if each.suffix.lower() in IMAGES):
            with Image.open(file) as image:
                pixels = torch.from_numpy(np.array(image.convert("L"), dtype=np.float32)) / 255
            x.append(1 - pixels if pixels.median() > 0.5 else pixels)
            y.append(label)
    if not x:
        return None
    if any(each.shape != x[0].shape for each in x):
        raise InputError(f"images of {group} must have one size; got {sorted({tuple(each.shape) for each in x})}.")
    return torch.stack(x).flatten(1), torch.tensor(y)
