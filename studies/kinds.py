"""Section 6: Figure of kinds: which kind of function made a table, as a posterior and not as a search.

    python studies/kinds.py             --data FOLDER, --datasets 1000: tables of the prior

Claim to test: the states of ``tabular``, which was trained to predict targets alone, tell the kind of function behind a
table (causal graph, trees, smooth, network, additive, prototypes): a probability of each kind that is calibrated on new
draws of its prior and has a better log score than the shares of the prior.
The paper: "architectures are inferred and not searched", in words; it shows no posterior.
How: 100 rows of each table go through the released network, whose states are averaged over rows; a logistic regression
on them is the posterior of the kind. It is learned from draws of the prior and judged on draws that it was not
learned from (five folds of batches, since tables of a batch share columns, and groups of four the kind). Its penalty
is chosen by the same folds from three values. The sets are those of `tabular.py`, 100 random rows of its two classes
each; what no kind of the prior describes gets a kind all the same.
Cost on one core: five minutes for 1,000 tables; states are kept in ``build/studies/models/kinds``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from models import Released
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from study import Row, Setup, Study, table
from tabular_data import Folder, Source, Subset, given_folder
from tabular_openml import OpenML
from tabular_tiny import write_tiny_folder

from priorfit.network.tables.network import TableNetwork
from priorfit.priors.tables.tables import GROUP, WEIGHTS, Tables
from priorfit.seeding import seeded

MODEL = Released("tabular")
KINDS = tuple(WEIGHTS)
ROWS = 100
PENALTIES = (0.003, 0.03, 0.3)
"""Inverse strengths of the penalty on weights."""
FOLDS, BINS = 5, 10

States = Float[np.ndarray, "tables numbers"]
Labels = Int[np.ndarray, " tables"]


def run(setup: Setup) -> list[Row]:
    """How well kinds are told on draws, and the posterior over kinds of each set."""
    number, rows = setup.num_datasets(1_000, 40), setup.choose(ROWS, 20)
    key = {"model": MODEL.fingerprint, "tables": number, "rows": rows}
    source = tables_of(setup)
    keys = [key | {"part": "set", "set": name} for name in source.names("paper")]
    wanted = [key | {"part": "draws"}, *keys]
    if all(setup.rows.find(each) for each in wanted):
        return [row for each in wanted if (row := setup.rows.find(each)) is not None]
    states, kinds = drawn(setup, number, rows)
    penalty, held_out = chosen_penalty(states, kinds)
    found = [setup.rows.get(wanted[0], lambda: judged(held_out, kinds, penalty))]
    classifier = regression(penalty).fit(states, kinds)
    for each in keys:
        found.append(setup.rows.get(each, lambda each=each: asked(classifier, source, each["set"], rows, setup.seed)))
    return found


def tables_of(setup: Setup) -> Source:
    """The tables of the study of section 6; made-up ones for a quick run."""
    if setup.quick:
        return Folder(setup.options.data or write_tiny_folder(setup.models.parent / "tables"))
    return given_folder(setup.options.data) or OpenML()


def network() -> TableNetwork:
    """The released network."""
    model = MODEL.model()
    assert isinstance(model, TableNetwork)
    return model


def drawn(setup: Setup, number: int, rows: int) -> tuple[States, Labels]:
    """States and kinds of tables of the prior, of which those of earlier runs are kept."""
    folder = setup.models / "kinds" / f"{MODEL.fingerprint}-{rows}-{setup.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [batch_of(folder / f"{index}.npy", rows, (setup.seed, index)) for index in range(-(-number // GROUP))]
    together = np.concatenate(parts)[:number]
    return together[:, 1:], together[:, 0].astype(np.int64)


def batch_of(file: Path, rows: int, stream: tuple[int, int]) -> Float[np.ndarray, "tables numbers"]:
    """One batch of tables: the kind of each, then its states."""
    if not file.exists():
        prior = MODEL.prior
        assert isinstance(prior, Tables)
        with seeded(*stream):
            datasets, kinds = prior.sample_with_kinds(GROUP, rows)
        states = network().described(datasets.x, datasets.y)
        part = file.with_suffix(".part")
        with part.open("wb") as opened:
            np.save(opened, torch.cat([kinds[:, None].to(states), states], dim=1).numpy())
        part.rename(file)
    return np.load(file, allow_pickle=False)


def regression(penalty: float) -> Pipeline:
    """Logistic regression on standardised states."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=2_000))


def chosen_penalty(states: States, kinds: Labels) -> tuple[float, Float[np.ndarray, "tables kinds"]]:
    """The penalty of the best log score on folds that were left out, and the probabilities there."""
    answers = {penalty: left_out(states, kinds, penalty) for penalty in PENALTIES}
    best = max(answers, key=lambda penalty: score(answers[penalty], kinds))
    return best, answers[best]


def left_out(states: States, kinds: Labels, penalty: float) -> Float[np.ndarray, "tables kinds"]:
    """The probability of each kind, from tables of other batches; a kind that these do not hold has a share of 1e-3."""
    found = np.full((len(kinds), len(KINDS)), 1e-3)
    batches = np.arange(len(kinds)) // GROUP
    for known, asked_about in GroupKFold(FOLDS).split(states, kinds, batches):
        classifier = regression(penalty).fit(states[known], kinds[known])
        found[np.ix_(asked_about, classifier.classes_)] = classifier.predict_proba(states[asked_about])
    return found / found.sum(1, keepdims=True)


def score(probabilities: Float[np.ndarray, "tables kinds"], kinds: Labels) -> float:
    """The mean log probability of the kind that it was."""
    return float(np.log(probabilities[np.arange(len(kinds)), kinds]).mean())


def judged(probabilities: Float[np.ndarray, "tables kinds"], kinds: Labels, penalty: float) -> dict[str, Any]:
    """Log score, accuracy and calibration, beside the shares of the kinds."""
    shares = np.bincount(kinds, minlength=len(KINDS)) / len(kinds)
    seen = shares[shares > 0]
    flat, came = probabilities.ravel(), np.eye(len(KINDS))[kinds].ravel()
    bins = np.minimum((flat * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    stated, true = (np.bincount(bins, each, BINS) / np.maximum(counts, 1) for each in (flat, came))
    return {
        "penalty": penalty,
        "log_score": score(probabilities, kinds),
        "prior_log_score": float((seen * np.log(seen)).sum()),
        "accuracy": float((probabilities.argmax(1) == kinds).mean()),
        "largest_share": float(shares.max()),
        "ece": float((counts * np.abs(stated - true)).sum() / len(flat)),
        "stated": stated.tolist(),
        "came": true.tolist(),
        "counts": counts.tolist(),
        "mean_by_kind": [
            probabilities[kinds == kind].mean(0).tolist() if (kinds == kind).any() else [] for kind in range(len(KINDS))
        ],
    }


def asked(classifier: Pipeline, source: Source, name: str, rows: int, seed: int) -> dict[str, Any]:
    """The posterior over kinds of some rows of a set."""
    whole = source.table(name)
    usable = np.flatnonzero(whole.y.astype(str).isin(whole.classes or whole.y.astype(str).unique()))
    chosen = np.random.default_rng(seed).permutation(usable)[:rows]
    task = replace(whole, subsets=(Subset(chosen, chosen[:1]),)).task(0)
    x, y = torch.from_numpy(task.matrices()[0])[None], torch.from_numpy(task.context_y)[None]
    states = network().described(x.float(), y.float()).numpy()
    found = dict(zip(classifier.classes_.tolist(), classifier.predict_proba(states)[0].tolist(), strict=True))
    return {"kinds": [found.get(kind, 0.0) for kind in range(len(KINDS))]}


def tell(rows: Sequence[Row]) -> str:
    """One table for the draws, one for the sets."""
    draws = next(row for row in rows if row["part"] == "draws")
    named = ("log_score", "prior_log_score", "accuracy", "largest_share", "ece")
    heads = ["tables", "log score", "of the shares", "accuracy", "largest share", "ECE"]
    first = table(heads, [[str(draws["tables"]), *(f"{draws[name]:.3f}" for name in named)]])
    sets = [[row["set"], *(f"{share:.2f}" for share in row["kinds"])] for row in rows if row["part"] == "set"]
    return f"{first}\n\n{table(['set', *KINDS], sets)}"


def draw(rows: Sequence[Row]) -> Figure:
    """Calibration, the mean posterior by the kind that it was, and the posterior of each set."""
    draws = next(row for row in rows if row["part"] == "draws")
    sets = [row for row in rows if row["part"] == "set"]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    filled = [index for index, count in enumerate(draws["counts"]) if count]
    left.plot([0, 1], [0, 1], color="grey", linewidth=1)
    left.plot([draws["stated"][i] for i in filled], [draws["came"][i] for i in filled], marker="o")
    left.set(xlabel="stated probability", ylabel="share that it was")
    means = np.array([mean or [0.0] * len(KINDS) for mean in draws["mean_by_kind"]])
    for ax, numbers, names in ((middle, means, KINDS), (right, np.array([r["kinds"] for r in sets]), None)):
        image = ax.imshow(numbers, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        ax.set_xticks(range(len(KINDS)), KINDS, rotation=45, ha="right")
        labels = names or [row["set"] for row in sets]
        ax.set_yticks(range(len(labels)), labels)
    figure.colorbar(image, ax=right)
    middle.set_ylabel("the kind that it was")
    titles = ("(a) calibration on draws", "(b) mean posterior on draws", "(c) posterior on the sets")
    for ax, title in zip((left, middle, right), titles, strict=True):
        ax.set_title(title, loc="left", fontweight="bold")
    return figure


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the sets are."""
    parser.add_argument("--data", type=Path, default=None, help="a folder of tables; else PRIORFIT_DATA, else OpenML")


STUDY = Study("kinds", __doc__, run, tell, draw, add_options=add_options)

if __name__ == "__main__":
    STUDY.main()
