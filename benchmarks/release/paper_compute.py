"""The compute of the paper's two models for tables, ours beside the authors' own.

    python benchmarks/release/paper_compute.py

Operations of matrix products, forward and backward, for N rows as tokens, width d, feed-forward width f and L layers:
6 N L (4 d^2 + 2 d f) + 12 L N^2 d a dataset, averaged over the context sizes of our training. The authors' sizes are
those of their notebook: 100 epochs of 100 steps of 512 datasets, d = 512, f = 1024, L = 5, N = 50 (BNN) or 100 (GP).
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from benchmarks.common.report import show
from priorfit.network import ModelCard, NetworkSettings
from priorfit.training import Recipe, recipe_from
from priorfit.zoo import load

AUTHORS = {"tabular-bnn": 50, "tabular-gp": 100}
"""The number of rows N of a dataset in the authors' training of each model."""

AUTHORS_DATASETS = 100 * 100 * 512


@dataclass(frozen=True)
class Compute:
    """How many datasets a training drew, and the operations of all of them."""

    datasets: int
    operations: float


def operations(rows: int, width: int, layers: int, feedforward: int) -> int:
    """Operations of a forward and a backward pass of one dataset with rows as tokens."""
    products = 6 * rows * layers * (4 * width**2 + 2 * width * feedforward)
    return products + 12 * layers * rows**2 * width


def of_authors(name: str) -> Compute:
    """The training of the authors' model."""
    return Compute(
        AUTHORS_DATASETS, AUTHORS_DATASETS * operations(AUTHORS[name], width=512, layers=5, feedforward=1024)
    )


def of_card(card: ModelCard) -> Compute:
    """All trainings of a released model."""
    parts = [(datasets, datasets * mean_operations(recipe)) for recipe, datasets in trainings(card)]
    return Compute(sum(datasets for datasets, _ in parts), sum(part for _, part in parts))


def trainings(card: ModelCard) -> Iterator[tuple[Recipe, int]]:
    """The recipe and the number of datasets of each training of a model, the last one first."""
    part: dict[str, Any] = {"recipe": card.recipe, "training": card.training}
    while part:
        yield recipe_from(part["recipe"]), part["training"]["datasets"]
        part = part["training"].get("started_from", {})


def mean_operations(recipe: Recipe) -> float:
    """Operations of a dataset, averaged over the context sizes of a recipe."""
    network, queries = recipe.network, recipe.data.num_queries
    assert queries is not None and isinstance(network, NetworkSettings)  # as the recipes of both models say
    weights = recipe.data.context_sizes.weights(recipe.num_points)
    costs = [
        operations(size + queries, network.width, network.layers, network.feedforward) for size in range(len(weights))
    ]
    return float((weights / weights.sum()) @ weights.new_tensor(costs))


def rows() -> list[list[str]]:
    """A line for each model."""
    found = []
    for name in AUTHORS:
        ours, theirs = of_card(load(name).card), of_authors(name)
        numbers = (f"{ours.datasets:,}", f"{ours.operations:.2e}", f"{theirs.datasets:,}", f"{theirs.operations:.2e}")
        found.append([name, *numbers, f"1/{theirs.operations / ours.operations:.0f}"])
    return found


def main() -> None:
    """Print the table."""
    show("compute", ["model", "datasets", "operations", "authors' datasets", "authors' operations", "share"], rows())


if __name__ == "__main__":
    main()
