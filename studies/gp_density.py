"""Figure 3: the posterior predictive of a PFN is that of the Gaussian process, to the eye and in nats.

    python studies/gp_density.py

Claim: with two points given (RBF, lengthscale 0.6, noise 1e-4, one feature), density, mean and 95 % interval of the
released ``gp-rbf-1d`` lie on those of the exact posterior, and the gap stays below 0.02 nats from n = 1 to 100.
The paper: "virtually indistinguishable", in pictures; it prints no number for one feature, and not its two points.
Shown: (a) the PFN's density, (b) both means and intervals, (c) the gap on 1000 datasets of one query for each n.
Cost: half a minute on one core.
"""

from collections.abc import Sequence

import torch
from evaluation import compare, estimate
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from models import Released
from study import Row, Setup, Study, table

from priorfit.baselines.exact import exact
from priorfit.plots import plot_density, plot_gap, plot_predictive

MODEL = Released("gp-rbf-1d")
SIZES = (1, 2, 5, 10, 20, 50, 100)
PAPER_SIZE = 2
CONTEXT = ((0.3, 0.7), (0.8, 1.0))
"""Two points (x, y) between the limits of the paper's picture."""


def run(setup: Setup) -> list[Row]:
    """The gap at each context size."""
    sizes = setup.choose(SIZES, (1, PAPER_SIZE))
    return compare(setup, MODEL.prior, [MODEL], sizes, setup.num_datasets(1_000))


def tell(rows: Sequence[Row]) -> str:
    """The gap at each n; the paper's is marked."""
    lines = [
        [
            f"{row['n']}{' (as in the picture)' if row['n'] == PAPER_SIZE else ''}",
            *(str(estimate(row, name)) for name in ("nll", "exact_nll")),
            str(estimate(row, "gap")),
        ]
        for row in rows
    ]
    return table(["n", "NLL", "exact NLL", "gap (nats)"], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """Density, intervals, and the gap against n."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 4.4), layout="constrained")
    points = torch.tensor(CONTEXT)
    context, pfn = (points[:, :1], points[:, 1]), MODEL.model()
    plot_density(pfn, *context, query_range=(0.0, 1.0), ax=left)
    plot_predictive(pfn, *context, reference=exact(MODEL.prior), query_range=(0.0, 1.0), ax=middle)
    middle.set_ylim(left.get_ylim())
    gaps = [(row["n"], estimate(row, "gap")) for row in rows]
    plot_gap(
        [
            {"n": n, "gap": gap.mean, "low": gap.mean - gap.half_width, "high": gap.mean + gap.half_width}
            for n, gap in gaps
        ],
        ax=right,
    )
    for ax, title in ((left, "(a) density of the PFN, n = 2"), (middle, "(b) PFN and exact GP"), (right, "(c) gap")):
        ax.set_title(title, loc="left", fontweight="bold", pad=46)  # above the legends
    return figure


STUDY = Study("gp_density", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
