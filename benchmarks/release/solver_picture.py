"""Draw docs/images/solver.png: a solver's first guess, the network's correction, and the exact posterior.

    python benchmarks/release/solver_picture.py

Left, a dataset of `gp-rbf-1d-short`: median and 95 % credible interval of the guess, of the network's answer and of
the exact Gaussian process. Middle, the same for `gp-hyper-1d`, whose guess is a mixture over kernels, beside its
oracle. Right, the gap of guess and answer at each n, over 400 datasets of one query (`gp-rbf-1d-short`). The gaps are
printed. Cost: half a minute.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor
from torch.distributions import Distribution

import priorfit as pf
from priorfit.baselines import HyperGPOracle
from priorfit.errors import InputError
from priorfit.metrics.nll import divergence
from priorfit.network import PFN
from priorfit.seeding import seeded

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "solver.png"
SIZES = (1, 2, 5, 10, 20, 50, 100)
NUM_DATASETS = 400
SHORT = pf.GaussianProcess(lengthscale=0.1, noise=1e-4)
HYPER = pf.HyperGaussianProcess(num_features=1)
EXACT, GUESS, ANSWER = "0.25", "#D55E00", "#0072B2"


def guess_of(model: PFN, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Distribution:
    """The first guess of a model's solver, in the units of its prior."""
    if model.solver is None:
        raise InputError(f"{model.card.name} has no solver; take a model that has one.")
    units = model.scaling(context_y)
    guess = model.solver.condition(context_x, units.to_model(context_y)).predict(query_x).ppd
    return units.to_user(guess)


def draw_posteriors(ax: Axes, model: PFN, exact: pf.Predictor, prior: pf.Prior, num_context: int) -> None:
    """Median and 95 % credible interval of guess, answer and exact posterior on one dataset of a prior."""
    with seeded(0, num_context):
        batch = prior.sample(1, num_context + 1).split(num_context)
    x, y, grid = batch.context_x, batch.context_y, torch.linspace(0, 1, 201)[None, :, None]
    answers = {
        "exact posterior": (exact.condition(x, y).predict(grid), EXACT, (0, ())),
        "first guess of the solver": (guess_of(model, x, y, grid), GUESS, (0, (4, 2))),
        "answer of the network": (model.in_model_units().condition(x, y).predict(grid), ANSWER, (0, (1, 1.5))),
    }
    for name, (ppd, colour, dashes) in answers.items():
        low, middle, high = (ppd.icdf(torch.tensor(level))[0] for level in (0.025, 0.5, 0.975))
        across = grid[0, :, 0]
        ax.plot(across, middle, color=colour, linestyle=dashes, linewidth=2, label=name)
        if name == "exact posterior":
            ax.fill_between(across, low, high, color="0.88", linewidth=0)
        else:
            for limit in (low, high):
                ax.plot(across, limit, color=colour, linestyle=dashes, linewidth=1.2)
    ax.plot(x[0, :, 0], y[0], "o", color="black", markersize=4)
    ax.set(xlabel="x", ylabel="y", title=f"{model.card.name}, n = {num_context}")


def draw_gaps(ax: Axes, model: PFN) -> None:
    """The gap of guess and answer to the exact posterior against n."""
    exact = pf.exact(SHORT)
    gaps: dict[str, list[float]] = {"guess": [], "answer": []}
    for size in SIZES:
        with seeded(4, size):
            batch = SHORT.sample(NUM_DATASETS, size + 1).split(size)
        context = (batch.context_x, batch.context_y)
        truth = exact.condition(*context).predict(batch.query_x)
        guess = guess_of(model, *context, batch.query_x)
        answer = model.in_model_units().condition(*context).predict(batch.query_x)
        for name, ppd in (("guess", guess), ("answer", answer)):
            gaps[name].append(float(divergence(truth, ppd).mean()))
    ax.loglog(SIZES, gaps["guess"], "o--", color=GUESS)
    ax.loglog(SIZES, gaps["answer"], "s:", color=ANSWER)
    ax.set_xticks(SIZES, [str(size) for size in SIZES])
    ax.minorticks_off()
    ax.set(xlabel="n", ylabel="gap in nats", title=f"{model.card.name}: KL(exact || .)")
    for name, values in gaps.items():
        print(name, " ".join(f"{value:.5f}" for value in values))


@torch.no_grad()
def main() -> None:
    """Draw the three panels and write the picture."""
    short, hyper = pf.load("gp-rbf-1d-short"), pf.load("gp-hyper-1d")
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    draw_posteriors(axes[0], short, pf.exact(SHORT), SHORT, 6)
    draw_posteriors(axes[1], hyper, HyperGPOracle(HYPER), HYPER, 6)
    draw_gaps(axes[2], short)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(PICTURE, dpi=110)
    print(f"wrote {PICTURE.name}")


if __name__ == "__main__":
    main()
