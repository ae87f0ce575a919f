"""Figure of issue 21: Bayesian optimisation with `bo-6d` beside a fitted Gaussian process and random search.

    python studies/bayesian_optimisation.py --threads 1 --data FOLDER

Claim: after 50 evaluations the regret of `bo-6d` (`PFNModel`, which fits nothing) is not above that of BoTorch's
`SingleTaskGP`, fitted at each step, on at least six of eight objectives, one point at a time and four at a time, at a
fifth of its seconds a step or less. The paper: none; section 5.3 of later work on PFNs4BO is near.

Six functions and two real tables (``--data`` or ``PRIORFIT_DATA``; left out where there is none), 20 seeds, ten first
points of a Sobol sequence that all methods share. Simple regret is the largest value of the objective less the best
value found. Cost: an estimate of three hours on one core, nearly all of it `SingleTaskGP`; ``--seeds``, ``--only`` and
``--methods`` choose, ``--kept`` tells the rows so far, and a run that was stopped goes on.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from models import digest
from optimisation_methods import (
    BelievedProcess,
    GaussianProcess,
    Method,
    Network,
    RandomSearch,
    without_advice,
)
from optimisation_objectives import Objective, functions, tables
from study import Clock, Row, Setup, Study, table
from tabular_data import given_folder

from priorfit.data import Real
from priorfit.network import KernelSolver, Model, NetworkSettings, Problem
from priorfit.network.card import ModelCard
from priorfit.seeding import seeded
from priorfit.zoo import load

NAME = "bo-6d"
EVALUATIONS, FIRST, SEEDS = 50, 10, 20
BATCHES = (1, 4)
PROCESSES = ("SingleTaskGP", "SingleTaskGP, LogEI")
METHODS = (NAME, *PROCESSES, "random")
LEAST_REGRET = 1e-8
"""Regrets below are this: the optimum of a function is known to as many digits."""


def run(setup: Setup) -> list[Row]:
    """One row for each objective, number of points at a time, method and seed."""
    return [setup.rows.get(key, lambda case=case: optimised(setup, *case)) for key, case in cases(setup)]


def kept(setup: Setup) -> list[Row]:
    """The rows found so far."""
    found = (setup.rows.find(key) for key, _ in cases(setup))
    return [row for row in found if row is not None]


def cases(setup: Setup) -> Iterator[tuple[dict[str, str | int], tuple[Objective, int, str, int]]]:
    """The keys of all rows, seed after seed, and what to do for each."""
    options = setup.options
    methods = [name for name in METHODS if name in (options.methods or ";".join(METHODS)).split(";")]
    for seed in range(setup.choose(options.seeds, 1)):
        for objective in objectives(setup):
            for q in setup.choose(BATCHES, (2,)):
                for name in methods:
                    key = {"objective": objective.name, "q": q, "method": name, "seed": seed}
                    evaluations = setup.choose(EVALUATIONS, 6)
                    version = weights_of(setup) if name == NAME else ""
                    yield {**key, "evaluations": evaluations, "weights": version}, (objective, q, name, seed)


def objectives(setup: Setup) -> list[Objective]:
    """The objectives that were chosen; tables where there is a folder of them."""
    if setup.quick:
        return functions()[:1]
    folder = given_folder(setup.options.data)
    every = functions() + ([] if folder is None else tables(folder.path))
    return [objective for objective in every if setup.options.only in objective.name]


def weights_of(setup: Setup) -> str:
    """A digest of the model's recipe and training."""
    card = network(str(setup.options.model), setup.quick).card
    return digest([card.recipe, card.training])


@cache
def network(name: str, quick: bool) -> Model:
    """The model by its name or folder; in a quick run one without training."""
    if not quick:
        return load(name).double()
    settings = NetworkSettings(16, 0, 1, 16, solver=KernelSolver(2, 4))
    problem = Problem(6, Real(), (0.0, 1.0), 1, answers="function", padding="plain")
    return settings.build(problem, ModelCard(name="untrained")).frozen()


def method_of(name: str, setup: Setup) -> Method:
    """A method by its name."""
    if name == NAME:
        return Network(NAME, network(str(setup.options.model), setup.quick))
    return {method.name: method for method in (GaussianProcess(), BelievedProcess(), RandomSearch())}[name]


def optimised(setup: Setup, objective: Objective, q: int, name: str, seed: int) -> dict[str, object]:
    """The best value after each evaluation, and the seconds of each step."""
    evaluations, first = setup.choose((EVALUATIONS, FIRST), (6, 4))
    method, seconds = method_of(name, setup), []
    with seeded(setup.seed, 21, seed), without_advice():
        x = first_points(objective, first, seed)
        y = objective.values(x)
        while len(x) < evaluations:
            clock = Clock()
            chosen = method.propose(objective, x, y, min(q, evaluations - len(x)))
            seconds.append(clock.seconds)
            x, y = torch.cat([x, chosen]), torch.cat([y, objective.values(chosen)])
    regret = (objective.best - y[:, 0].cummax(0).values).clamp_min(LEAST_REGRET)
    return {"regret": regret.tolist(), "seconds": seconds}


def first_points(objective: Objective, count: int, seed: int) -> torch.Tensor:
    """Points of a scrambled Sobol sequence in the box, or random rows; the same for all methods."""
    if objective.candidates is not None:
        order = torch.randperm(len(objective.candidates), generator=torch.Generator().manual_seed(seed))
        return objective.candidates[order[:count]]
    lower, upper = objective.bounds
    drawn = torch.quasirandom.SobolEngine(len(lower), scramble=True, seed=seed).draw(count, dtype=torch.float64)
    return lower + (upper - lower) * drawn


def tell(rows: Sequence[Row]) -> str:
    """Log regrets at the end, paired differences from the Gaussian process, and seconds a step."""
    lines, clear = [], {q: [0, 0] for q in dict.fromkeys(row["q"] for row in rows)}
    for objective, q in dict.fromkeys((row["objective"], row["q"]) for row in rows):
        found = {name: finals(rows, objective, q, name) for name in METHODS}
        cells = [f"{np.mean(list(each.values())):.2f}" if each else "-" for each in found.values()]
        differences = [paired(found[NAME], found[name]) for name in PROCESSES]
        times = {name: step_seconds(rows, objective, q, name) for name in (NAME, *PROCESSES)}
        ratios = [f"{times[name] / times[NAME]:.1f}" if times[name] and times[NAME] else "-" for name in PROCESSES]
        words = [f"{mean:+.2f} ± {half:.2f}" if half == half else "-" for mean, half in differences]
        lines.append([f"{objective}, q = {q}", *cells, *words, f"{1000 * times[NAME]:.0f}", *ratios])
        mean, half = differences[0]
        clear[q][0] += int(mean - half <= 0)
        clear[q][1] += int(half == half)
    against = [f"{NAME} - {name}" for name in PROCESSES]
    head = ["objective", *METHODS, *against, "ms a step", *(f"{name}, times" for name in PROCESSES)]
    counts = [
        f"q = {q}: on {good} of {of} objectives the interval includes 0 or favours {NAME}"
        for q, (good, of) in clear.items()
    ]
    about = "log10 of the simple regret after the last evaluation, means over seeds; seconds are of the processor"
    return "\n".join([about, "", table(head, lines), "", *counts])


def finals(rows: Sequence[Row], objective: str, q: int, name: str) -> dict[int, float]:
    """The log regret of each seed after the last evaluation."""
    wanted = (objective, q, name)
    return {
        row["seed"]: float(np.log10(row["regret"][-1]))
        for row in rows
        if (row["objective"], row["q"], row["method"]) == wanted
    }


def paired(ours: dict[int, float], theirs: dict[int, float]) -> tuple[float, float]:
    """The mean difference over the seeds that both have and half of its 95 % interval; NaN for fewer than two."""
    both = sorted(ours.keys() & theirs.keys())
    if len(both) < 2:
        return float("nan"), float("nan")
    difference = np.array([ours[seed] - theirs[seed] for seed in both])
    return float(difference.mean()), float(1.96 * difference.std(ddof=1) / len(both) ** 0.5)


def step_seconds(rows: Sequence[Row], objective: str, q: int, name: str) -> float:
    """The median over all steps of their seconds; 0 where there are none."""
    wanted = (objective, q, name)
    seconds = [each for row in rows if (row["objective"], row["q"], row["method"]) == wanted for each in row["seconds"]]
    return float(np.median(seconds)) if seconds else 0.0


def draw(rows: Sequence[Row]) -> Figure:
    """The median regret after each evaluation, a panel for each objective and number of points at a time."""
    panels = list(dict.fromkeys((row["objective"], row["q"]) for row in rows))
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3.2 * columns, 2.6 * lines), squeeze=False)
    for axis, (objective, q) in zip(axes.flat, panels, strict=False):
        for name in METHODS:
            curves = [
                row["regret"] for row in rows if (row["objective"], row["q"], row["method"]) == (objective, q, name)
            ]
            if curves:
                axis.plot(range(1, len(curves[0]) + 1), np.median(np.array(curves), axis=0), label=name)
        axis.set_yscale("log")
        axis.set_title(f"{objective}, q = {q}", fontsize=8)
    axes.flat[0].legend(fontsize=7)
    figure.supxlabel("evaluations")
    figure.supylabel("median simple regret")
    figure.tight_layout()
    return figure


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to run, and with which model."""
    parser.add_argument("--data", type=Path, default=None, help="the folder of tables")
    parser.add_argument("--model", default=NAME, help="a released model, or a folder")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="objectives whose name holds this")
    parser.add_argument("--methods", default=None, help=f"some of {'; '.join(METHODS)}, with a semicolon between")


STUDY = Study("bayesian_optimisation", __doc__, run, tell, draw, kept, add_options)

if __name__ == "__main__":
    STUDY.main()
