"""A regression layer learns a smooth GP sooner from polynomials, by Adam, than from a hidden layer, by Muon.

    python benchmarks/pilots/smooth_features.py --threads 1 --save

The layer of `gp-rbf-5d` alone, without a transformer: a minute of training on the log evidence of 6 datasets of 300
points a step, the learning rate falling to 0. Features are those of a network with a hidden layer on Fourier features,
or linear in all polynomials up to degree 7; the matrices that make them are updated by Muon or by Adam. The gap is
KL(exact || layer) in nats. The last column is the noise that was learned: 0.01 is the truth. Cost: five minutes.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show, spelled
from priorfit import GaussianProcess, Real, exact
from priorfit.metrics import Estimate, divergence
from priorfit.network import FourierEncoder, LinearSolver, PolynomialEncoder, Problem
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.solver.linear import RealRegression
from priorfit.predictor import predict
from priorfit.seeding import seeded
from priorfit.training.optimiser import Optimisers, OptimiserSettings

PRIOR = GaussianProcess(num_features=5, lengthscale=0.6, noise=1e-4)
PROBLEM = Problem(5, Real(), (0.0, 1.0))
SIZES = (50, 200, 500)
BATCH, NUM_POINTS, NUM_QUERIES, WARMUP = 6, 300, 64, 20


@dataclass(frozen=True)
class Way:
    """Features, and how they are learned."""

    name: str
    encoder: InputEncoder
    settings: LinearSolver
    optimiser: OptimiserSettings


HIDDEN = FourierEncoder(128, 0.5), LinearSolver(768, 1, 512)
POLYNOMIALS = PolynomialEncoder(7, 0.35), LinearSolver(792, 1, 0)
WAYS = [
    Way("hidden layer, muon at 0.001", *HIDDEN, OptimiserSettings("muon", 1e-3)),
    Way("hidden layer, adam at 0.001", *HIDDEN, OptimiserSettings("adam", 1e-3)),
    Way("polynomials, muon at 0.0003", *POLYNOMIALS, OptimiserSettings("muon", 3e-4)),
    Way("polynomials, adam at 0.003", *POLYNOMIALS, OptimiserSettings("adam", 3e-3)),
]


def trained(way: Way, steps: int, seed: int) -> tuple[RealRegression, float]:
    """A layer, and the seconds of the processor that its training took."""
    with seeded(seed):
        layer = way.settings.build(PROBLEM, way.encoder)
    assert isinstance(layer, RealRegression)  # of real targets
    optimisers, start = Optimisers(layer, way.optimiser), time.process_time()
    for step in range(steps):
        with seeded(seed, 8_100_000, step):
            data = PRIOR.sample(BATCH, NUM_POINTS)
        optimisers.zero_grad()
        (-layer.condition(data.x, data.y).log_evidence.mean() / NUM_POINTS).backward()
        optimisers.step(min(1.0, (step + 1) / WARMUP) * (1 - step / steps))
    return layer, time.process_time() - start


def gap(layer: RealRegression, size: int, num_datasets: int, seed: int) -> Estimate:
    """The gap of the regression alone, without a network behind it."""
    with seeded(seed, 8_200_000, size):
        tasks = PRIOR.sample(num_datasets, size + NUM_QUERIES).split(size)
    truth = predict(exact(PRIOR), tasks)
    with torch.no_grad():
        guess = layer.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    return Estimate.over(divergence(truth, guess.ppd).mean(-1))


def main() -> None:
    """All ways, one after the other."""
    parser = parser_for("smooth_features", __doc__)
    parser.add_argument("--steps", type=int, default=250)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    steps, num_datasets = (1, 2) if arguments.quick else (arguments.steps, 20)
    rows, lines = [], []
    for way in WAYS:
        layer, seconds = trained(way, steps, arguments.seed)
        gaps = {size: gap(layer, size, num_datasets, arguments.seed) for size in SIZES}
        noise = layer.log_noise.exp().item()
        rows.append({"way": way.name, "steps": steps, "seconds": seconds, "gaps": gaps, "noise": noise})
        told = [spelled(each, 3) for each in gaps.values()]
        lines.append([way.name, f"{seconds:.0f}", *told, f"{noise:.4f}"])
    show(
        f"KL from the truth, {steps} steps, {arguments.threads} threads",
        ["features", "seconds", *(f"n = {size}" for size in SIZES), "noise"],
        lines,
    )
    if arguments.save:
        save("smooth_features", rows, arguments.seed)


if __name__ == "__main__":
    main()
