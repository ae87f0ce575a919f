"""NLL and gap against the size of the context, for one predictor or many, on the same datasets."""

from collections.abc import Iterator, Mapping, Sequence

from priorfit.data import Batch
from priorfit.metrics.estimate import Estimate
from priorfit.metrics.nll import gap, nll
from priorfit.predictor import Predictor
from priorfit.priors import Prior
from priorfit.seeding import seeded

Row = dict[str, str | int | float]


def nll_rows(
    predictors: Mapping[str, Predictor],
    prior: Prior,
    *,
    context_sizes: Sequence[int],
    num_datasets: int = 1000,
    seed: int = 0,
) -> list[Row]:
    """The NLL of each predictor at each n: rows of ``label, n, nll, low, high`` for `plots.plot_nll` or a table.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess()
    >>> rows = nll_rows({"exact": pf.exact(gp)}, gp, context_sizes=[2, 8], num_datasets=50)
    >>> [row["n"] for row in rows], list(rows[0])
    ([2, 8], ['label', 'n', 'nll', 'low', 'high'])
    """
    return [
        as_row(label, size, "nll", nll(predictor, tasks))
        for size, tasks in tasks_of(prior, context_sizes, num_datasets, seed)
        for label, predictor in predictors.items()
    ]


def gap_rows(
    predictors: Mapping[str, Predictor],
    reference: Predictor,
    prior: Prior,
    *,
    context_sizes: Sequence[int],
    num_datasets: int = 1000,
    seed: int = 0,
) -> list[Row]:
    """The gap of each predictor to a reference at each n: rows of ``label, n, gap, low, high`` for `plots.plot_gap`."""
    return [
        as_row(label, size, "gap", gap(predictor, reference, tasks))
        for size, tasks in tasks_of(prior, context_sizes, num_datasets, seed)
        for label, predictor in predictors.items()
    ]


def tasks_of(prior: Prior, sizes: Sequence[int], num_datasets: int, seed: int) -> Iterator[tuple[int, Batch]]:
    """Datasets of one query each for every context size, the same for the same seed."""
    for size in sizes:
        with seeded(seed, size):
            tasks = prior.sample(num_datasets, size + 1).split(size)
        yield size, tasks  # outside of `seeded`, which holds a lock for all threads


def as_row(label: str, size: int, column: str, found: Estimate) -> Row:
    """An estimate with the ends of its interval."""
    ends = {"low": found.mean - found.half_width, "high": found.mean + found.half_width}
    return {"label": label, "n": size, column: found.mean, **ends}
