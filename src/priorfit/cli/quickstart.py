"""``priorfit quickstart``: a prior, a network, the exact posterior, and how far they lie apart."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from torch import Tensor

from priorfit import metrics
from priorfit.baselines.exact import exact
from priorfit.cli.terminal import answers, errors, readable_interruption
from priorfit.data import Batch
from priorfit.network import PFN
from priorfit.predictor import Predictor
from priorfit.priors import GaussianProcess
from priorfit.seeding import seeded
from priorfit.training import fit

PRIOR = GaussianProcess(num_features=1, kernel="rbf", lengthscale=0.3, outputscale=1.0, noise=1e-4)
CONTEXT_SIZES = (3, 5, 10, 20)
NUM_DATASETS = 2_000


def quickstart(
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 3.0,
    targets: Annotated[
        Literal["sampled", "expected"], typer.Option(help="Train on drawn y, or in expectation.")
    ] = "sampled",
    seed: Annotated[int, typer.Option(help="Decides data and weights.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("quickstart.png"),
) -> None:
    """Fit a network to a Gaussian process, compare it with the exact posterior, write a picture."""
    from priorfit.plots import plot_panels  # needs an extra: missed before minutes of training, not behind them

    errors.print(
        f"Fitting a network to a Gaussian process (RBF, lengthscale 0.3, noise 1e-4, up to 24 points) for {minutes:g} "
        f"minutes on {targets} targets ...",
        highlight=False,
    )
    with readable_interruption():
        model = fit(PRIOR, num_points=24, minutes=minutes, seed=seed, targets=targets)
    reference = exact(PRIOR)
    answers.print(gap_table(model, reference, seed))
    plot_panels(model, contexts(seed), reference=reference, query_range=(0.0, 1.0)).savefig(picture, dpi=130)
    answers.print(f"The posterior beside the exact one: {picture}", highlight=False)


def evaluation_tasks(num_context: int, num_datasets: int, seed: int) -> Batch:
    """Datasets of one query each that no training sees."""
    with seeded(seed, 1_000_000, num_context):
        return PRIOR.sample(num_datasets, num_context + 1).split(num_context)


def gap_table(model: PFN, reference: Predictor, seed: int) -> Table:
    """NLL, exact NLL, gap and the head's floor at each context size, on datasets that training never saw."""
    table = Table("n", "NLL", "exact NLL", "gap", "floor of the head", box=None, header_style="bold")
    gaps = []
    for size in CONTEXT_SIZES:
        tasks = evaluation_tasks(size, NUM_DATASETS, seed)
        gaps.append(metrics.gap(model, reference, tasks))
        cells = (
            metrics.nll(model, tasks),
            metrics.nll(reference, tasks),
            gaps[-1],
            metrics.floor(model, reference, tasks),
        )
        table.add_row(str(size), *map(str, cells))
    table.add_row("mean", "", "", f"{sum(gap.mean for gap in gaps) / len(gaps):.3f}", "")
    return table


def contexts(seed: int) -> list[tuple[Tensor, Tensor]]:
    """One dataset for each context size of the table."""
    with seeded(seed, 2_000_000):
        datasets = PRIOR.sample(len(CONTEXT_SIZES), max(CONTEXT_SIZES))
    pairs = zip(datasets.x, datasets.y, CONTEXT_SIZES, strict=True)
    return [(x[:size], y[:size]) for x, y, size in pairs]
