"""Drawing the data is a small part of a training step: below 15 % for every prior of the paper at width 256.

(At width 64 two priors take more: networks of many architectures 30 % [25, 44], strokes 20 % [11, 26]; on two cores, a
background worker does not change that.)

    python benchmarks/speed/prior_sampling.py --save         about 12 minutes on two cores

For each prior, in turn and in one run: the time of a draw of a batch of 64 datasets with all that training uses of it,
and of a whole training step (draw, forward, backward, optimiser) on that batch, of the default network (width 64, 6
layers) and of a wider one (width 256). Printed are datasets per second of the draw alone and the draw's share of both
steps: medians and 95 % intervals. The last column is of the default network with one background worker (`--workers 1`):
how much longer blocks of steps take than with the data at hand, again as a share of a step.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios, seconds
from priorfit.priors import Prior
from priorfit.provenance import load
from priorfit.training import Budget, Recipe
from priorfit.training.batches import draw_batch
from priorfit.training.networks import start_network
from priorfit.training.trainer import Trainer
from priorfit.training.workers import Ahead, Source, prepare_worker

WIDE = pf.NetworkSettings(width=256, feedforward=512)
WARMUP = 2
BLOCK = 16
"""Steps that are timed together, so that what a worker has drawn in advance is a small part of them."""
FIXED_STEP = 0
"""The step whose data are drawn every time, so that n does not vary."""


def priors() -> dict[str, tuple[Prior, int]]:
    """Each prior of the paper with the N that it is trained at."""
    network = pf.BayesianNetwork(architecture=pf.ArchitecturePrior())
    tabular = pf.PaddedFeatures(pf.Binarized(network), max_features=60)
    return {
        "GP, 1 feature": (pf.GaussianProcess(), 101),
        "GP, 5 features": (pf.GaussianProcess(num_features=5), 200),
        "GP with hyper-priors": (pf.HyperGaussianProcess(), 101),
        "BNN, 8 features, 64 hidden": (pf.BayesianNetwork(8, (64,), outcome=pf.Classes(2)), 200),
        "BNN of many architectures, 60 features": (tabular, 100),
        "strokes, 5 ways": (pf.Strokes(), 30),
        "linear": (pf.LinearRegression(num_features=5), 100),
        "Beta-Bernoulli": (pf.BetaBernoulli(), 100),
    }


class Timer:
    """Draws and steps of one prior and one network, on the batch of one step."""

    def __init__(self, prior: Prior, num_points: int, network: pf.NetworkSettings, seed: int) -> None:
        recipe = Recipe(prior, num_points, Budget(steps=1_000_000), seed=seed, network=network)
        self.trainer = Trainer(start_network(recipe, None), recipe, 1_000_000)

    def draw(self) -> None:
        """The data of a step."""
        draw_batch(self.trainer.recipe, FIXED_STEP, 0)

    def step(self) -> None:
        """A whole step, its draw included."""
        self.trainer.step = FIXED_STEP
        self.trainer.take_step()

    def block(self, source: Source) -> None:
        """Some steps on data from elsewhere."""
        self.trainer.source, before = source, self.trainer.source
        for _ in range(BLOCK):
            self.step()
        self.trainer.source = before


@contextmanager
def one_worker(timer: Timer) -> Iterator[Source]:
    """A worker that draws the same step again and again."""
    initargs = (timer.trainer.recipe,)
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=prepare_worker, initargs=initargs) as pool:
        yield Ahead(pool, 2, repeat((FIXED_STEP, 0)))


def waiting(timer: Timer, repetitions: int) -> tuple[list[float], list[float]]:
    """How much longer blocks of steps take with a worker than with the data at hand, and how long they take."""
    at_hand = draw_batch(timer.trainer.recipe, FIXED_STEP, 0)
    with one_worker(timer) as worker:
        timer.block(worker)
        blocks = [
            (seconds(lambda: timer.block(worker)), seconds(lambda: timer.block(lambda step, micro_batch: at_hand)))
            for _ in range(repetitions)
        ]
    return [drawn - held for drawn, held in blocks], [drawn for drawn, _ in blocks]


def row(name: str, prior: Prior, num_points: int, repetitions: int, seed: int) -> dict[str, Any]:
    """The share of a draw in a step of the default network and of the wide one."""
    small, wide = (Timer(prior, num_points, network, seed) for network in (pf.NetworkSettings(), WIDE))
    times = [(seconds(small.draw), seconds(small.step), seconds(wide.step)) for _ in range(WARMUP + repetitions)]
    draws, small_steps, wide_steps = (list(column) for column in zip(*times[WARMUP:], strict=True))
    batch_size = small.trainer.recipe.data.batch_size
    waits, blocks = waiting(small, repetitions)
    return {
        "prior": name,
        "N": num_points,
        "datasets_per_second": median_interval([batch_size / each for each in draws]),
        "share_of_default_step": ratios(draws, small_steps),
        "share_of_wide_step": ratios(draws, wide_steps),
        "share_with_a_worker": ratios(waits, blocks),
    }


def print_rows(rows: Sequence[dict[str, Any]], repetitions: int) -> None:
    """The table."""
    title = f"drawing a batch: {torch.get_num_threads()} threads, {repetitions} repetitions, load {load()}"
    lines = [
        [
            each["prior"],
            str(each["N"]),
            format(each["datasets_per_second"], ",.0f"),
            format(each["share_of_default_step"], ".0%"),
            format(each["share_of_wide_step"], ".0%"),
            format(each["share_with_a_worker"], ".0%"),
        ]
        for each in rows
    ]
    show(title, ["prior", "N", "datasets/s", "share of a step, width 64", "width 256", "64, a worker"], lines)


def main() -> None:
    """Measure and print."""
    parser = parser_for("prior_sampling", __doc__)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    repetitions = arguments.repetitions or 8
    chosen = list(priors().items())[-1:] if arguments.quick else list(priors().items())
    rows = [row(name, prior, points, repetitions, arguments.seed) for name, (prior, points) in chosen]
    print_rows(rows, repetitions)
    if arguments.save:
        save("prior_sampling", rows, arguments.seed)


if __name__ == "__main__":
    main()
