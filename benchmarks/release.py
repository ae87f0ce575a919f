"""Measure a model against the exact posterior of its prior, and release it into the zoo.

    python benchmarks/release.py runs/gp-rbf-1d/model --release    the weights go to src/priorfit/zoo/gp-rbf-1d
    python benchmarks/release.py gp-rbf-1d                         measure a released model again

Printed are NLL, exact NLL, gap and the floor of the head at each context size, on datasets that no training saw (their
own seed), with 95 % intervals over datasets; the expectation over y is taken exactly. ``--release`` saves the weights
in float16 where that costs less than 0.001 nats on average, else in float32, and writes the numbers of the saved file
into its card. Cost: a minute.
"""

import argparse
import dataclasses
import statistics
import tempfile
from pathlib import Path

import torch
from report import show

from priorfit import metrics
from priorfit.baselines.exact import exact
from priorfit.metrics import Estimate
from priorfit.network import PFN, load_pfn
from priorfit.priors import Prior
from priorfit.provenance import circumstances
from priorfit.seeding import seeded
from priorfit.training import recipe_from
from priorfit.zoo import load
from priorfit.zoo.catalogue import FOLDER

CONTEXT_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
NUM_QUERIES = 4
MOST_LOST = 0.001
"""Nats that half precision may cost."""

Rows = dict[int, dict[str, Estimate]]


def measured(model: PFN, prior: Prior, num_datasets: int, seed: int) -> Rows:
    """Every number at every context size that the model was trained for."""
    reference, trained = exact(prior), model.card.trained_context
    if reference is None or trained is None:
        raise SystemExit("this model's prior has no exact answer to measure against.")
    rows: Rows = {}
    for size in (size for size in CONTEXT_SIZES if size <= trained[1]):
        with seeded(seed, 3_000_000, size):
            tasks = prior.sample(num_datasets, size + NUM_QUERIES).split(size)
        rows[size] = {
            "nll": metrics.nll(model, tasks),
            "exact_nll": metrics.nll(reference, tasks),
            "gap": metrics.gap(model, reference, tasks),
            "floor": metrics.floor(model, reference, tasks),
        }
    return rows


def mean_gap(rows: Rows) -> float:
    """The mean over context sizes."""
    return statistics.fmean(row["gap"].mean for row in rows.values())


def in_half_precision(model: PFN) -> PFN:
    """The model as a float16 file would give it back."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "half", dtype=torch.float16)
        return load_pfn(Path(folder) / "half")


def released(model: PFN, prior: Prior, num_datasets: int, seed: int) -> PFN:
    """The model that goes into the zoo, with its numbers on its card."""
    half = in_half_precision(model)
    rows, half_rows = (measured(each, prior, num_datasets, seed) for each in (model, half))
    is_half = mean_gap(half_rows) - mean_gap(rows) < MOST_LOST
    kept, kept_rows = (half, half_rows) if is_half else (model, rows)
    kept.card = dataclasses.replace(
        model.card,
        measured={
            "command": f"python benchmarks/release.py {model.card.name}",
            "num_datasets": num_datasets,
            "num_queries": NUM_QUERIES,
            "half_precision_costs": mean_gap(half_rows) - mean_gap(rows),
            "circumstances": circumstances(seed),
            "rows": [
                {"n": size, **{name: [each.mean, each.half_width] for name, each in row.items()}}
                for size, row in kept_rows.items()
            ],
        },
    )
    kept.save(FOLDER / model.card.name, dtype=torch.float16 if is_half else None)
    return load(model.card.name)


def main() -> None:
    """Measure, and release if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the folder of a model, or the name of a released one")
    parser.add_argument("--datasets", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--release", action="store_true", help="save it into the zoo, under its card's name")
    arguments = parser.parse_args()
    model = load(arguments.model)
    prior = recipe_from(model.card.recipe).prior
    if arguments.release:
        model = released(model, prior, arguments.datasets, arguments.seed)
    rows = measured(model, prior, arguments.datasets, arguments.seed)
    lines = [
        [str(size), *(f"{each.mean:z.4f} ± {each.half_width:.4f}" for each in row.values())]
        for size, row in rows.items()
    ]
    show(f"{model.card.name}: {arguments.datasets} datasets", ["n", "NLL", "exact NLL", "gap", "floor"], lines)


if __name__ == "__main__":
    main()
