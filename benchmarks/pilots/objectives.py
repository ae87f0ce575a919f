"""Which network suits the objectives of Bayesian optimisation: forms trained for as many processor seconds each.

    python benchmarks/pilots/objectives.py --threads 1 --seconds 60 --save

Networks with a `KernelSolver` (with and without layers behind it), with a `LinearSolver`, and without a solver are
trained on the prior `Objectives` for the same processor seconds (the steps follow from five timed ones) and judged on
the same 256 datasets at each n: mean negative log likelihood of the function at 32 queries, with the 95 % interval over
datasets. "untrained" is the kernel solver as it begins. Cost: five processor minutes.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show, spelled
from priorfit.metrics import Estimate
from priorfit.network import KernelSolver, LinearSolver, Model, NetworkSettings
from priorfit.priors import Objectives
from priorfit.seeding import seeded
from priorfit.training import Budget, Recipe, train
from priorfit.training.context_sizes import PowerSizes
from priorfit.training.networks import start_network
from priorfit.training.recipe import DataSettings

FORMS = {
    "kernel solver, no layers": NetworkSettings(width=32, layers=0, attention_heads=1, solver=KernelSolver()),
    "kernel solver, 2 layers": NetworkSettings(width=64, layers=2, solver=KernelSolver()),
    "linear solver, 4 layers": NetworkSettings(
        width=64, layers=4, target_scaling="context", solver=LinearSolver(128, 8, 256)
    ),
    "no solver, 6 layers": NetworkSettings(width=64, layers=6, target_scaling="context"),
}
SIZES = (3, 5, 10, 20, 50, 100)
TIMED = 5
"""Steps by which the time of a step is measured."""


def recipe_for(network: NetworkSettings, steps: int) -> Recipe:
    """A training of some steps."""
    data = DataSettings(16, num_queries=32, context_sizes=PowerSizes(offset=10.0, power=1.0, smallest=3))
    return Recipe(Objectives(), 101, Budget(steps=steps), network=network, data=data)


def trained(network: NetworkSettings, seconds: float) -> tuple[Model, int]:
    """A network that was trained for some processor seconds, and how many steps that were."""
    start = time.process_time()
    train(recipe_for(network, TIMED))
    each = (time.process_time() - start) / TIMED
    steps = max(TIMED, round(seconds / each))
    return train(recipe_for(network, steps)), steps


@torch.no_grad()
def judged(model: Model, seed: int, datasets: int, sizes: tuple[int, ...]) -> dict[str, Estimate]:
    """The negative log likelihood at each n."""
    found = {}
    for n in sizes:
        with seeded(seed, 7, n):
            batch = Objectives().sample_split(datasets, n, 32)
        losses = [model.loss(replace(batch, **parts)).mean(1) for parts in pieces(batch)]
        found[f"n = {n}"] = Estimate.over(torch.cat(losses))
    return found


def pieces(batch: Any, size: int = 32) -> list[dict[str, torch.Tensor]]:
    """The batch in parts that fit into memory."""
    names = ("context_x", "context_y", "query_x", "query_y")
    chunks = zip(*(getattr(batch, name).split(size) for name in names), strict=True)
    return [dict(zip(names, chunk, strict=True)) for chunk in chunks]


def main() -> None:
    """Train, judge, print and, when asked, save."""
    parser = parser_for("objectives", __doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default="", help="forms whose name holds this")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    seconds, datasets = (0.0, 4) if arguments.quick else (arguments.seconds, 256)
    sizes = SIZES[:2] if arguments.quick else SIZES
    forms = {name: form for name, form in FORMS.items() if arguments.only in name}
    forms = dict(list(forms.items())[:1]) if arguments.quick else forms
    first = start_network(recipe_for(FORMS["kernel solver, no layers"], 1), None).frozen()
    rows = [{"form": "untrained", "steps": 0, **judged(first, arguments.seed, datasets, sizes)}]
    for name, form in forms.items():
        model, steps = trained(form, seconds)
        rows.append({"form": name, "steps": steps, **judged(model.frozen(), arguments.seed, datasets, sizes)})
        print(name, steps, *(f"{key}: {value}" for key, value in rows[-1].items() if key[:2] == "n "), flush=True)
    columns = [f"n = {n}" for n in sizes]
    lines = [[f"{row['form']}, {row['steps']} steps", *(spelled(row[column], 2) for column in columns)] for row in rows]
    title = f"{arguments.threads} threads: negative log likelihood after {seconds:g} processor seconds"
    show(title, ["form", *columns], lines)
    if arguments.save:
        save("objectives", rows, arguments.seed)


if __name__ == "__main__":
    main()
