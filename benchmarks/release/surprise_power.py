"""How often `posterior.surprise()` finds out that data are not of the prior, and what it costs.

    python benchmarks/release/surprise_power.py --threads 1 --save

For each dataset of the prior, and of the same prior changed in one way, the share of p-values of at most 0.05, with its
95 % interval (Wilson's). "unchanged" is the level itself. Gaussian process: targets in units that are 10 or 100 times
too small or too large, a lengthscale of a third or of three times, outliers (one target in twenty moved by five
standard deviations of the noise). Labels: a share of them flipped. All changes of one row share inputs and draws, but
are ranked one by one. Last, the time of one call at n = 100. Cost: four minutes.
"""

import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval
from priorfit import load
from priorfit.network import PFN
from priorfit.network.one_step_ahead import one_step_ahead
from priorfit.network.summaries import summaries
from priorfit.network.surprise import DRAWS, LEVEL, asking, prior_of, ranked
from priorfit.priors import GaussianProcess, Prior
from priorfit.seeding import seeded

Targets = Float[Tensor, "1 points"]
Change = Callable[[Tensor], Tensor]
"""From inputs to the targets of one dataset."""

LENGTHSCALE, NOISE = 0.6, 1e-4
"""Lengthscale and noise variance of `gp-rbf-1d`."""

TIMED = ("gp-rbf-1d", "gp-rbf-1d-short", "gp-hyper-1d", "bnn-small")


def gp_changes(prior: Prior) -> dict[str, Change]:
    """Misspecified data for `gp-rbf-1d`."""
    factors = {"units x 10": 10.0, "units x 100": 100.0, "units / 10": 0.1, "units / 100": 0.01}
    scales = {"lengthscale x 3": 3.0, "lengthscale / 3": 1 / 3}
    return {
        "unchanged": prior.targets,
        **{name: lambda x, factor=factor: factor * prior.targets(x) for name, factor in factors.items()},
        **{
            name: GaussianProcess(lengthscale=factor * LENGTHSCALE, noise=NOISE).targets
            for name, factor in scales.items()
        },
        "outliers": lambda x: with_outliers(prior.targets(x)),
    }


def with_outliers(y: Targets) -> Targets:
    """One target in twenty moved up or down by five standard deviations of the noise."""
    count = round(y.shape[1] / 20)
    places, signs = torch.randperm(y.shape[1])[:count], torch.randint(2, (count,)) * 2.0 - 1
    return y.index_add(1, places, 5 * math.sqrt(NOISE) * signs[None])


def label_changes(prior: Prior) -> dict[str, Change]:
    """Misspecified data for `bnn-small`."""
    shares = {"10 % flipped": 0.1, "25 % flipped": 0.25, "50 % flipped": 0.5}
    return {
        "unchanged": prior.targets,
        **{name: lambda x, share=share: flipped(prior.targets(x), share) for name, share in shares.items()},
    }


def flipped(y: Targets, share: float) -> Targets:
    """Labels of which each is wrong with a probability."""
    return torch.where(torch.rand_like(y) < share, 1 - y, y)


@torch.no_grad()
def p_values(model: PFN, prior: Prior, changes: Mapping[str, Change], num_points: int) -> dict[str, float]:
    """One p-value for each change, all at the same inputs."""
    x = prior.inputs.sample(1, num_points, prior.num_features)
    changed = torch.cat([change(x) for change in changes.values()])  # (changes, points)
    y = torch.cat([changed, prior.targets(x.expand(DRAWS, -1, -1))])
    all_x, count = x.expand(len(y), -1, -1), len(changed)
    found = summaries(one_step_ahead(asking(model), all_x, y), asking(model), all_x, y)
    return {
        name: ranked({key: torch.cat([values[i : i + 1], values[count:]]) for key, values in found.items()}).p_value
        for i, name in enumerate(changes)
    }


def interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, hits / count
    middle, width = share + z**2 / (2 * count), z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (middle - width) / (1 + z**2 / count), (middle + width) / (1 + z**2 / count)


def power_rows(name: str, num_points: int, datasets: int, seed: int) -> list[dict[str, Any]]:
    """The power against each change of one model's data."""
    model = load(name)
    prior = prior_of(model)
    assert prior is not None
    changes = gp_changes(prior) if name.startswith("gp") else label_changes(prior)
    with seeded(seed, num_points):
        found = [p_values(model, prior, changes, num_points) for _ in range(datasets)]
    rows = []
    for change in changes:
        hits = sum(each[change] <= LEVEL for each in found)
        low, high = interval(hits, datasets)
        row = {"model": name, "n": num_points, "data": change, "datasets": datasets}
        rows.append({**row, "power": hits / datasets, "low": low, "high": high})
    return rows


def time_row(name: str, repetitions: int, seed: int) -> dict[str, Any]:
    """Seconds of a call at n = 100: of the clock, and of the processor, which other work slows less."""
    model = load(name)
    prior = prior_of(model)
    assert prior is not None
    with seeded(seed):
        drawn = prior.sample(1, 100)
    posterior = model.condition(drawn.x[0], drawn.y[0])
    posterior.surprise()
    wall, processor = [], []
    for _ in range(repetitions):
        started = time.perf_counter(), time.process_time()
        posterior.surprise()
        wall.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
    return {"model": name, "n": 100, "seconds": median_interval(wall), "processor": median_interval(processor)}


def main() -> None:
    """Measure, print and, when asked, save."""
    arguments = parser_for("surprise_power", __doc__).parse_args()
    torch.set_num_threads(arguments.threads)
    count = arguments.repetitions or (2 if arguments.quick else 100)
    sizes = (5,) if arguments.quick else (20, 100)
    rows = [
        row
        for name in ("gp-rbf-1d", "bnn-small")
        for size in sizes
        for row in power_rows(name, size, count, arguments.seed)
    ]
    lines = [
        [f"{row['model']}, n = {row['n']}", row["data"], f"{row['power']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"]
        for row in rows
    ]
    title = (
        f"{arguments.threads} threads, {count} datasets, seed {arguments.seed}: share of p-values of at most {LEVEL}"
    )
    show(title, ["model", "data", "power"], lines)
    times = [time_row(name, min(count, 9), arguments.seed) for name in (TIMED[:1] if arguments.quick else TIMED)]
    lines = [[row["model"], format(row["seconds"], ".2f"), format(row["processor"], ".2f")] for row in times]
    show("Seconds of one call at n = 100, 199 draws", ["model", "clock", "processor"], lines)
    if arguments.save:
        save("surprise_power", [*rows, *times], arguments.seed)


if __name__ == "__main__":
    main()
