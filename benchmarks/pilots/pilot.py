"""One training run with some settings changed, judged by its gap to the exact posterior.

    python benchmarks/pilots/pilot.py --minutes 3 --save
    python benchmarks/pilots/pilot.py --steps 1200 --set network.width=96 --set data.targets=expected --save
    python benchmarks/pilots/pilot.py --task gp-5d --steps 1000 --set data.batch_size=12 --note "batch 12" --save

The task is that of `priorfit quickstart` (GP, RBF, lengthscale 0.3, noise 1e-4, up to 24 points), or ``gp-5d`` (the
paper's: lengthscale 0.6, noise 1e-4, up to 200 points), ``hyper-1d`` (the hyper-priors of section 5.2, up to 31 points)
or ``bnn-small`` (section 5.3, no activation, up to 101 points). ``--set`` takes any field of a recipe by its place, the
value as in TOML (``--set network.output='{type="RiemannHead"}'``); ``--from`` starts from a model of the same network.

The gap is KL(exact || model), the mean over context sizes (`pilot_tasks.py`), on datasets that are the same for every
pilot, with the expectation over y taken exactly; beside it stands the floor of the head. The truth of the last two
tasks takes minutes to compute the first time, and is kept in ``build/references``. ``--save`` adds a row to
``benchmarks/results/pilots.jsonl``, from which `pilots_table.py` makes the table of the docs. Cost: the budget.
"""

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.pilot_tasks import TASKS, Judgement, judged
from benchmarks.common.report import RESULTS
from priorfit.network import PFN
from priorfit.provenance import circumstances
from priorfit.training import Budget, Recipe, recipe_from, train
from priorfit.zoo import load

LARGEST_ERROR = 0.002
"""Largest standard error, in nats, of gaps that are compared."""


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


def row_of(recipe: Recipe, model: PFN, found: Judgement) -> dict[str, Any]:
    """The row of a pilot, as plain data."""
    row: dict[str, Any] = {
        "budget": vars(recipe.budget),
        "targets": recipe.data.targets,
        "training": {name: model.card.training[name] for name in ("steps", "datasets", "seconds")},
        "gap": found.gap.mean,
        "half_width": found.gap.half_width,
        "floor": found.floor.mean,
    }
    row["gaps"] = {size: [each.mean, each.half_width] for size, each in found.gaps.items()}
    row["floors"] = {size: [each.mean, each.half_width] for size, each in found.floors.items()}
    return row


def tell(found: Judgement, row: dict[str, Any]) -> None:
    """Print what a reader of the log wants to know."""
    error = found.gap.half_width / 1.96
    print(f"gap {found.gap.mean:z.4f} ± {found.gap.half_width:.4f}, floor of the head {found.floor.mean:z.4f}")
    for size, gap in found.gaps.items():
        print(f"  n = {size:<4} gap {gap.mean:z.4f} ± {gap.half_width:.4f}, floor {found.floors[size].mean:z.4f}")
    print(row["training"], row["targets"], *row["changes"])
    if error > LARGEST_ERROR:
        print(f"The standard error is {error:.4f}, above {LARGEST_ERROR}: judge by more --datasets.")


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=list(TASKS), default="quickstart")
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--datasets", type=int, default=None, help="datasets of each context size to judge by")
    parser.add_argument("--set", action="append", default=[], metavar="PLACE=VALUE")
    parser.add_argument("--from", dest="start", default=None, metavar="MODEL", help="a name or a folder")
    parser.add_argument("--note", default="", help="what was changed, in words, for the table")
    parser.add_argument("--save", action="store_true", help="add a row to benchmarks/results/pilots.jsonl")
    return parser.parse_args()


def main() -> None:
    """Train, judge, print, and keep the row."""
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    task = TASKS[arguments.task]
    budget = Budget(minutes=arguments.minutes, steps=arguments.steps)
    recipe = Recipe(task.prior, num_points=task.num_points, budget=budget, seed=arguments.seed)
    recipe = changed(recipe, arguments.set)
    model = train(recipe, start=None if arguments.start is None else load(arguments.start))
    found = judged(model, task, arguments.datasets or task.num_datasets)
    about = {"task": arguments.task, "changes": arguments.set, "start": arguments.start, "note": arguments.note}
    row = about | row_of(recipe, model, found)
    tell(found, row)
    if arguments.save:
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / "pilots.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | circumstances(arguments.seed)) + "\n")


if __name__ == "__main__":
    main()
