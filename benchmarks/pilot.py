"""One training run of the quickstart's GP with some settings changed, judged by its gap to the exact posterior.

    python benchmarks/pilot.py --minutes 3 --save
    python benchmarks/pilot.py --steps 1200 --set network.width=96 --set data.targets=expected --save

The GP is that of `priorfit quickstart` (RBF, lengthscale 0.3, noise 1e-4, up to 24 points). ``--set`` takes any field
of a recipe by its place, the value as in TOML (``--set network.head='{type="RiemannHead"}'``). The gap is the mean over
n = 3, 5, 10, 20 on 2,000 datasets each, the same for every pilot, with the expectation over y taken exactly. ``--save``
adds a row to ``benchmarks/results/pilots.jsonl``. Cost: the budget.
"""

import argparse
import json
import statistics
import tomllib
from typing import Any

import torch
from report import RESULTS

from priorfit import metrics
from priorfit.baselines.exact import exact
from priorfit.cli.quickstart import CONTEXT_SIZES, PRIOR, evaluation_tasks
from priorfit.network import PFN
from priorfit.provenance import circumstances
from priorfit.training import Budget, Recipe, recipe_from, train


def changed(recipe: Recipe, changes: list[str]) -> Recipe:
    """The recipe with ``place=value`` applied."""
    description = recipe.description()
    for change in changes:
        place, value = change.split("=", 1)
        *sections, field = place.split(".")
        part: dict[str, Any] = description
        for section in sections:
            part = part[section]
        try:
            part[field] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            part[field] = value  # a bare word
    return recipe_from(description)


def gaps(model: PFN, num_datasets: int) -> dict[int, metrics.Estimate]:
    """The gap at each context size, on datasets that no training sees."""
    reference = exact(PRIOR)
    assert reference is not None
    return {size: metrics.gap(model, reference, evaluation_tasks(size, num_datasets, seed=0)) for size in CONTEXT_SIZES}


def main() -> None:
    """Train, judge, print, and keep the row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--datasets", type=int, default=2_000, help="datasets of each context size to judge by")
    parser.add_argument("--set", action="append", default=[], metavar="PLACE=VALUE")
    parser.add_argument("--save", action="store_true", help="add a row to benchmarks/results/pilots.jsonl")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    budget = Budget(minutes=arguments.minutes, steps=arguments.steps)
    recipe = changed(Recipe(PRIOR, num_points=24, budget=budget, seed=arguments.seed), arguments.set)
    model = train(recipe)
    found = gaps(model, arguments.datasets)
    mean = statistics.fmean(gap.mean for gap in found.values())
    training = {name: model.card.training[name] for name in ("steps", "datasets", "seconds")}
    print(f"{mean:.4f}", {size: str(gap) for size, gap in found.items()}, training, *arguments.set)
    if arguments.save:
        row = {"changes": arguments.set, "budget": vars(budget), "gap": mean, "training": training}
        row["gaps"] = {size: [gap.mean, gap.half_width] for size, gap in found.items()}
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / "pilots.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | circumstances(arguments.seed)) + "\n")


if __name__ == "__main__":
    main()
