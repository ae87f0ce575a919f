"""What ``priorfit quickstart`` measures: how far a network lies from the exact posterior of its prior."""

from rich.table import Table
from torch import Tensor

from priorfit import metrics
from priorfit.data import Batch
from priorfit.metrics.estimate import nats
from priorfit.network import PFN
from priorfit.predictor import Predictor
from priorfit.priors import GaussianProcess
from priorfit.seeding import seeded

PRIOR = GaussianProcess(num_features=1, kernel="rbf", lengthscale=0.3, outputscale=1.0, noise=1e-4)
CONTEXT_SIZES = (3, 5, 10, 20)
NUM_DATASETS = 2_000


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
    table.add_row("mean", "", "", nats(sum(gap.mean for gap in gaps) / len(gaps)), "")
    return table


def contexts(seed: int) -> list[tuple[Tensor, Tensor]]:
    """One dataset for each context size of the table."""
    with seeded(seed, 2_000_000):
        datasets = PRIOR.sample(len(CONTEXT_SIZES), max(CONTEXT_SIZES))
    pairs = zip(datasets.x, datasets.y, CONTEXT_SIZES, strict=True)
    return [(x[:size], y[:size]) for x, y, size in pairs]
