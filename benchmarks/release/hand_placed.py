"""A model of the hyper-prior GP on contexts that a person sets by hand: its KL divergence from the oracle.

    python benchmarks/release/hand_placed.py --threads 1 --save
    python benchmarks/release/hand_placed.py --model runs/gp-hyper-1d/model

A prior hardly ever draws what a person clicks on the live page: points on a grid, in tight clusters or at both ends;
on a line, at one height, on a step, with an outlier, on a wave, or anywhere. The 200 contexts of n = 1 to 8 points are
all of these in turn. Heights lie in the middle half of the page's window: within twice the prior's standard deviation.
KL(oracle || model) is averaged over an even grid of 20 queries and then over contexts, with the 95 % interval over
contexts; the oracle's own error is the KL divergence between two oracles of unlike seeds. Cost: five minutes, and
seconds from then on, since the oracle's answers are kept in ``build/references``.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from benchmarks.common.references import Tabulated, joined, kept, tabulated
from benchmarks.common.report import parser_for, save, show, spelled
from priorfit.baselines.exact.hyper_gp_oracle import HyperGPOracle
from priorfit.data import Batch
from priorfit.metrics import Estimate, divergence
from priorfit.network import PFN
from priorfit.priors import HyperGaussianProcess
from priorfit.seeding import seeded
from priorfit.zoo import load

RELEASED = "gp-hyper-1d"
LARGEST, NUM_CONTEXTS, NUM_QUERIES, SAMPLES = 8, 200, 20, 10_000
HEIGHT = 7.3
"""The page shows y from -14.7 to 14.7; the contexts lie in its middle half."""
CLUSTER = 0.08
"""The width of a cluster, in units of the range of x."""

Column = Float[Tensor, " points"]


def even(count: int) -> Column:
    """A grid from 0.1 to 0.9; one point lies in the middle."""
    return torch.linspace(0.1, 0.9, count) if count > 1 else torch.tensor([0.5])


def cluster(count: int) -> Column:
    """Points in one short interval."""
    return float(torch.rand(())) * (1 - CLUSTER) + CLUSTER * torch.rand(count)


def two_clusters(count: int) -> Column:
    """Points in two short intervals, by turns."""
    places = torch.rand(2) * (1 - CLUSTER)
    return places[torch.arange(count) % 2] + CLUSTER * torch.rand(count)


def ends(count: int) -> Column:
    """Points near both ends of the range, by turns."""
    near = 0.1 * torch.rand(count)
    return torch.where(torch.arange(count) % 2 == 0, near, 1 - near)


def scattered(count: int) -> Column:
    """Points anywhere, no two of them closer than half of an even spacing."""
    return (torch.arange(count) + 0.25 + 0.5 * torch.rand(count)) / count


def height() -> float:
    """A height within the middle half of the window."""
    return HEIGHT * (2 * float(torch.rand(())) - 1)


def line(x: Column) -> Column:
    """A line between two heights at the ends of the range."""
    return torch.lerp(torch.tensor(height()), torch.tensor(height()), x)


def constant(x: Column) -> Column:
    """One height."""
    return torch.full_like(x, height())


def step(x: Column) -> Column:
    """One height up to the middle point, another after it."""
    return torch.where(x <= x.median(), height(), height())


def outlier(x: Column) -> Column:
    """One height for all points but one."""
    y, chosen = constant(x), int(torch.randint(len(x), ()))
    y[chosen] = height()
    return y


def wave(x: Column) -> Column:
    """A sine of half a period to two periods over the range."""
    angle = math.pi * (1 + 3 * float(torch.rand(()))) * x + 2 * math.pi * float(torch.rand(()))
    return abs(height()) * torch.sin(angle)


def rough(x: Column) -> Column:
    """Every point at a height of its own."""
    return torch.tensor([height() for _ in x])


PLACES: dict[str, Callable[[int], Column]] = {
    "grid": even,
    "cluster": cluster,
    "two clusters": two_clusters,
    "ends": ends,
    "scattered": scattered,
}
HEIGHTS: dict[str, Callable[[Column], Column]] = {
    "line": line,
    "constant": constant,
    "step": step,
    "outlier": outlier,
    "wave": wave,
    "rough": rough,
}


@dataclass(frozen=True)
class HandPlaced:
    """One context, and how it came about."""

    places: str
    heights: str
    x: Column
    y: Column


def contexts(count: int, seed: int) -> list[HandPlaced]:
    """All kinds in turn; n goes from 1 to 8 and back to 1."""
    found = []
    for index in range(count):
        turn, size = index // LARGEST, 1 + index % LARGEST
        places = list(PLACES)[turn % len(PLACES)]
        heights = list(HEIGHTS)[(turn + size) % len(HEIGHTS)]
        with seeded(seed, 9_000_000, index):
            x = PLACES[places](size)
            found.append(HandPlaced(places, heights, x, HEIGHTS[heights](x)))
    return found


def tasks_of(some: list[HandPlaced]) -> Batch:
    """Contexts of one size as datasets; the queries lie in the middles of equal cells, and their y is not used."""
    query_x = (torch.arange(NUM_QUERIES) + 0.5)[:, None] / NUM_QUERIES
    x, y = torch.stack([each.x for each in some])[..., None], torch.stack([each.y for each in some])
    return Batch(x, y, query_x.expand(len(some), -1, -1), torch.zeros(len(some), NUM_QUERIES))


def truth_of(prior: HyperGaussianProcess, tasks: Batch, samples: int, seed: int) -> Distribution:
    """The oracle's answer as a table, kept in ``build/references``."""
    oracle = HyperGPOracle(prior, samples, seed, pruned_weight=1e-6)

    def compute(asked: Batch) -> Distribution:
        parts = zip(asked.context_x, asked.context_y, asked.query_x, strict=True)
        return joined([tabulated(oracle.condition(x[None], y[None]).predict(query[None])) for x, y, query in parts])

    return kept(repr(oracle), Tabulated, tasks, compute)


@dataclass(frozen=True)
class Row:
    """What was found for one context, as means over its queries."""

    places: str
    heights: str
    n: int
    gap: float
    oracle_error: float
    oracle_deviation: float
    model_deviation: float


@torch.no_grad()
def rows_of(model: PFN, some: list[HandPlaced], samples: int) -> list[Row]:
    """Contexts of one size."""
    tasks = tasks_of(some)
    prior = HyperGaussianProcess()
    truth, other = (truth_of(prior, tasks, samples, seed) for seed in (0, 1))
    ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    assert isinstance(truth, Tabulated)
    spread = (truth.masses * (truth.points - truth.mean[..., None]).square()).sum(-1).sqrt()
    columns = (divergence(truth, ppd), divergence(truth, other), spread, ppd.stddev)
    numbers = torch.stack([column.double().mean(-1) for column in columns], dim=-1).tolist()
    return [Row(one.places, one.heights, len(one.x), *values) for one, values in zip(some, numbers, strict=True)]


def measured_by_hand(model: PFN, num_contexts: int = NUM_CONTEXTS, samples: int = SAMPLES, seed: int = 0) -> list[Row]:
    """All contexts, one size after the other."""
    some = contexts(num_contexts, seed)
    by_size = ([each for each in some if len(each.x) == size] for size in range(1, LARGEST + 1))
    return [row for group in by_size for row in rows_of(model, group, samples)]


def summary(rows: list[Row]) -> list[list[str]]:
    """A line for all contexts, and for those of each kind and size."""
    groups = {"all": rows}
    for name in ("places", "heights", "n"):
        for value in dict.fromkeys(getattr(row, name) for row in rows):
            groups[f"{name}: {value}"] = [row for row in rows if getattr(row, name) == value]
    return [line_of(name, group) for name, group in groups.items()]


def line_of(name: str, group: list[Row]) -> list[str]:
    """The means of some contexts, with intervals, and the largest gap."""
    gaps, errors = (torch.tensor([getattr(row, field) for row in group]) for field in ("gap", "oracle_error"))
    return [
        name,
        str(len(group)),
        spelled(Estimate.over(gaps), 4),
        f"{gaps.median():.4f}",
        f"{gaps.max():.3f}",
        f"{errors.mean():.4f}",
    ]


def main() -> None:
    """Measure one model."""
    parser = parser_for("hand_placed", __doc__)
    parser.add_argument("--model", default=RELEASED, help="the name of a released model, or the folder of a saved one")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    count, samples = (LARGEST, 100) if arguments.quick else (NUM_CONTEXTS, SAMPLES)
    model = load(arguments.model)
    rows = measured_by_hand(model, count, samples, arguments.seed)
    columns = ["contexts", "number", "KL(oracle || model)", "median", "largest", "oracle's error"]
    title = f"{arguments.model}: {count} contexts set by hand, {NUM_QUERIES} queries each, {arguments.threads} threads"
    show(title, columns, summary(rows))
    if arguments.save:
        save("hand_placed", [{"model": model.card.name, **asdict(row)} for row in rows], arguments.seed)


if __name__ == "__main__":
    main()
