"""Figure 8: an attentive neural process beside a PFN, both trained for the same time on the same prior.

    python studies/neural_process.py

Claim to test: after the same minutes of training on the same Gaussian process (RBF, lengthscale 0.1, noise 1e-4, one
feature, drawn targets), the PFN lies on the exact posterior and the attentive neural process does not.
The paper: one picture, no numbers; "ANP was clearly given the bigger budget".
Shown: (a) mean and 95 % limits of the exact GP, the PFN and the process, on the first dataset that the seed gives;
(b) the gap at several n on 1000 datasets of one query. The process has the sizes of Kim et al. and two learning rates,
of which the better one is in the picture; the PFN has the defaults of ``fit``, and beside it stands one without the
regression layer, which is as little given to linear algebra as the process is.
Cost: 4 minutes of training for each of the four on one core, two minutes to measure.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from evaluation import compare, estimate
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from models import Trained
from paper import GP_SHORT
from pictures import Look, draw_curve, finish, legend_below, log_nats, log_sizes, methods, of_method
from study import Key, Row, Setup, Study, table

from priorfit.baselines import ExactGP, NeuralProcessSettings
from priorfit.metrics import interval
from priorfit.network import NetworkSettings
from priorfit.plots.canvas import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION
from priorfit.predictor import Predictor
from priorfit.seeding import seeded
from priorfit.training import Budget, OptimiserSettings, Recipe
from priorfit.training.defaults import suggested_network

SIZES = (1, 2, 5, 10, 20, 49)
PICTURE_SIZE = 8
PICTURES = 7_000_000
"""The stream of the seed that the dataset of the picture comes from."""
RATES = (5e-4, 1.5e-3)
"""The learning rates of the process; its own paper has 5e-5 with hundreds of thousands of steps."""
BASE = Recipe(GP_SHORT, num_points=50, budget=Budget(minutes=4), name="gp-rbf-1d-short")
QUICK = replace(BASE, num_points=12, budget=Budget(steps=2))
PLAIN = "PFN, no regression layer"
LOOKS = {
    "exact GP": Look(GREEN),
    "PFN": Look(BLUE, dashes="--"),
    PLAIN: Look(SKY, "s", "-."),
    f"ANP, rate {RATES[0]:g}": Look(VERMILION, "D", ":"),
    f"ANP, rate {RATES[1]:g}": Look(ORANGE, "^", ":"),
}


def run(setup: Setup) -> list[Row]:
    """The gaps of all, and then the curves of the picture."""
    base = replace(setup.choose(BASE, QUICK), seed=setup.seed)
    tiny = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    suggested = suggested_network(GP_SHORT)
    assert suggested is not None  # a Gaussian process
    networks = {"PFN": suggested, PLAIN: NetworkSettings()}
    process = setup.choose(NeuralProcessSettings(), NeuralProcessSettings(width=16, heads=2, num_latents=2))
    entrants = [
        Trained(label, replace(base, network=setup.choose(network, tiny)), setup.models)
        for label, network in networks.items()
    ]
    for rate in RATES:
        recipe = replace(base, name="anp", network=process, optimiser=OptimiserSettings(learning_rate=rate))
        entrants.append(Trained(f"ANP, rate {rate:g}", recipe, setup.models))
    gaps = compare(setup, GP_SHORT, entrants, setup.choose(SIZES, (1, 5)), setup.num_datasets(1_000))
    return gaps + [drawn_curve(setup, entrant) for entrant in entrants] + [drawn_curve(setup, None)]


def drawn_curve(setup: Setup, entrant: Trained | None) -> Row:
    """The row of the picture's curve of a model, or of the exact GP."""
    key: Key = {
        "curve": "exact GP" if entrant is None else entrant.label,
        "model": "" if entrant is None else entrant.fingerprint,
        "seed": setup.seed,
    }
    return setup.rows.get(key, lambda: curve(ExactGP(GP_SHORT) if entrant is None else entrant.model(), setup.seed))


@torch.no_grad()
def curve(predictor: Predictor, seed: int) -> dict[str, Any]:
    """The dataset of the picture, and a predictor's mean and 95 % limits over it."""
    with seeded(seed, PICTURES):
        data = GP_SHORT.sample(1, PICTURE_SIZE)
    query_x = torch.linspace(0, 1, 201)
    ppd = predictor.condition(data.x[0], data.y[0]).predict(query_x[:, None])
    low, high = interval(ppd, 0.95)
    lines = {
        "x": query_x,
        "mean": ppd.mean,
        "low": low,
        "high": high,
        "context_x": data.x[0, :, 0],
        "context_y": data.y[0],
    }
    return {name: [round(value, 4) for value in line.tolist()] for name, line in lines.items()}


def tell(rows: Sequence[Row]) -> str:
    """The gap of each at each n, and the time that it was trained."""
    gaps = [row for row in rows if "n" in row]
    sizes = sorted({row["n"] for row in gaps})
    lines = []
    for name in methods(gaps):
        some = of_method(gaps, name)
        spent = some[0]["training"]
        lines.append(
            [
                name,
                f"{spent['seconds'] / 60:.1f}",
                f"{spent['steps']:,.0f}",
                *(str(estimate(row, "gap")) for row in some),
            ]
        )
    return table(["trained for the same time", "minutes", "steps", *(f"gap at n = {n}" for n in sizes)], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """The picture in the paper's form, and the gap against n."""
    gaps = [row for row in rows if "n" in row]
    curves = {row["curve"]: row for row in rows if "curve" in row}
    processes = [name for name in methods(gaps) if name.startswith("ANP")]
    best = min(processes, key=lambda name: sum(row["gap"]["mean"] for row in of_method(gaps, name)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), layout="constrained", width_ratios=(1.5, 1))
    for name in ("exact GP", "PFN", best):
        draw_limits(left, curves[name], name, LOOKS[name])
    context = curves["exact GP"]
    left.plot(
        context["context_x"], context["context_y"], "o", color=BLACK, markeredgecolor="white", label="context", zorder=5
    )
    for name in methods(gaps):
        some = of_method(gaps, name)
        draw_curve(
            right, [row["n"] for row in some], [estimate(row, "gap") for row in some], f"gap: {name}", LOOKS[name]
        )
    log_sizes(right, sorted({row["n"] for row in gaps}))
    log_nats(right)
    minutes = gaps[0]["training"]["seconds"] / 60
    finish(left, f"(a) n = {len(context['context_x'])}, each trained for {minutes:.0f} minutes", "x", "y")
    finish(right, "(b) gap to the exact posterior", "context points n", "gap (nats), 95 % interval")
    legend_below(figure, (left, right), columns=5)
    return figure


def draw_limits(ax: Axes, row: Row, name: str, style: Look) -> None:
    """A mean, and the 95 % limits: filled for the exact GP, lines for the others."""
    ax.plot(row["x"], row["mean"], color=style.colour, linestyle=style.dashes, linewidth=2.0, label=f"{name}: mean")
    if name == "exact GP":
        ax.fill_between(
            row["x"], row["low"], row["high"], color=style.colour, alpha=0.2, linewidth=0, label=f"{name}: 95 %"
        )
        return
    for end, label in (("low", f"{name}: 95 % limits"), ("high", None)):
        ax.plot(row["x"], row[end], color=style.colour, linestyle=style.dashes, linewidth=1.1, label=label)


STUDY = Study("neural_process", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
