"""Posteriors of the latents of own priors after some minutes of training, beside the truth; and `refined`.

    python benchmarks/pilots/own_priors_latents.py --minutes 10 --priors waves growth change_point

For each latent: KL(truth || network) of its margin in nats, where the truth is importance sampling binned into 40 equal
masses of the network's own margin; the log score; and the largest distance of calibration ranks from uniform,
with what chance gives. For `refined`: KL of its predictive from the truth, k-hat, and milliseconds a dataset, alone and
in a batch.
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
from priorfit.metrics import divergence
from priorfit.network import PFN
from priorfit.priors import ProgramPrior
from priorfit.verify.latents import latent_checks

BINS = 40


def margin_divergence(model: PFN, truth: OraclePosterior, tasks: Batch, name: str) -> float:
    """KL of the truth's margin from the network's, over bins that have equal mass under the network."""
    law = model.condition(tasks.context_x, tasks.context_y).latents[name]
    exact = truth.latents[name]
    levels = torch.arange(1, BINS, dtype=torch.float64) / BINS
    borders = law.icdf(levels.reshape(-1, *(1,) * len(law.batch_shape)))
    inner = exact.cdf(borders)
    masses = torch.cat([inner[:1], inner.diff(dim=0), 1 - inner[-1:]]).clamp_min(0)
    return float((masses * (masses * BINS).clamp_min(1e-12).log()).sum(0).mean())


def timed_refined(model: PFN, tasks: Batch, particles: int) -> float:
    """Milliseconds for each dataset of a batch, after one call to warm up."""
    posterior = model.condition(tasks.context_x, tasks.context_y)
    posterior.refined(particles)
    start = time.perf_counter()
    posterior.refined(particles)
    return 1e3 * (time.perf_counter() - start) / len(tasks.context_y)


def row(model: PFN, prior: ProgramPrior, size: int, datasets: int, particles: int) -> None:
    """Print what is found at one context size."""
    with pf.seeded(0, size, 9):
        tasks = prior.sample(datasets, size + 1).split(size)
    truth = ProgramOracle(prior).condition(tasks.context_x, tasks.context_y)
    for check in latent_checks(model, prior, size, seed=1):
        name = check.question.split()[1]
        is_class = any(space.name == name and space.kind == "classes" for space in model.problem.latents)
        kl = float("nan") if is_class else margin_divergence(model, truth, tasks, name)
        numbers = check.numbers
        print(
            f"  n = {size} {name}: KL {kl:.4f}, log score {numbers['log_score']:+.3f}, calibration "
            f"{numbers['distance']:.3f} (chance {numbers['chance']:.3f})"
        )
    refined = model.condition(tasks.context_x, tasks.context_y).refined(particles)
    exact = truth.predict(tasks.query_x)
    plain = model.condition(tasks.context_x, tasks.context_y)
    gap, network = (divergence(exact, each.predict(tasks.query_x)).mean() for each in (refined, plain))
    few = Batch(tasks.context_x[:1], tasks.context_y[:1], tasks.query_x[:1], tasks.query_y[:1])
    print(
        f"  n = {size} predictive: network {network:.4f}, refined {gap:.4f} nats; k-hat at most 0.7 in "
        f"{float(refined.is_reliable.double().mean()):.0%}; {timed_refined(model, few, particles):.0f} ms alone, "
        f"{timed_refined(model, tasks, particles):.1f} ms in a batch of {datasets}"
    )


def main() -> None:
    """Train on each prior, and print what its latents' posteriors are worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--datasets", type=int, default=32)
    parser.add_argument("--particles", type=int, default=1024)
    parser.add_argument("--priors", nargs="*", default=list(OWN))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UncertainTruthWarning)
    for name in arguments.priors:
        prior = OWN[name]
        assert isinstance(prior, ProgramPrior)
        model = pf.fit(prior, num_points=50, minutes=arguments.minutes, progress=False)
        print(f"{name}: {arguments.minutes:g} minutes, {type(model.settings.solver).__name__}", flush=True)
        for size in (3, 10, 30):
            row(model, prior, size, arguments.datasets, arguments.particles)


if __name__ == "__main__":
    main()
