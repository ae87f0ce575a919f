"""Models against the exact posterior of their prior, on the same datasets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from jaxtyping import Float
from models import Entrant, training_of
from study import Key, Row, Setup
from torch import Tensor

from priorfit.baselines.exact import exact
from priorfit.data import Batch
from priorfit.distributions import best_fit
from priorfit.metrics import Estimate, divergence
from priorfit.predictor import Predictor, predict
from priorfit.priors import Prior
from priorfit.seeding import seeded

STREAM = 4_000_000
"""Stream of the seed for datasets that no training sees."""
MOST_NUMBERS = 20_000_000
"""Entries of the covariance matrices of the datasets that are processed at once."""
MOST_DATASETS = 250

Values = dict[str, Float[Tensor, " datasets"]]


def compare(
    setup: Setup, prior: Prior, entrants: Sequence[Entrant], sizes: Sequence[int], num_datasets: int
) -> list[Row]:
    """A row for each model and each context size that it was trained for; what is missing is measured.

    Each dataset has one query, as in the paper. Models of one size are measured together, so that datasets and
    exact posteriors are computed once.
    """
    rows = []
    for size in sizes:
        keys = {
            entrant: key_of(entrant, size, num_datasets, setup.seed) for entrant in entrants if size <= entrant.largest
        }
        models = {entrant: entrant.model() for entrant, key in keys.items() if setup.rows.find(key) is None}
        found = measured(models, prior, size, num_datasets, setup.seed)
        for entrant, model in models.items():
            setup.rows.add(keys[entrant], found[entrant] | {"training": training_of(model)})
        rows += [row for row in map(setup.rows.find, keys.values()) if row is not None]
    return rows


def key_of(entrant: Entrant, size: int, num_datasets: int, seed: int) -> Key:
    """The key of a row."""
    return {
        "method": entrant.label,
        "model": entrant.fingerprint,
        "n": size,
        "datasets": num_datasets,
        "seed": seed,
    }


@torch.no_grad()
def measured(
    models: Mapping[Entrant, Predictor], prior: Prior, size: int, num_datasets: int, seed: int
) -> dict[Entrant, dict[str, Any]]:
    """NLL, exact NLL, gap and floor of each model, as estimates over datasets."""
    reference = exact(prior)
    parts: dict[Entrant, list[Values]] = {entrant: [] for entrant in models}
    for tasks in datasets(prior, size, num_datasets, seed) if models else ():
        truth = predict(reference, tasks)
        for entrant, model in models.items():
            ppd = predict(model, tasks)
            values = {
                "nll": -ppd.log_prob(tasks.query_y),
                "exact_nll": -truth.log_prob(tasks.query_y),
                "gap": divergence(truth, ppd),
                "floor": divergence(truth, best_fit(ppd, truth)),
            }
            parts[entrant].append({name: value.mean(-1) for name, value in values.items()})
    return {
        entrant: {name: asdict(Estimate.over(torch.cat([each[name] for each in some]))) for name in some[0]}
        for entrant, some in parts.items()
    }


def datasets(prior: Prior, size: int, num_datasets: int, seed: int) -> Iterator[Batch]:
    """Datasets of one query each, as many at once as fit in memory."""
    at_once = max(1, min(MOST_DATASETS, MOST_NUMBERS // (size + 1) ** 2))
    for first in range(0, num_datasets, at_once):
        with seeded(seed, STREAM, size, first):
            yield prior.sample(min(at_once, num_datasets - first), size + 1).split(size)


def estimate(row: Row, name: str) -> Estimate:
    """A number of a row with its interval."""
    return Estimate(**row[name])
