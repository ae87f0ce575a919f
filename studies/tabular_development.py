"""The tables that models are chosen on: validation and development sets, for a model beside untuned baselines.

    python studies/tabular_development.py --data FOLDER --model tabular-binary-small --model runs/mine/model

- Two balanced classes, 30 rows: the paper's validation sets without german.numer, 20 subsets each.
- Classes with 200 and 30 rows: eight sets with two to eight classes, three of them with few positives, 10 subsets each.
- Numbers with 200 and 30 rows: eight sets, 10 subsets each.

Sets with fewer rows have half of them as context. Queries whose class the context lacks are left out; ecoli has some.
Every mean is one over sets of the mean over subsets. "v." is the difference in the loss to CatBoost (numbers: the GP)
on the same subsets (CatBoost has five of each set), with its 95 % interval over subsets (not over sets). ECE has 20
bins of the confidence of all predictions together. CRPS, log loss and RMSE of numbers are in units of the standard
deviation of a table's target. Rows of the baselines are kept in ``results/tabular_development.jsonl``; ``--baselines``
finds those that are missing, in half an hour. A model is scored anew, in seconds.

A network without an estimator is judged as a function of matrices (see `of_functions`):

    from tabular_development import judge, of_functions
    print(judge(Folder(path), [of_functions("mine", classify=lambda context, y, query: probabilities)]))
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from study import BUILD, FOLDER, Clock, Row, Rows
from tabular_data import Folder, Table, needed_folder
from tabular_development_tables import Section, tell
from tabular_methods import (
    REGRESSIONS,
    UNTUNED,
    Classify,
    RawClassify,
    RawRegress,
    Regress,
    model_classify,
    model_regress,
    raw_answer,
)
from tabular_scores import CalibrationBins, auc, log_loss, regression_scores

from priorfit.data import Classes
from priorfit.errors import PriorfitError
from priorfit.zoo import load

NUM_BINS = 20
"""Bins of the calibration error here; fewer predictions than in the study allow fewer bins."""
SMALL = 30
"""Rows of the small context."""

FEW = 5
"""Subsets of each set that CatBoost answers, which takes longer than all other baselines together."""

SECTIONS = (
    Section("validation", "classes", SMALL),
    Section("development", "classes", 200),
    Section("development", "classes", SMALL),
    Section("development", "numbers", 200),
    Section("development", "numbers", SMALL),
)


@dataclass(frozen=True)
class Entry:
    """A method under its name, for classes, numbers, or both."""

    name: str
    classify: Classify | None = None
    regress: Regress | None = None
    most: int | None = None
    """Answers only this many subsets of a set, if it is slow."""


def of_functions(name: str, classify: RawClassify | None = None, regress: RawRegress | None = None) -> Entry:
    """A method that is a function of context, targets and queries as float64 matrices.

    NaN is a missing value; categories have ordinal codes by the context's sorted levels, and a level that is not in the
    context has the next code. ``classify`` gives probabilities (queries, classes 0 ... K - 1 of the context),
    ``regress`` a torch ``Distribution`` of each query in the unit of the targets.
    """
    return Entry(
        name,
        partial(raw_answer, classify) if classify is not None else None,
        partial(raw_answer, regress) if regress is not None else None,
    )


def of_model(name: str) -> Entry:
    """A released model or the folder of a saved one, through its estimator, which gets frames as they are."""
    model = load(name)
    if isinstance(model.problem.outcome, Classes):
        return Entry(name, classify=partial(model_classify, model))
    return Entry(name, regress=partial(model_regress, model))


BASELINES = (
    *(Entry(name, classify=UNTUNED[name]) for name in ("random forest", "ExtraTrees", "logistic")),
    *(Entry(name, regress=REGRESSIONS[name]) for name in ("GP (ARD)", "random forest")),
    Entry("CatBoost, uncertainty", regress=REGRESSIONS["CatBoost, uncertainty"], most=FEW),
    Entry("CatBoost", classify=UNTUNED["CatBoost"], most=FEW),
    Entry("CatBoost, five folds", regress=REGRESSIONS["CatBoost, five folds"], most=FEW),
)
"""The fastest first."""


def judge(source: Folder, entries: Iterable[Entry], kept: Sequence[Row] = (), subsets: int | None = None) -> str:
    """The tables of some methods beside rows that are there already."""
    rows = [row for entry in entries for row in scored_entry(source, entry, subsets)]
    return tell([*kept, *rows], SECTIONS, subsets)


def scored_entry(source: Folder, entry: Entry, subsets: int | None = None) -> list[Row]:
    """The rows of a method on all tables that it is for."""
    return [key | find() for key, find in jobs(source, entry, subsets)]


def jobs(
    source: Folder, entry: Entry, subsets: int | None
) -> list[tuple[dict[str, str | int], Callable[[], dict[str, Any]]]]:
    """The key of each row of a method, and how the row is found."""
    found, most = [], entry.most if subsets is None else subsets
    for section in SECTIONS:
        answer = entry.regress if section.kind == "numbers" else entry.classify
        for name in source.names(section.group) if answer is not None else ():
            if source.table(name).is_regression == (section.kind == "numbers"):
                key = asdict(section) | {"set": name, "method": entry.name}
                found.append((key, partial(scored_table, answer, source.table(name), section.rows, most)))
    return found


def scored_table(answer: Classify | Regress, table: Table, num_rows: int, subsets: int | None) -> dict[str, Any]:
    """The scores of each subset of a table, and the seconds for all; or why the method refuses the table."""
    clock, scores = Clock(), []
    try:
        for index in range(len(table.subsets))[:subsets]:
            task = table.task(index, num_rows)
            if table.is_regression:
                scores.append(regression_scores(task.query_y, answer(task), table.scale))
            elif task.num_classes > 1:  # a context of one class asks nothing
                scores.append(class_scores(task.query_y, np.asarray(answer(task))))
            else:
                scores.append({"log_loss": math.nan, "auc": math.nan, "count": 0, "surplus": [0.0] * NUM_BINS})
    except (PriorfitError, ValueError) as error:
        return {"refused": str(error)}
    return {name: [score[name] for score in scores] for name in scores[0]} | {"seconds": clock.seconds}


def class_scores(y: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """The scores of one subset; sums of calibration bins add up over subsets."""
    bins = CalibrationBins.of_top_class(y, probabilities, NUM_BINS)
    return {
        "log_loss": log_loss(y, probabilities),
        "auc": auc(y, probabilities),
        "count": bins.count,
        "surplus": [round(float(one), 4) for one in bins.surplus],
    }


def baseline_rows(source: Folder, file: Path) -> list[Row]:
    """The rows of the baselines that are there."""
    rows = Rows(file, seed=0)
    found = [rows.find(key) for entry in BASELINES for key, _ in jobs(source, entry, None)]
    return [row for row in found if row is not None]


def compute_baselines(source: Folder, file: Path) -> None:
    """Find the rows of all baselines on all subsets; those that are there are not computed again."""
    rows = Rows(file, seed=0)
    for entry in BASELINES:
        for key, find in jobs(source, entry, None):
            rows.get(key, find)


def main(arguments: Sequence[str]) -> None:
    """Parse the command line, and print one table a section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of tables; else that of PRIORFIT_DATA")
    parser.add_argument("--model", action="append", default=[], help="name or folder of a model; may be repeated")
    parser.add_argument("--baselines", action="store_true", help="compute the rows of baselines that are missing")
    parser.add_argument("--subsets", type=int, default=None, help="only the first ones of each set")
    parser.add_argument("--quick", action="store_true", help="keep the rows of the baselines in build/studies/quick")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    source = needed_folder(options.data)
    file = (BUILD / "quick" if options.quick else FOLDER) / "results" / "tabular_development.jsonl"
    if options.baselines:
        compute_baselines(source, file)
    kept = baseline_rows(source, file)
    print(judge(source, [of_model(name) for name in options.model], kept, options.subsets))


if __name__ == "__main__":
    main(sys.argv[1:])
