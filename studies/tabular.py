"""Section 6: Figure 10 and tables 1 and 7: small tables with 30 labelled rows, PFNs beside tuned baselines.

    python studies/tabular.py           --data FOLDER, --methods, --sets, --subsets, --time 1; --kept: only rows so far

Claims to test: ``tabular`` has the best mean rank in ROC AUC on the paper's sets of all methods, tuned ones and TabPFN
v1 included, and the lowest log loss; its ECE is at most 0.005 above the floor of a perfectly calibrated forecaster;
both it and ``tabular-bnn`` take less time than tuned nearest neighbours, and far less than the tuned XGBoost grid.
The paper: PFN-BNN has the best mean rank (2.786, XGBoost 3.357) and ECE (0.025, XGBoost 0.066), in 263 s on a CPU for
all subsets; XGBoost takes 21 hours.
A folder of data is read (see `tabular_data`), or else OpenML through scikit-learn. The subsets are those of the folder:
two classes, 15 rows of each labelled, 35 asked, 20 subsets a set. ROC AUC is that of a subset; that of a set is the
mean over its subsets. Tuned CatBoost and the tuned BNN, the slowest, have five subsets. Each row keeps the
probabilities of class 1 in units of 1e-4, four digits each, for pooled calibration. ``--time N`` times all methods one
after the other on the first subset of every set, in N passes; ratios of times are taken there.
Cost on one core: three hours, of which the BNN has one and a half; a PFN has seconds.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from models import digest
from study import Clock, Row, Setup, Study
from tabular_board import NUM_SUBSETS
from tabular_data import Folder, Source, Task, given_folder
from tabular_methods import TUNED, UNTUNED, Classify, Probabilities, model_classify
from tabular_openml import OpenML
from tabular_results import TABPFN, draw, tell
from tabular_scores import auc, log_loss
from tabular_tiny import write_tiny_folder

from priorfit.errors import PriorfitError
from priorfit.zoo import load, names

MODELS = ("tabular", "tabular-bnn", "tabular-gp", "tabular-binary-small")
"""Released models that are scored by default, as soon as they are in the zoo."""
FOUR = ("random forest", "ExtraTrees", "XGBoost", "CatBoost")
"""The classifiers without tuning."""
FEW = 5
"""Subsets of the slowest methods."""
SLOWEST = ("tuned CatBoost", "tuned BNN")
QUICK = ("random forest", "tuned kNN", TABPFN, "tabular-binary-small")
NUM_TIMED = 3
"""Times that a model answers when it is timed; the median counts."""


@dataclass(frozen=True)
class Method:
    """A way to answer a task, and on how many subsets of a set it is asked."""

    name: str
    version: str
    """What identifies the method's settings or weights: rows of others are not taken for its own."""
    answer: Classify
    most: int = NUM_SUBSETS
    repeats: int = 1
    """How often it answers when it is timed; 0 for answers that were given."""


@dataclass(frozen=True)
class Job:
    """The key of a row, and how it is found."""

    key: dict[str, str | int]
    find_out: Callable[[], dict[str, Any]]


def run(setup: Setup) -> list[Row]:
    """The rows of the methods that are asked for; a set that a method refuses is named and left out."""
    found, refused = [], set()
    for job in jobs(setup, chosen(setup.options.methods)):
        who = job.key["method"], job.key["set"]
        row = setup.rows.find(job.key)
        if row is None and who not in refused:
            try:
                row = setup.rows.add(job.key, job.find_out())
            except (PriorfitError, ValueError) as error:
                refused.add(who)
                print(f"{who[0]} refuses {who[1]}: {error}")
        found += [row] if row is not None else []
    return found


def kept(setup: Setup) -> list[Row]:
    """The rows that are there, of the last version of each method; neither data nor models are read."""
    rows, wanted = setup.rows.every(), chosen(setup.options.methods)
    source = Counter(row["source"] for row in rows).most_common(1)
    versions = {row["method"]: row["version"] for row in rows}
    return [
        row
        for row in rows
        if [row["source"]] == [name for name, _ in source]
        and row["version"] == versions[row["method"]]
        and (wanted is None or row["method"] in wanted)
    ]


def chosen(option: str | None) -> list[str] | None:
    """The names of an option, separated by commas."""
    return None if option is None else [name.strip() for name in option.split(",")]


def jobs(setup: Setup, wanted: list[str] | None) -> Iterator[Job]:
    """All jobs: the passes that time all methods, then the answers of method by method."""
    source = tables_of(setup)
    sets = chosen(setup.options.sets) or source.names("paper")
    every = methods(source, wanted or setup.choose(None, list(QUICK)))
    for number in range(setup.options.time):
        yield from timing_jobs(source, [method for method in every if method.repeats > 0], sets, number)
    for method in every:
        yield from answer_jobs(source, method, sets, min(setup.options.subsets, method.most))


def timing_jobs(source: Source, every: list[Method], sets: list[str], number: int) -> Iterator[Job]:
    """One pass over all sets, with all methods one after the other on the first subset of each."""
    for name in sets:
        for method in every:
            key = key_of(source, method, name, 0) | {"timing": number}
            yield Job(key, partial(timed, method, source, name))


def answer_jobs(source: Source, method: Method, sets: list[str], most: int) -> Iterator[Job]:
    """The answers of a method: the first subset of all sets before the second."""
    for index in range(most):
        for name in sets:
            if index < len(source.table(name).subsets):
                yield Job(key_of(source, method, name, index), partial(answered, method, source, name, index))


def tables_of(setup: Setup) -> Source:
    """The folder that is given, made-up tables for a quick run, or OpenML."""
    if setup.quick:
        return Folder(setup.options.data or write_tiny_folder(setup.models.parent / "tables"))
    return given_folder(setup.options.data) or OpenML()


def key_of(source: Source, method: Method, name: str, index: int) -> dict[str, str | int]:
    """The key of a row."""
    about = {"method": method.name, "version": method.version}
    return {"source": source.label, "set": name, "subset": index} | about


def methods(source: Source, wanted: list[str] | None) -> list[Method]:
    """The methods by their names, or all; another name is that of a released model, or the folder of a saved one."""
    every = {name: Method(name, "defaults", UNTUNED[name]) for name in FOUR}
    for name, answer in TUNED.items():
        every[name] = Method(name, "paper's grid", answer, FEW if name in SLOWEST else NUM_SUBSETS)
    others = source.other_answers()
    if others is not None:
        every[TABPFN] = Method(TABPFN, "0.1", partial(looked_up, answers_by_row(others)), repeats=0)
    if wanted is None:
        return [*(of_model(name) for name in MODELS if name in names()), *every.values()]
    return [every[name] if name in every else of_model(name) for name in wanted if name != TABPFN or TABPFN in every]


def of_model(name: str) -> Method:
    """A model through its estimator; it is read once."""
    model = load(name)
    version = digest([model.card.recipe, model.card.training])
    return Method(name, version, partial(model_classify, model), repeats=NUM_TIMED)


def answers_by_row(answers: pd.DataFrame) -> dict[tuple[str, int, int], float]:
    """The probabilities of class 1 by set, subset and row."""
    columns = (answers[name] for name in ("set", "subset", "row", "probability"))
    return {(name, int(index), int(row)): float(p) for name, index, row, p in zip(*columns, strict=True)}


def looked_up(answers: dict[tuple[str, int, int], float], task: Task) -> Probabilities:
    """The answers of another method to a task."""
    ones = np.array([answers[task.set, task.subset, int(row)] for row in task.query_x.index])
    return np.stack([1 - ones, ones], axis=1)


def answered(method: Method, source: Source, name: str, index: int) -> dict[str, Any]:
    """What is found out of a method's answer to a subset."""
    task = source.table(name).task(index)
    clock = Clock()
    probabilities = np.asarray(method.answer(task), dtype=np.float64)
    seconds = clock.seconds
    return {
        "auc": auc(task.query_y, probabilities),
        "log_loss": log_loss(task.query_y, probabilities),
        "seconds": seconds if method.repeats > 0 else None,
        "class_0": digits(probabilities[:, 1], task.query_y == 0),
        "class_1": digits(probabilities[:, 1], task.query_y == 1),
    }


def digits(ones: Float[np.ndarray, " rows"], of_class: Bool[np.ndarray, " rows"]) -> str:
    """The probabilities of class 1 of the queries of a class, in units of 1e-4: four digits each, at most 9999."""
    return "".join(f"{min(round(10_000 * float(p)), 9_999):04d}" for p in ones[of_class])


def timed(method: Method, source: Source, name: str) -> dict[str, Any]:
    """The seconds of a method for the first subset of a set; a model answers once before, which is slower."""
    task = source.table(name).task(0)
    if method.repeats > 1:
        method.answer(task)
    seconds = []
    for _ in range(method.repeats):
        clock = Clock()
        method.answer(task)
        seconds.append(clock.seconds)
    return {"seconds": median(seconds)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this study."""
    parser.add_argument("--data", type=Path, default=None, help="the folder of tables, or PRIORFIT_DATA, else OpenML")
    parser.add_argument("--methods", default=None, help="names, models or folders, separated by commas")
    parser.add_argument("--sets", default=None, help="names, separated by commas")
    parser.add_argument("--subsets", type=int, default=NUM_SUBSETS, help="the first ones of each set")
    parser.add_argument("--time", type=int, default=0, help="passes that time all methods side by side")


STUDY = Study("tabular", __doc__, run, tell, draw, kept, add_options)

if __name__ == "__main__":
    STUDY.main()
