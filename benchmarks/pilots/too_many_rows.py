"""More rows than a model was trained for: which answer is best on real tables of 950 to 4,000 rows?

    python benchmarks/pilots/too_many_rows.py [--data FOLDER] [--binary MODEL] [--regression MODEL] [--seeds 2]

Each development table with at least 900 rows is cut at random into 200 rows to judge by and the others to fit. Ways
to answer: one stratified subsample of as many rows as the model was trained for; the average over k disjoint ones
(of probabilities, of densities); the rows nearest to each query, in standard units; local contexts, of which a share
are the rows nearest to the centre of the query's cluster; those of the estimators, `too_many_rows="local"`; all rows at
once. Columns beyond those that the model takes are left out by the score of `too_many_columns="select"`. Printed are
log loss (nats; of targets in units of their standard deviation) and seconds, means over tables and seeds, and the
paired difference to one subsample with its 95 % interval over tables.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the other rooms of benchmarks

import numpy as np
import pandas as pd
import torch
from sklearn.cluster import KMeans

import priorfit as pf
from benchmarks.release.tabular_tables import DATA, coded, filled
from priorfit.data import Classes
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.too_many import explained_by_classes, explained_by_line
from priorfit.network import Model

NUM_TEST = 200
CLASSES = ("sick", "mammography", "pc4")
NUMBERS = ("abalone", "kin8nm", "cpu-act", "wine-quality-red", "insurance-charges", "stock")

Log = np.ndarray
"""The log densities of the judged rows."""


def table(name: str, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """A development table as numbers."""
    frame = pd.read_csv(data / "development" / f"{name}.csv.gz")
    target = frame.pop("target")
    x = np.stack([coded(frame[column]) for column in frame], axis=1)
    if name in CLASSES:
        return x, np.unique(target.astype(str), return_inverse=True)[1]
    y = target.to_numpy(np.float64)
    return x, (y - y.mean()) / y.std()


def log_density(model: Model, x: np.ndarray, y: np.ndarray, query_x: np.ndarray, query_y: np.ndarray) -> Log:
    """The log densities of queries given one context, or one context for each."""
    with torch.no_grad():
        ppd = model.condition(x, y).predict(query_x)
        return ppd.log_prob(torch.tensor(query_y)).double().numpy()


def parts(y: np.ndarray, size: int, count: int, is_class: bool, generator: np.random.RandomState) -> list[np.ndarray]:
    """Disjoint random parts of the rows, stratified where there are classes."""
    order = generator.permutation(len(y))
    if is_class:
        order = order[np.argsort(y[order], kind="stable")]
        order = np.concatenate([order[start :: len(y) // size] for start in range(len(y) // size)])
    found = np.array_split(order, len(y) // size) if is_class else [order[i * size :][:size] for i in range(count)]
    return [part[:size] for part in found[:count]]


def averaged(model: Model, fitted: tuple, asked: tuple, members: list[np.ndarray]) -> Log:
    """The log of the mean density over members."""
    logs = [log_density(model, fitted[0][rows], fitted[1][rows], *asked) for rows in members]
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))


def nearest(model: Model, fitted: tuple, asked: tuple, size: int) -> Log:
    """Each query given its own context of nearest rows."""
    x, y = fitted
    mean, scale = x.mean(0), np.maximum(x.std(0), 1e-12)
    rows, queries = (x - mean) / scale, (asked[0] - mean) / scale
    logs = []
    for start in range(0, len(queries), 20):
        part = slice(start, start + 20)
        distance = ((queries[part, None] - rows[None]) ** 2).sum(-1)
        near = np.argsort(distance, axis=1, kind="stable")[:, :size]
        logs.append(log_density(model, x[near], y[near], asked[0][part, None], asked[1][part, None])[:, 0])
    return np.concatenate(logs)


def local(model: Model, fitted: tuple, asked: tuple, size: int, share: float, times: int) -> Log:
    """Each query given the context of its nearest centre: the rows nearest to that, and random others.

    There are ``times`` as many centres as the rows fill contexts; ``share`` of each context are nearest rows.
    """
    x, y = fitted
    mean, scale = x.mean(0), np.maximum(x.std(0), 1e-12)
    rows, queries = (x - mean) / scale, (asked[0] - mean) / scale
    found = KMeans(min(times * -(-len(x) // size), 32), n_init=1, max_iter=20, random_state=0).fit(rows)
    homes, logs = found.predict(queries), np.zeros(len(queries))
    generator = np.random.RandomState(0)
    for home in np.unique(homes):
        order = np.argsort(((rows - found.cluster_centers_[home]) ** 2).sum(1), kind="stable")
        near = int(share * size)
        kept = np.concatenate([order[:near], generator.permutation(order[near:])[: size - near]])
        at = homes == home
        logs[at] = log_density(model, x[kept], y[kept], asked[0][at], asked[1][at])
    return logs


def by_estimator(model: Model, fitted: tuple, asked: tuple) -> Log:
    """The estimator's own way."""
    kind = PFNClassifier if isinstance(model.problem.outcome, Classes) else PFNRegressor
    ppd = kind(model, too_many_rows="local").fit(*fitted).predict_distribution(asked[0])
    return ppd.log_prob(torch.tensor(asked[1])).double().numpy()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--binary", default="tabular-binary-small")
    parser.add_argument("--regression", default="tabular-regression-small")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for names, model in ((CLASSES, pf.load(options.binary)), (NUMBERS, pf.load(options.regression))):
        scores: dict[str, list[list[float]]] = {}
        seconds: dict[str, float] = {}
        for name in names:
            for way, found in judged(name, model, options).items():
                scores.setdefault(way, []).append([score for score, _ in found])
                seconds[way] = seconds.get(way, 0.0) + sum(time for _, time in found) / len(found) / len(names)
        report(names, scores, seconds)


def judged(name: str, model: Model, options: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """Log loss and seconds of each way and seed on one table."""
    x, y = table(name, options.data)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(options.seeds):
        for way, answer in ways(model, *cut(model, x, y, seed), seed).items():
            start = perf_counter()
            loss = -float(np.mean(answer()))
            found.setdefault(way, []).append((loss, perf_counter() - start))
    print(name, {way: round(float(np.mean([loss for loss, _ in each])), 4) for way, each in found.items()}, flush=True)
    return found


def cut(model: Model, x: np.ndarray, y: np.ndarray, seed: int) -> tuple[tuple, tuple]:
    """Rows to fit and rows to judge by, of the columns that the model takes."""
    order = np.random.RandomState(seed).permutation(len(y))
    test, train = order[:NUM_TEST], order[NUM_TEST:]
    z = filled(x, train)
    score = explained_by_classes if isinstance(model.problem.outcome, Classes) else explained_by_line
    best = np.sort(np.argsort(-score(z[train], y[train]), kind="stable")[: model.problem.num_features])
    return (z[train][:, best], y[train]), (z[test][:, best], y[test])


def ways(model: Model, fitted: tuple, asked: tuple, seed: int) -> dict[str, Callable[[], Log]]:
    """The ways to answer, by name."""
    is_class = isinstance(model.problem.outcome, Classes)
    size = (model.card.trained_context or (0, 200))[1]

    def subsampled(count: int) -> Log:
        members = parts(fitted[1], size, count, is_class, np.random.RandomState(seed))
        return averaged(model, fitted, asked, members)

    counts = [count for count in (1, 2, 4) if count <= len(fitted[1]) // size]
    shares = ((1, 0.75), (2, 0.5), (2, 0.75), (2, 1.0))
    return (
        {f"{count} subsamples": partial(subsampled, count) for count in counts}
        | {"nearest rows": partial(nearest, model, fitted, asked, size)}
        | {
            f"local x{times} {share}": partial(local, model, fitted, asked, size, share, times)
            for times, share in shares
        }
        | {"estimator": partial(by_estimator, model, fitted, asked)}
        | {"all rows": partial(log_density, model, *fitted, *asked)}
    )


def report(names: tuple[str, ...], scores: dict[str, list[list[float]]], seconds: dict[str, float]) -> None:
    """Print the means, and the differences to one subsample over tables that have both."""
    base = np.mean(scores["1 subsamples"], axis=1)
    for way, found in scores.items():
        if len(found) < len(names):
            continue
        means = np.mean(found, axis=1)
        difference = means - base
        half = 1.96 * difference.std(ddof=1) / len(names) ** 0.5
        print(
            f"{way:14s} log loss {means.mean():7.4f}, less one subsample {difference.mean():+.4f} "
            f"[{difference.mean() - half:+.4f}, {difference.mean() + half:+.4f}], {seconds[way]:.2f} s"
        )


if __name__ == "__main__":
    main()
