"""The default models of the estimators beside scikit-learn's own, on small real tables.

    python benchmarks/release/tabular_default.py [--data FOLDER] [--binary MODEL] [--regression MODEL]

Each table is cut into training rows and others, five times for each number of rows; every method gets the same cuts,
the same numbers (categories as codes) and its own defaults; nothing is tuned on these tables. Classes are balanced.
Printed are means over tables with 95 % intervals over tables, and the paired difference to the PFN: NLL (nats), AUC and
accuracy of classes; NLL, R^2 and the share in the 95 % interval of reals (R^2 alone of a method without distributions).
Real tables are looked for in ``../shared/data/tabular`` beside the clone and are never copied. Rows are kept in
benchmarks/results/tabular_default.jsonl as they are found, so that a stopped run goes on.
"""

import argparse
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows, Row
from benchmarks.common.report import RESULTS, show
from benchmarks.release.tabular_tables import (
    DATA,
    Kind,
    Table,
    all_tables,
    filled,
    is_large_enough,
    of_scikit_learn,
    split,
)
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.models import CLASSES, REGRESSION, loaded
from priorfit.network import Model

NUM_TEST = 200
PFN_NAME = "PFN"
COLUMNS: dict[Kind, tuple[str, ...]] = {"binary": ("nll", "auc", "accuracy"), "regression": ("nll", "r2", "in_95")}

Method = Callable[[], BaseEstimator]


def methods(kind: Kind, model: Model) -> dict[str, Method]:
    """Estimators with their own defaults; those that need it get standardised columns."""
    if kind == "binary":
        kernel = ConstantKernel() * RBF()
        return {
            PFN_NAME: lambda: PFNClassifier(model, too_many_columns="select"),
            "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
            "random forest": lambda: RandomForestClassifier(random_state=0),
            "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
            "GP": lambda: make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, random_state=0)),
        }
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return {
        PFN_NAME: lambda: PFNRegressor(model, too_many_columns="select"),
        "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "random forest": lambda: RandomForestRegressor(random_state=0),
        "gradient boosting": lambda: GradientBoostingRegressor(random_state=0),
        "GP": lambda: make_pipeline(
            StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
        ),
    }


def judged(table: Table, method: Method, num_train: int, seed: int) -> dict[str, float]:
    """The scores of one method on one split of a table."""
    fitted, asked = split(table, num_train, NUM_TEST, seed)
    x = filled(table.x, fitted)
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a kernel at the edge of its range is scikit-learn's default
        estimator = method().fit(x[fitted], table.y[fitted])
        score = of_classes if table.kind == "binary" else of_reals
        numbers = score(estimator, x[asked], table.y[asked])
    return numbers | {"seconds": perf_counter() - start}


def of_classes(estimator: BaseEstimator, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """NLL, AUC and accuracy; probabilities are kept 1e-6 from 0 and 1, or one forest's zero would be infinite."""
    p = np.clip(estimator.predict_proba(x)[:, 1], 1e-6, 1 - 1e-6)
    return {"nll": log_loss(y, p), "auc": roc_auc_score(y, p), "accuracy": float(np.mean((p > 0.5) == y))}


def of_reals(estimator: BaseEstimator, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """R^2, and of a distribution its NLL, in units of the judged targets' spread, and its 95 % coverage."""
    if isinstance(estimator, PFNRegressor):
        ppd = estimator.predict_distribution(x)
    elif hasattr(estimator[-1] if hasattr(estimator, "steps") else estimator, "kernel"):
        ppd = torch.distributions.Normal(*map(torch.as_tensor, estimator.predict(x, return_std=True)))
    else:
        return {"r2": r_squared(y, estimator.predict(x))}
    target = torch.as_tensor(y, dtype=torch.float64)
    low, high = pf.metrics.interval(ppd, 0.95)
    return {
        "nll": float(-ppd.log_prob(target).mean()) - float(np.log(y.std())),
        "r2": r_squared(y, ppd.mean.numpy()),
        "in_95": float(((low <= target) & (target <= high)).double().mean()),
    }


def r_squared(y: np.ndarray, predicted: np.ndarray) -> float:
    """The share of the variance that is explained."""
    return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))


def interval_of(values: Sequence[float]) -> str:
    """A mean over tables with its 95 % interval."""
    if len(values) < 2:
        return f"{values[0]:z.3f}"
    return f"{statistics.fmean(values):z.3f} ± {1.96 * statistics.stdev(values) / len(values) ** 0.5:.3f}"


def by_table(rows: Sequence[Row], method: str, column: str) -> dict[str, float]:
    """The mean over the cuts of each table."""
    mine = [row for row in rows if row["method"] == method and column in row]
    names = dict.fromkeys(row["table"] for row in mine)
    return {name: statistics.fmean(row[column] for row in mine if row["table"] == name) for name in names}


def tell(rows: Sequence[Row], kind: Kind, num_train: int) -> None:
    """One table on the screen: every method, its means, and how far from the PFN it is."""
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [method]
        for column in COLUMNS[kind]:
            own, reference = by_table(rows, method, column), by_table(rows, PFN_NAME, column)
            cells.append(interval_of(list(own.values())) if own else "-")
            worse = [own[name] - reference[name] for name in own]
            cells.append(interval_of(worse) if own and method != PFN_NAME else "-")
        cells.append(f"{statistics.median(row['seconds'] for row in rows if row['method'] == method):.3f}")
        lines.append(cells)
    names = [each for column in COLUMNS[kind] for each in (column, f"{column} - PFN's")]
    tables = len({row["table"] for row in rows})
    show(f"{kind}, {num_train} training rows, {tables} tables [95 % intervals]", ["method", *names, "seconds"], lines)


def run(tables: Sequence[Table], models: dict[Kind, Model], kept: KeptRows, sizes: Sequence[int], cuts: int) -> None:
    """All rows of each kind and number of training rows, and a table of them."""
    for kind, model in models.items():
        for size in sizes:
            some = [table for table in tables if table.kind == kind and is_large_enough(table, size)]
            if some:
                tell([row for table in some for row in rows_of(table, model, kept, size, cuts)], kind, size)


def rows_of(table: Table, model: Model, kept: KeptRows, size: int, cuts: int) -> list[Row]:
    """Every method on every cut of a table; a PFN's rows are those of its weights."""
    weights = {"model": f"{model.card.name}, {model.card.training.get('seconds', 0)} s"}
    rows = []
    for name, method in methods(table.kind, model).items():
        for seed in range(cuts):
            key = {"table": table.name, "method": name, "n": size, "seed": seed} | (weights if name == PFN_NAME else {})
            rows.append(kept.get(key, partial(judged, table, method, size, seed)))
    return rows


def tiny_models() -> dict[Kind, Model]:
    """Models of two steps, for ``--quick``."""
    lines = pf.LinearRegression(num_features=10, noise=1.0)
    priors = {"binary": pf.Binarized(lines), "regression": pf.Standardized(lines)}
    recipes = {
        kind: pf.Recipe(pf.PaddedFeatures(prior, max_features=10), 41, pf.Budget(steps=2), units="free")
        for kind, prior in priors.items()
    }
    return {kind: pf.train(recipe) for kind, recipe in recipes.items()}


def main() -> None:
    """Parse, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real tables")
    parser.add_argument("--binary", default=CLASSES, help="a model's name or folder")
    parser.add_argument("--regression", default=REGRESSION, help="a model's name or folder")
    parser.add_argument("--rows", type=Path, default=RESULTS / "tabular_default.jsonl", help="where rows are kept")
    parser.add_argument("--cuts", type=int, default=5, help="of each table and number of rows")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--quick", action="store_true", help="tiny models, few tables: shows that it runs")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.quick:
        few = [table for table in of_scikit_learn() if table.name in ("sklearn/iris-1-2", "sklearn/diabetes")]
        run(few, tiny_models(), KeptRows(options.rows, seed=0), sizes=[20], cuts=2)
        return
    models: dict[Kind, Model] = {"binary": loaded(options.binary), "regression": loaded(options.regression)}
    run(all_tables(options.data), models, KeptRows(options.rows, seed=0), sizes=[30, 100, 200], cuts=options.cuts)


if __name__ == "__main__":
    main()
