"""Figure 7: a gallery of posteriors at lengthscale 0.1, where functions turn often.

    python studies/gp_gallery.py

Claim: at lengthscale 0.1 too, the mean and the 95 % interval of the released ``gp-rbf-1d-short`` lie on those of the
exact Gaussian process, whatever the number of points, and the gap stays below 0.02 nats.
The paper: four pictures without numbers; how many points each has is not said.
Shown: four datasets, the first four that the seed gives; above each, the gap at its n over 1000 datasets.
Cost: half a minute on one core.
"""

from collections.abc import Sequence

from evaluation import compare, estimate
from matplotlib.figure import Figure
from models import Released
from study import Row, Setup, Study, table

from priorfit.baselines.exact import exact
from priorfit.plots import plot_panels
from priorfit.seeding import seeded

SIZES = (3, 6, 12, 24)
PICTURES = 5_000_000
"""The stream of the seed that the datasets of the pictures come from."""


def run(setup: Setup) -> list[Row]:
    """The gap at the size of each picture."""
    model = Released(setup.choose("gp-rbf-1d-short", "gp-rbf-1d"))
    return compare(setup, model.prior, [model], SIZES, setup.num_datasets(1_000))


def tell(rows: Sequence[Row]) -> str:
    """The gap at each n."""
    names = ("nll", "exact_nll", "gap")
    lines = [[row["method"], str(row["n"]), *(str(estimate(row, name)) for name in names)] for row in rows]
    return table(["model", "n", "NLL", "exact NLL", "gap (nats)"], lines)


def draw(rows: Sequence[Row]) -> Figure:
    """One panel for each row."""
    model = Released(rows[0]["method"])
    sizes = [row["n"] for row in rows]
    with seeded(rows[0]["seed"], PICTURES):
        data = model.prior.sample(len(sizes), max(sizes))
    contexts = [(data.x[i, :size], data.y[i, :size]) for i, size in enumerate(sizes)]
    figure = plot_panels(model.model(), contexts, reference=exact(model.prior), query_range=(0.0, 1.0))
    for ax, row in zip(figure.axes, rows, strict=True):
        ax.set_title(f"n = {row['n']}: gap {estimate(row, 'gap')} nats", loc="left", fontsize="medium")
    return figure


STUDY = Study("gp_gallery", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
