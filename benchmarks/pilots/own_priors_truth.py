"""The truth for the six own priors by importance sampling: its error, and seconds a dataset.

    python benchmarks/pilots/own_priors_truth.py --datasets 32

The error is the KL divergence between the predictives of two independent runs, in nats, at inputs of the prior: the
mean over datasets, and the largest. Both runs together, which is what `pf.exact` answers, are about four times closer
to the truth. Seconds are of the process, one dataset alone and in a batch.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.pilots.own_priors import OWN
from priorfit.baselines import OraclePosterior, ProgramOracle
from priorfit.data import Batch
from priorfit.errors import UncertainTruthWarning


def timed(oracle: ProgramOracle, tasks: Batch) -> tuple[OraclePosterior, float]:
    """A posterior, and the seconds of the processor for each dataset."""
    start = time.process_time()
    posterior = oracle.condition(tasks.context_x, tasks.context_y)
    return posterior, (time.process_time() - start) / len(tasks.context_y)


def main() -> None:
    """Print a row for each prior and context size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--priors", nargs="*", default=list(OWN))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", UncertainTruthWarning)
    print("| prior | n | error, mean | largest | truth | effective size, median | s a dataset, alone | in a batch |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in arguments.priors:
        oracle = ProgramOracle(OWN[name])
        for size in (3, 10, 30):
            with pf.seeded(arguments.seed, size):
                tasks = OWN[name].sample(arguments.datasets, size + 1).split(size)
                alone = OWN[name].sample(1, size + 1).split(size)
            posterior, seconds = timed(oracle, tasks)
            print(
                f"| {name} | {size} | {float(posterior.error.mean()):.5f} | {float(posterior.error.max()):.5f} "
                f"| {float(posterior.is_truth.double().mean()):.0%} "
                f"| {float(posterior.effective_sample_size.median()):,.0f} | {timed(oracle, alone)[1]:.2f} "
                f"| {seconds:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
