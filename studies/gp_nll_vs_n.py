"""Figure 4a: NLL against n, to 2000 points of five features, for PFNs of growing training budget and the exact GP.

    python studies/gp_nll_vs_n.py

Claim to test: the more a PFN is trained, the closer it comes to the exact posterior, at every n; and the released
``gp-rbf-5d`` comes within 0.05 nats to n = 191 and within 0.10 to n = 2000.
The paper: its curve for this Gaussian process (RBF, lengthscale 0.6, noise 1e-4) lies 0.07 nats above the exact one at
n = 1, 0.16 at 51, 0.23 at 101, 0.39 at 191. (Its figure 4a has no numbers; these are of figure 9, the same setting.)
Shown: (a) NLL, 1000 datasets for each n (40 beyond 191), one query each, 95 % intervals; (b) the gap on the same
datasets, with the expectation over y taken exactly; (c) the gap against the time of training.
The three smaller PFNs are trained here by one recipe with a hidden layer for features (n to 320, so they are not asked
beyond), four times as many steps each, and one without a regression layer for as many steps as the longest; they are
kept in ``build/studies``. Cost on one core: ten minutes to train, ten minutes to measure.
"""

from collections.abc import Sequence
from dataclasses import replace

from evaluation import compare, estimate
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from models import Entrant, Released, Trained, present
from paper import GP_5D, SIZES_5D, at, curves
from pictures import (
    GREY,
    Look,
    draw_curve,
    draw_points,
    finish,
    legend_below,
    log_nats,
    log_sizes,
    look,
    methods,
    of_method,
)
from study import Row, Setup, Study, table

from priorfit.network import FourierEncoder, LinearSolver, NetworkSettings, NormalMixtureHead
from priorfit.training import Budget, DataSettings, OptimiserSettings, Recipe

LARGE_SIZES, LARGE_DATASETS = (500, 1000, 2000), 40
"""Context sizes at which a dataset takes a second, and the smaller number of datasets there."""
STEPS = (30, 120, 480)
LAYER = LinearSolver(features=768, components=1, hidden=512)
BASE = Recipe(
    prior=GP_5D,
    num_points=321,
    budget=Budget(steps=STEPS[0]),
    name="gp-rbf-5d",
    network=NetworkSettings(
        width=64,
        layers=3,
        output=NormalMixtureHead(5),
        encoder=FourierEncoder(128, scale=0.5),
        solver=LAYER,
    ),
    data=DataSettings(batch_size=10, num_queries=64, targets="expected"),
    optimiser=OptimiserSettings(learning_rate=1e-3),
)
PLAIN_LABEL = "no regression layer"
PLAIN = replace(BASE, network=NetworkSettings(width=64, layers=6, encoder=FourierEncoder(64, scale=1.0)))
QUICK = replace(BASE, num_points=16, network=NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16))
TIMED_SIZES = (11, 51, 101, 191, 1000, 2000)
"""Context sizes whose gap is shown against the time of training."""


def run(setup: Setup) -> list[Row]:
    """Every budget at every n."""
    base = replace(setup.choose(BASE, QUICK), seed=setup.seed)
    entrants: list[Entrant] = [
        Trained(f"PFN, {steps:,} steps", replace(base, budget=Budget(steps=steps)), setup.models)
        for steps in setup.choose(STEPS, (2, 4))
    ]
    if not setup.quick:
        plain = replace(PLAIN, budget=Budget(steps=STEPS[-1]), seed=setup.seed)
        entrants.append(Trained(f"{PLAIN_LABEL}, {STEPS[-1]:,} steps", plain, setup.models))
        entrants += present([Released("gp-rbf-5d")])
    count = setup.num_datasets(1_000)
    rows = compare(setup, GP_5D, entrants, setup.choose(SIZES_5D, (1, 11)), count)
    return rows + compare(setup, GP_5D, entrants, setup.choose(LARGE_SIZES, ()), min(count, LARGE_DATASETS))


def tell(rows: Sequence[Row]) -> str:
    """Exact NLL and the gap of each model, beside the paper's."""
    names = methods(rows)
    found = {(row["method"], row["n"]): row for row in rows}
    exact = {row["n"]: estimate(row, "exact_nll") for row in rows}
    lines = [
        [
            str(n),
            str(nll),
            *(str(estimate(found[name, n], "gap")) if (name, n) in found else "" for name in names),
            at("gap_5d", "Riemann", n),
        ]
        for n, nll in exact.items()
    ]
    return table(["n", "exact NLL", *(f"gap: {name}" for name in names), "gap: the paper"], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """NLL, gap, and gap against training time."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 5.2), layout="constrained")
    exact = {row["n"]: estimate(row, "exact_nll") for row in rows}  # of every n that any model was asked at
    draw_curve(left, sorted(exact), [exact[n] for n in sorted(exact)], "exact GP", Look())
    for index, name in enumerate(methods(rows)):
        some = of_method(rows, name)
        label = f"{name} ({some[0]['training']['seconds'] / 60:,.0f} min)"
        for ax, number in ((left, "nll"), (middle, "gap")):
            draw_curve(ax, [row["n"] for row in some], [estimate(row, number) for row in some], label, look(index))
    paper = Look(GREY, "s")
    draw_points(left, curves("ablation")["Riemann"], "the paper's PFN", paper)
    draw_points(middle, curves("gap_5d")["Riemann"], "the paper's PFN", paper)
    sizes = [size for size in (1, 5, 11, 51, 191, 500, 2000) if size <= max(row["n"] for row in rows)]
    for ax in (left, middle):
        log_sizes(ax, sizes)
    log_nats(middle)
    finish(left, "(a) NLL", "context points n", "NLL (nats), 95 % interval")
    finish(middle, "(b) gap to the exact posterior", "context points n", "gap (nats), 95 % interval")
    draw_times(right, rows)
    legend_below(figure, (left, middle), columns=3)
    return figure


def draw_times(ax: Axes, rows: Sequence[Row]) -> None:
    """The gap at some n against the minutes of training, of the models with a regression layer."""
    rows = [row for row in rows if not row["method"].startswith(PLAIN_LABEL)]
    sizes = [size for size in TIMED_SIZES if size in {row["n"] for row in rows}]
    for index, size in enumerate(sizes):
        some = sorted((row for row in rows if row["n"] == size), key=lambda row: row["training"]["seconds"])
        minutes = [row["training"]["seconds"] / 60 for row in some]
        draw_curve(ax, minutes, [estimate(row, "gap") for row in some], f"n = {size}", look(index))
    ax.set_xscale("log")
    log_nats(ax)
    finish(ax, "(c) gap against training time", "minutes of training", "gap (nats), 95 % interval")
    ax.legend(frameon=False, fontsize="small")


STUDY = Study("gp_nll_vs_n", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
