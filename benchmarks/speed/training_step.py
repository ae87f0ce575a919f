"""A full training step of priorfit runs at 70 % or more of the machine's matmul peak, faster than the `pfns` package.

    python benchmarks/speed/pfns_peer.py                     once: the environment of pfns 0.4.2
    python benchmarks/speed/training_step.py --save          about 8 minutes on two cores

A step is forward pass, backward pass, clipping and optimiser, of one batch with n = N / 2; its draw (a Gaussian process
of 5 features, float64 Cholesky) is timed beside it and printed as a rate of its own. One repetition times, one after
the other, priorfit with Muon (its default), priorfit with Adam, and pfns with AdamW (its default), at equal width,
depth, heads, feed-forward width, buckets, features, points and batch; the rate of float32 matrix products of edge 512
and 1024, on the same threads, is taken before and after each of our steps, and the larger one counts. Shares and
ratios are formed within a repetition; printed are their medians and 95 % intervals. `flops` holds the formula of the
operations counted: "share of peak" counts those of forward and backward pass alone, "with optimiser" adds Muon's
Newton-Schulz steps.
priorfit runs as shipped, with its smooth bars (1000 logits and two numbers more), which pfns does not have.
"""

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import Interval, matmul_rate, median_interval, ratios
from benchmarks.speed.flops import Sizes, newton_schulz_flops, training_flops
from benchmarks.speed.pfns_peer import PACKAGE, PeerWorker, is_available, peer_worker
from priorfit import GaussianProcess
from priorfit.network import PFN, LinearEncoder, NetworkSettings, Problem, RiemannHead
from priorfit.provenance import load
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, OptimiserSettings, Recipe
from priorfit.training.batches import draw_batch
from priorfit.training.context_sizes import ContextSizes
from priorfit.training.trainer import Trainer

FULL = (Sizes(num_points=100, batch_size=64), Sizes(num_points=1000, batch_size=8))
QUICK = (Sizes(num_points=20, batch_size=4, width=32, layers=2, feedforward=64, buckets=50),)
Method = Literal["muon", "adam"]
METHODS: tuple[Method, ...] = ("muon", "adam")
WARMUP = 2


@dataclass(frozen=True)
class FixedSize(ContextSizes):
    """Every step reveals the same number of points, so that every step costs the same."""

    num_context: int

    def weights(self, num_points: int) -> Float[Tensor, " num_points"]:
        """See `ContextSizes.weights`."""
        return (torch.arange(num_points) == self.num_context).double()


class OwnStep:
    """Training steps of priorfit, their draw timed apart."""

    def __init__(self, sizes: Sizes, method: Method, seed: int) -> None:
        self.recipe = recipe_of(sizes, method, seed)
        self.trainer = Trainer(network_of(self.recipe), self.recipe, steps=1000)
        self.flops = training_flops(sizes, self.trainer.network.get_submodule("decoder").out_features)
        muon = self.trainer.optimisers.members.get("muon")
        matrices = [] if muon is None else muon.parameters
        self.optimiser_flops = newton_schulz_flops(matrix.shape for matrix in matrices)

    def take(self) -> tuple[float, float]:
        """The seconds of the draw and those of the step itself, as `Trainer.take_step` does it."""
        start = time.perf_counter()
        batch = draw_batch(self.recipe, self.trainer.step, 0)
        drawn = time.perf_counter()
        self.trainer.optimisers.zero_grad()
        loss = self.trainer.step_loss(batch)
        loss.backward()
        loss.item()
        self.trainer.optimisers.step(0.01)
        self.trainer.step += 1
        return drawn - start, time.perf_counter() - drawn


def recipe_of(sizes: Sizes, method: Method, seed: int) -> Recipe:
    """The recipe of a network of these sizes."""
    network = NetworkSettings(
        width=sizes.width,
        layers=sizes.layers,
        attention_heads=sizes.heads,
        feedforward=sizes.feedforward,
        encoder=LinearEncoder(),
        output=RiemannHead(num_buckets=sizes.buckets),
    )
    return Recipe(
        prior=GaussianProcess(num_features=sizes.features),
        num_points=sizes.num_points,
        budget=Budget(steps=1000),
        seed=seed,
        network=network,
        data=DataSettings(batch_size=sizes.batch_size, context_sizes=FixedSize(sizes.num_context)),
        optimiser=OptimiserSettings(method=method),
    )


def network_of(recipe: Recipe) -> PFN:
    """A network before training."""
    prior = recipe.prior
    with seeded(recipe.seed):
        sample = prior.sample(batch_size=2_000, num_points=20).y
        return PFN(recipe.network, Problem(prior.num_features, prior.outcome, prior.inputs.range), target_sample=sample)


@dataclass
class Samples:
    """The measurements of one contender, in seconds and in operations per second."""

    draw: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)


def measure(sizes: Sizes, repetitions: int, seed: int, with_peer: bool) -> list[dict[str, Any]]:
    """A row for each contender: all are timed in turn, again and again."""
    steps = {f"priorfit, {method}": OwnStep(sizes, method, seed) for method in METHODS}
    samples = {name: Samples() for name in (*steps, PACKAGE)}
    worker = peer_worker(sizes, torch.get_num_threads(), seed) if with_peer else nullcontext()
    with worker as peer:
        for repetition in range(WARMUP + repetitions):
            if repetition == WARMUP:
                samples = {name: Samples() for name in samples}
            take_turns(steps, peer, samples)
    rows = [own_row(name, step, samples[name], samples[PACKAGE], sizes) for name, step in steps.items()]
    return rows if peer is None else [*rows, peer_row(samples[PACKAGE], sizes)]


def take_turns(steps: dict[str, OwnStep], peer: PeerWorker | None, samples: dict[str, Samples]) -> None:
    """One repetition."""
    before = matmul_rate()
    for name, step in steps.items():
        draw, seconds = step.take()
        after = matmul_rate()
        samples[name].draw.append(draw)
        samples[name].step.append(seconds)
        samples[name].peak.append(max(before, after))
        before = after
    if peer is not None:
        samples[PACKAGE].step.append(peer.step_seconds())


def own_row(name: str, step: OwnStep, samples: Samples, peer: Samples, sizes: Sizes) -> dict[str, Any]:
    """The numbers of a contender of ours."""
    rates = [step.flops / seconds for seconds in samples.step]
    whole = [(step.flops + step.optimiser_flops) / seconds for seconds in samples.step]
    totals = [draw + seconds for draw, seconds in zip(samples.draw, samples.step, strict=True)]
    return {
        "name": name,
        **asdict(sizes),
        "repetitions": len(rates),
        "datasets_per_second": per_second(sizes, samples.step),
        "with_draw": per_second(sizes, totals),
        "gflops_of_a_step": step.flops / 1e9,
        "gflops_of_newton_schulz": step.optimiser_flops / 1e9,
        "peak_gflops_per_second": median_interval([peak / 1e9 for peak in samples.peak]),
        "share_of_peak": ratios(rates, samples.peak),
        "share_of_peak_with_optimiser": ratios(whole, samples.peak),
        "times_as_fast_as_pfns": ratios(peer.step, samples.step) if peer.step else None,
    }


def peer_row(samples: Samples, sizes: Sizes) -> dict[str, Any]:
    """The numbers of `pfns`."""
    return {
        "name": f"{PACKAGE}, adamw",
        **asdict(sizes),
        "repetitions": len(samples.step),
        "datasets_per_second": per_second(sizes, samples.step),
    }


def per_second(sizes: Sizes, seconds: Sequence[float]) -> Interval:
    """Datasets per second."""
    return median_interval([sizes.batch_size / step for step in seconds])


COLUMNS = {
    "datasets_per_second": ("datasets/s", ".1f"),
    "with_draw": ("with draw", ".1f"),
    "share_of_peak": ("share of peak", ".0%"),
    "share_of_peak_with_optimiser": ("with optimiser", ".0%"),
    "peak_gflops_per_second": ("peak GFLOP/s", ".0f"),
    "times_as_fast_as_pfns": ("/ pfns", ".2f"),
}


def table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of one setting."""
    first = rows[0]
    title = (
        f"N = {first['num_points']}, batch {first['batch_size']}, width {first['width']}, {first['layers']} layers, "
        f"{torch.get_num_threads()} threads, {first['repetitions']} repetitions: "
        f"{first['gflops_of_a_step']:.1f} GFLOP a step, Newton-Schulz {first['gflops_of_newton_schulz']:.1f} more"
    )
    lines = [
        [row["name"], *("" if row.get(key) is None else format(row[key], spec) for key, (_, spec) in COLUMNS.items())]
        for row in rows
    ]
    show(title, ["", *(heading for heading, _ in COLUMNS.values())], lines)


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("training_step", __doc__)
    parser.add_argument("--alone", action="store_true", help="without pfns")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"load of the machine before: {load()}")
    with_peer = is_available() and not arguments.alone
    if not with_peer:
        print(f"Without {PACKAGE}; `python benchmarks/speed/pfns_peer.py` makes its environment.")
    repetitions = arguments.repetitions or (3 if arguments.quick else 20)
    rows = []
    for sizes in QUICK if arguments.quick else FULL:
        measured = measure(sizes, repetitions, arguments.seed, with_peer)
        table(measured)
        rows += measured
    if arguments.save:
        save("training_step", rows, arguments.seed)


if __name__ == "__main__":
    main()
