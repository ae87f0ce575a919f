"""Figure 9: which head, and whether the order of the context is told: the same network, trained eight times.

    python studies/head_ablation.py

Claim to test: the head decides more than whether a network knows the order of the points; and a Normal with a log
scale is no bad head for a Gaussian process, unlike the paper's (an absolute value as variance).
The paper, at n = 101: Normal 3.16, Riemann -0.65, Riemann with positions -0.60 nats; the exact posterior has -0.88.
Shown: (a) NLL and (b) the gap on 1000 datasets for each n, one query each. RBF, lengthscale 0.6, noise 1e-4, five
features, drawn targets; the same steps, data, seed and learning rate for all (the paper chose one of four for each).
Cost: two minutes of training for each of the eight on one core (0.23 s a step), and some minutes to measure.
"""

from collections.abc import Sequence
from dataclasses import replace

from evaluation import compare, estimate
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from models import Trained
from paper import GP_5D, SIZES_5D, curves
from pictures import GREY, Look, draw_curve, draw_points, finish, legend_below, log_nats, look, methods, of_method
from study import Row, Setup, Study, table

from priorfit.network import FourierEncoder, NetworkSettings, NormalHead, NormalMixtureHead, RiemannHead
from priorfit.training import Budget, DataSettings, OptimiserSettings, Recipe

HEADS = {
    "plain Riemann": RiemannHead(500, shape="plain"),
    "smooth Riemann": RiemannHead(500, shape="smooth"),
    "Normal": NormalHead(),
    "mixture of Normals": NormalMixtureHead(10),
}
WITH_POSITIONS = ", positions"
NETWORK = NetworkSettings(width=96, layers=6, attention_heads=4, feedforward=192, encoder=FourierEncoder(64, scale=1.0))
BASE = Recipe(
    GP_5D,
    num_points=200,
    budget=Budget(steps=500),
    name="ablation",
    network=NETWORK,
    data=DataSettings(batch_size=12),
    optimiser=OptimiserSettings(learning_rate=1e-3),
)
QUICK = replace(
    BASE,
    num_points=16,
    budget=Budget(steps=2),
    network=NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16),
)


def run(setup: Setup) -> list[Row]:
    """Every head with and without positions, at every n of the paper."""
    base = replace(setup.choose(BASE, QUICK), seed=setup.seed)
    entrants = []
    for positions, addition in (("none", ""), ("sinusoidal", WITH_POSITIONS)):
        for label, head in HEADS.items():
            network = replace(base.network, output=head, positions=positions)
            entrants.append(Trained(label + addition, replace(base, network=network), setup.models))
    return compare(setup, GP_5D, entrants, setup.choose(SIZES_5D, (1, 11)), setup.num_datasets(1_000))


def tell(rows: Sequence[Row]) -> str:
    """The gap of each head at some n, and the floor of its family there."""
    sizes = [n for n in (1, 11, 51, 101, 191) if n in {row["n"] for row in rows}]
    lines = []
    for name in methods(rows):
        some = {row["n"]: row for row in of_method(rows, name)}
        cells = [f"{estimate(some[n], 'gap')} (floor {some[n]['floor']['mean']:.3f})" for n in sizes]
        lines.append([name, *cells])
    return table(["head", *(f"gap at n = {n}" for n in sizes)], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """NLL beside the paper's, and the gap."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 5.6), layout="constrained")
    exact = of_method(rows, methods(rows)[0])
    draw_curve(left, [row["n"] for row in exact], [estimate(row, "exact_nll") for row in exact], "exact GP", Look())
    colours = {label: look(index) for index, label in enumerate(HEADS)}
    for name in methods(rows):
        some = of_method(rows, name)
        style = colours[name.removesuffix(WITH_POSITIONS)]
        style = replace(style, dashes="--") if name.endswith(WITH_POSITIONS) else style
        for ax, number in ((left, "nll"), (right, "gap")):
            draw_curve(ax, [row["n"] for row in some], [estimate(row, number) for row in some], name, style)
    for label, marker in (("Riemann", "s"), ("Riemann + positional embeddings", "^")):
        draw_points(left, curves("ablation")[label], f"the paper's {label}", Look(GREY, marker))
    log_nats(right)
    finish(left, "(a) NLL", "context points n", "NLL (nats), 95 % interval")
    finish(right, "(b) gap to the exact posterior", "context points n", "gap (nats), 95 % interval")
    legend_below(figure, (left, right), columns=4)
    return figure


STUDY = Study("head_ablation", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
