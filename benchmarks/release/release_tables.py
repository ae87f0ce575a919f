"""Measure a model of tables on draws of its prior and on real tables, and release it into the zoo.

    python benchmarks/release/release_tables.py runs/tabular/model --data FOLDER --release
    python benchmarks/release/release_tables.py tabular --data FOLDER          measure a released model again
    python benchmarks/release/release_tables.py tabular --data FOLDER --remeasure    ... and write its card alone

On draws of the prior, which no training saw (their own seed), at each n: the NLL of classes or reals, accuracy and
calibration error (20 bins of the confidence) of classes, the share of targets in the 95 % interval of reals; means over
tables with 95 % intervals. Queries whose class the context lacks are left out. On real tables: what
``studies/tabular_development.py`` prints of a model, on five subsets; ``--data`` or PRIORFIT_DATA names the folder.
``--release`` writes all of it into the card of the saved weights, which are float16. Cost: four minutes.
"""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found
sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution

from benchmarks.common.cards import write_measured
from priorfit.data import Batch, Classes
from priorfit.metrics import Estimate, interval
from priorfit.network import Model
from priorfit.predictor import predict
from priorfit.priors import Prior
from priorfit.provenance import circumstances
from priorfit.seeding import seeded
from priorfit.training import recipe_from
from priorfit.zoo import load, names
from priorfit.zoo.catalogue import FOLDER

SIZES, BATCHES, TABLES, QUERIES, BINS = (10, 30, 100, 300), 40, 8, 16, 20


def drawn(prior: Prior, size: int, batch: int, seed: int) -> Batch:
    """One batch of tables; all have as many columns, so that many batches are drawn."""
    with seeded(seed, 3_000_000, size, batch):
        return prior.sample(TABLES, size + QUERIES).split(size)


@torch.no_grad()
def on_the_prior(model: Model, prior: Prior, size: int, seed: int, batches: int = BATCHES) -> dict[str, list[float]]:
    """Means over tables at one context size, each with the half-width of its interval."""
    parts = [scores(model, drawn(prior, size, batch, seed)) for batch in range(batches)]
    joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    confidence, right = joined.pop("confidence", None), joined.pop("right", None)
    found = {name: Estimate.over(values[values.isfinite()]) for name, values in joined.items()}
    row = {name: [each.mean, each.half_width] for name, each in found.items()}
    if confidence is not None and right is not None:
        row["ece"] = [calibration_error(confidence.flatten(), right.flatten())]
    return row


def scores(model: Model, tasks: Batch) -> dict[str, Tensor]:
    """The scores of each table of a batch; NaN where a table has none."""
    if isinstance(model.problem.outcome, Classes):
        rows = [class_scores(model, tasks, table) for table in range(len(tasks.query_y))]
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    ppd = predict(model.in_model_units(), tasks)
    return {"nll": -ppd.log_prob(tasks.query_y).mean(1), "in_95": inside(ppd, tasks).mean(1)}


def class_scores(model: Model, tasks: Batch, table: int) -> dict[str, Tensor]:
    """The scores of one table, whose classes are numbered as its context has them, as the estimators do."""
    classes, labels = tasks.context_y[table].unique(return_inverse=True)
    ppd = model.condition(tasks.context_x[table], labels).predict(tasks.query_x[table])
    assert isinstance(ppd, Categorical)  # the answer of every model of classes
    places = torch.searchsorted(classes, tasks.query_y[table]).clamp(max=len(classes) - 1)
    seen = classes[places] == tasks.query_y[table]
    confidence, chosen = ppd.probs.max(-1)
    right = torch.where(seen, (chosen == places).double(), torch.nan)
    nll = torch.where(seen, -ppd.log_prob(places), torch.nan)
    return {"nll": nll.nanmean(), "accuracy": right.nanmean(), "confidence": confidence.double(), "right": right}


def inside(ppd: Distribution, tasks: Batch) -> Float[Tensor, "batch query"]:
    """1 where the target lies in the central 95 % interval."""
    low, high = interval(ppd, 0.95)
    return ((low <= tasks.query_y) & (tasks.query_y <= high)).double()


def calibration_error(confidence: Float[Tensor, " queries"], right: Float[Tensor, " queries"]) -> float:
    """The mean distance of confidence and accuracy over bins of the confidence, weighted by their sizes."""
    known = right.isfinite()
    bins = (confidence[known] * BINS).long().clamp(max=BINS - 1)
    surplus = torch.zeros(BINS, dtype=torch.float64).index_add(0, bins, confidence[known] - right[known])
    return float(surplus.abs().sum() / known.sum())


def on_real_tables(name: str, data: Path | None) -> dict[str, dict[str, float]]:
    """Means over sets of what the development study measures."""
    from tabular_data import needed_folder  # pyright: ignore[reportMissingImports]
    from tabular_development import of_model, scored_entry  # pyright: ignore[reportMissingImports]

    sections: dict[str, dict[str, list[float]]] = {}
    for row in scored_entry(needed_folder(data), of_model(name), subsets=5):
        section = sections.setdefault(f"{row['group']}, {row['rows']} rows", {})
        for measure in {"log_loss", "auc", "crps", "squared_error", "coverage"} & row.keys():
            section.setdefault(measure, []).append(float(np.nanmean(row[measure])))
    return {
        place: {name: float(np.mean(values)) for name, values in found.items()} for place, found in sections.items()
    }


def measures(model: Model, place: str, data: Path | None, seed: int) -> dict[str, Any]:
    """All that goes into a card."""
    prior, trained = recipe_from(model.card.recipe).prior, model.card.trained_context
    assert trained is not None  # every recipe says so
    return {
        "command": f"python benchmarks/release/release_tables.py {model.card.name} --data FOLDER",
        "num_datasets": BATCHES * TABLES,
        "num_queries": QUERIES,
        "reference": "none is known",
        "circumstances": circumstances(seed),
        "rows": [{"n": size, **on_the_prior(model, prior, size, seed)} for size in SIZES if size <= trained[1]],
        "real_tables": on_real_tables(place, data),
    }


def main() -> None:
    """Measure, and release if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the folder of a model, or the name of a released one")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    writes = parser.add_mutually_exclusive_group()
    writes.add_argument("--release", action="store_true", help="save it into the zoo, under its card's name")
    writes.add_argument("--remeasure", action="store_true", help="write the card of a released model again")
    arguments = parser.parse_args()
    if arguments.remeasure and arguments.model not in names():
        parser.error(f"--remeasure writes the card of a released model; got {arguments.model}. Did you mean --release?")
    torch.set_num_threads(arguments.threads)
    model, place = load(arguments.model), arguments.model
    if arguments.release:
        place = str(FOLDER / model.card.name)
        model.save(place, dtype=torch.float16)
        model = load(place)
    found = measures(model, place, arguments.data, arguments.seed)
    if arguments.release:
        model.card = dataclasses.replace(model.card, measured=found)
        model.save(place, dtype=torch.float16)
    if arguments.remeasure:
        write_measured(model.card.name, found)
    kind = "classes" if isinstance(model.problem.outcome, Classes) else "numbers"
    print(f"{model.card.name} ({kind}): {found['num_datasets']} tables of its prior, then real ones")
    for row in found["rows"]:
        print(
            "  ".join(
                f"{name} {value[0]:.4f}" if isinstance(value, list) else f"n {value}" for name, value in row.items()
            )
        )
    for section, values in found["real_tables"].items():
        print(section, "  ".join(f"{name} {value:.4f}" for name, value in values.items()))


if __name__ == "__main__":
    main()
