"""The truth for the six own priors by importance sampling: its error, its cost, and its distance from quadrature.

    python benchmarks/pilots/own_priors_truth.py --datasets 16 [--priors waves] [--tell]

The error is the KL divergence between the predictives of two independent runs, in nats, at inputs of the prior: the
mean over datasets, and the largest. Both runs together, which is what `pf.exact` answers, are closer to the truth: the
second table has KL(quadrature || importance sampling) of the predictive at 4 new inputs, for priors of at most three
latents, and the difference of log evidences, of 4 datasets each. Seconds are of the processor, one dataset alone and in
a batch. Rows are kept as they come; a run that was stopped goes on.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.quadrature import Quadrature, quadrature
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors_models import ORDER, own_prior
from priorfit.baselines import OraclePosterior, ProgramOracle
from priorfit.baselines.exact.program_oracle import divergence
from priorfit.data import Batch
from priorfit.errors import UncertainTruthWarning

ROWS = RESULTS / "own_priors_truth.jsonl"
SIZES = (3, 10, 30)
BY_QUADRATURE = ("waves", "growth", "change_point", "two_branches", "psychometric")
JUDGED, QUERIES = 4, 4


def by_quadrature(name: str, tasks: Batch, place: int) -> Quadrature:
    """The posterior of one dataset on cells; the likelihood of a change point jumps at the inputs of the context."""
    x, y = tasks.context_x[place], tasks.context_y[place]
    return quadrature(own_prior(name), x, y, {"change": x[:, 0]} if name == "change_point" else None)


def timed(oracle: ProgramOracle, tasks: Batch) -> tuple[OraclePosterior, float]:
    """A posterior, and the seconds of the processor for each dataset."""
    start = time.process_time()
    posterior = oracle.condition(tasks.context_x, tasks.context_y)
    return posterior, (time.process_time() - start) / len(tasks.context_y)


def errors(name: str, size: int, datasets: int, seed: int) -> dict[str, float]:
    """What two runs differ by, and what they cost."""
    prior = own_prior(name)
    with pf.seeded(seed, size):
        tasks = prior.sample(datasets, size + 1).split(size)
    posterior, seconds = timed(ProgramOracle(prior), tasks)
    alone = Batch(tasks.context_x[:1], tasks.context_y[:1], tasks.query_x[:1], tasks.query_y[:1])
    return {
        "mean": float(posterior.error.mean()),
        "largest": float(posterior.error.max()),
        "truth": float(posterior.is_truth.double().mean()),
        "effective": float(posterior.effective_sample_size.median()),
        "alone": timed(ProgramOracle(prior), alone)[1],
        "batch": seconds,
    }


def distances(name: str, size: int, seed: int) -> dict[str, float]:
    """How far importance sampling is from quadrature."""
    prior = own_prior(name)
    with pf.seeded(seed, size, 1):
        tasks = prior.sample(JUDGED, size + QUERIES).split(size)
    gaps, evidences, changes = [], [], []
    for place in range(JUDGED):
        exact = by_quadrature(name, tasks, place)
        sampled = ProgramOracle(prior).condition(tasks.context_x[[place]], tasks.context_y[[place]])
        queries = tasks.query_x[place]
        gaps.append(float(divergence(exact.predict(queries), sampled.predict(queries[None])).mean()))
        evidences.append(abs(exact.log_evidence - float(sampled.log_evidence[0])))
        changes.append(exact.change)
    return {
        "mean": sum(gaps) / JUDGED,
        "largest": max(gaps),
        "evidence": max(evidences),
        "change": max(changes),
    }


def main() -> None:
    """Fill in the rows that are missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--priors", nargs="*", default=list(ORDER))
    parser.add_argument("--tell", action="store_true", help="print what is kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UncertainTruthWarning)
    kept = KeptRows(ROWS, options.seed)
    if not options.tell:
        fill(kept, options)
    tell(kept)


def fill(kept: KeptRows, options: argparse.Namespace) -> None:
    """Compute whatever has no row yet."""
    for name in options.priors:
        for size in SIZES:
            key = {"table": "error", "prior": name, "n": size, "datasets": options.datasets, "seed": options.seed}
            kept.get(key, lambda name=name, size=size: errors(name, size, options.datasets, options.seed))
            if name in BY_QUADRATURE:
                key = {"table": "quadrature", "prior": name, "n": size, "datasets": JUDGED, "seed": options.seed}
                kept.get(key, lambda name=name, size=size: distances(name, size, options.seed))


def tell(kept: KeptRows) -> None:
    """Two tables of the rows that are kept."""
    rows = [row["key"] | row["found"] for row in kept.found.values()]
    print("| prior | n | datasets | error, mean | largest | truth | effective size, median | s alone | s in a batch |")
    print("| --- |" + " ---: |" * 8)
    for row in (row for row in rows if row["table"] == "error"):
        print(
            f"| {row['prior']} | {row['n']} | {row['datasets']} | {row['mean']:.5f} | {row['largest']:.5f} "
            f"| {row['truth']:.0%} | {row['effective']:,.0f} | {row['alone']:.2f} | {row['batch']:.2f} |"
        )
    print("\n| prior | n | datasets | KL from quadrature, mean | largest | log evidence | cells of quadrature |")
    print("| --- |" + " ---: |" * 6)
    for row in (row for row in rows if row["table"] == "quadrature"):
        print(
            f"| {row['prior']} | {row['n']} | {row['datasets']} | {row['mean']:.5f} | {row['largest']:.5f} "
            f"| ± {row['evidence']:.4f} | ± {row['change']:.4f} |"
        )


if __name__ == "__main__":
    main()
