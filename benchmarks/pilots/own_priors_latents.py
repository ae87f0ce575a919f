"""Posteriors of the latents of own priors after some minutes of training, beside the truth; and `refined`.

    python benchmarks/pilots/own_priors_latents.py --minutes 10 [--priors waves growth] [--tell]

The networks are those of `own_priors_models.py`, which trains those that are missing. Four tables:

- margins: KL(truth || network) of each latent's posterior in nats, and mean log scores of network, truth and prior
  (relative to the prior: how many nats the data tell of the latent). The truth is quadrature, for priors of at most
  three latents.
- calibration: the largest distance of the levels of 500 true latents from uniform, beside the 95 % band of one such
  distance by chance (Kolmogorov), and the log score of the network on them beside that of the prior.
- refined: of 32 datasets with 1,024 particles, KL(truth || refined) of the predictive at one new input over those with
  a k-hat below 0.7 and a truth that is certain, and milliseconds of the processor for a dataset, alone and in a batch
  of 32.
- particles: that KL at n = 10 against the number of particles, beside importance sampling from the prior (Sobol draws)
  and NumPyro's NUTS (draws after as many steps of warm-up; compile time apart), all over the same 16 datasets.

Rows are kept as they come; a run that was stopped goes on.
"""

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution
from torch.special import ndtr, ndtri

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.quadrature import Quadrature
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors_models import ORDER, is_trained, model_of, own_prior
from benchmarks.pilots.own_priors_tables import COUNTS, NUTS_STEPS, tell
from benchmarks.pilots.own_priors_truth import BY_QUADRATURE, SIZES, by_quadrature
from priorfit.baselines import ProgramOracle
from priorfit.baselines.exact.program_oracle import divergence
from priorfit.data import Batch
from priorfit.errors import UncertainTruthWarning
from priorfit.importance import ParticlePosterior, Particles, Target
from priorfit.network import PFN
from priorfit.verify.latents import latent_checks

ROWS = RESULTS / "own_priors_latents.jsonl"
SEED = 0
MARGIN_DATASETS, REFINED_DATASETS, PARTICLE_DATASETS = 16, 32, 16
PARTICLES = 1024
BY_NUTS = ("waves", "growth")
BINS = 128


def tasks_of(name: str, size: int, datasets: int, queries: int = 1) -> Batch:
    """New datasets of a prior."""
    with pf.seeded(SEED, size, 9):
        return own_prior(name).sample(datasets, size + queries).split(size)


def margins(name: str, model: PFN, size: int) -> dict[str, float]:
    """KL and log scores of each latent, means over datasets."""
    tasks = tasks_of(name, size, MARGIN_DATASETS)
    posterior = model.condition(tasks.context_x, tasks.context_y).latents
    found: dict[str, float] = {}
    exact = [by_quadrature(name, tasks, place) for place in range(MARGIN_DATASETS)]
    for number, latent in enumerate(own_prior(name).latents):
        prior_law, law = latent.source, posterior[latent.name]
        assert isinstance(prior_law, Distribution)
        drawn = tasks.latents[latent.name][:, 0].double()
        gains = law.log_prob(drawn) - prior_law.log_prob(drawn.float()).double()
        levels = prior_law.cdf(drawn.float()).double()
        truths = [each.log_density(number, float(level)) for each, level in zip(exact, levels, strict=True)]
        kls = [margin_divergence(each, number, prior_law, law, place) for place, each in enumerate(exact)]
        found |= {
            f"{latent.name} KL": sum(kls) / len(kls),
            f"{latent.name} largest KL": max(kls),
            f"{latent.name} network": float(gains.mean()),
            f"{latent.name} truth": sum(truths) / len(truths),
        }
    return found


def margin_divergence(exact: Quadrature, number: int, prior_law: Distribution, law: Distribution, place: int) -> float:
    """KL of one dataset's margin over 128 bins between the extreme quantiles of the truth, and what lies outside."""
    low, high = exact.low[:, number], exact.high[:, number]
    is_heavy = exact.weights > 1e-9
    levels = spaced(low[is_heavy].min(), high[is_heavy].max(), 16 * BINS)
    cumulative = exact.cdf(number, levels)
    inside = (cumulative > 1e-4) & (cumulative < 1 - 1e-4)
    levels = spaced(levels[inside][0], levels[inside][-1], BINS)
    values = prior_law.icdf(levels)
    truth = masses(exact.cdf(number, levels))
    network = masses(law.cdf(values[:, None].expand(-1, *law.batch_shape))[:, place])
    return float((truth * (truth.clamp_min(1e-300) / network.clamp_min(1e-12)).log()).sum())


def spaced(low: Float[Tensor, ""], high: Float[Tensor, ""], bins: int) -> Float[Tensor, " edges"]:
    """Levels of a prior whose standard Normal coordinates have equal distances."""
    return ndtr(torch.linspace(float(ndtri(low)), float(ndtri(high)), bins + 1, dtype=torch.float64))


def masses(cumulative: Float[Tensor, " edges"]) -> Float[Tensor, " bins"]:
    """The mass below, between and above some edges."""
    return torch.cat([cumulative[:1], cumulative.diff(), 1 - cumulative[-1:]]).clamp_min(0)


def calibration(name: str, model: PFN, size: int) -> dict[str, float]:
    """Distances of calibration, and log scores, of each latent."""
    found: dict[str, float] = {}
    for check in latent_checks(model, own_prior(name), size, seed=1):
        latent = check.question.split()[1]
        found[f"{latent} distance"] = float(cast(float, check.numbers["distance"]))
        found[f"{latent} score"] = float(cast(float, check.numbers["log_score"]))
    return found


def refinement(name: str, model: PFN, size: int) -> dict[str, float]:
    """How far `refined` is from the truth, where it is to be believed, and its milliseconds."""
    tasks = tasks_of(name, size, REFINED_DATASETS)
    oracle = ProgramOracle(own_prior(name)).condition(tasks.context_x, tasks.context_y)
    truth, certain = oracle.predict(tasks.query_x), oracle.is_truth
    posterior = model.condition(tasks.context_x, tasks.context_y)
    with pf.seeded(SEED, 10):
        refined = posterior.refined(PARTICLES)
    gaps = divergence(truth, refined.predict(tasks.query_x)).mean(-1)
    network = divergence(truth, posterior.predict(tasks.query_x)).mean(-1)
    good = (refined.k_hat < 0.7) & certain
    alone = model.condition(tasks.context_x[:1], tasks.context_y[:1])
    return {
        "gap": float(gaps[good].mean()),
        "largest gap": float(gaps[good].max()) if bool(good.any()) else math.nan,
        "network gap": float(network[certain].mean()),
        "reliable": float((refined.k_hat < 0.7).double().mean()),
        "certain": int(certain.sum()),
        "effective": float(refined.effective_sample_size.median()),
        "alone": milliseconds(lambda: alone.refined(PARTICLES)),
        "batch": milliseconds(lambda: posterior.refined(PARTICLES)) / REFINED_DATASETS,
        "draws": milliseconds(lambda: alone.latents.sample(1_000)),
        "functions": milliseconds(
            lambda: alone.sample_functions(torch.rand(1, 200, own_prior(name).num_features), 100)
        ),
    }


def milliseconds(work: Callable[[], object]) -> float:
    """The median of five times of the processor, after one call to warm up."""
    work()
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - start))
    return sorted(times)[2]


def particles(name: str, model: PFN, size: int = 10) -> dict[str, float]:
    """KL of the predictive against the number of particles, three ways."""
    tasks = tasks_of(name, size, PARTICLE_DATASETS)
    oracle = ProgramOracle(own_prior(name)).condition(tasks.context_x, tasks.context_y)
    truth, certain = oracle.predict(tasks.query_x), oracle.is_truth
    posterior, found = model.condition(tasks.context_x, tasks.context_y), {}
    with pf.seeded(SEED, 11):
        for count in COUNTS:
            ways = {
                "refined": posterior.refined(count),
                "prior": from_prior(name, tasks, count),
            }
            for way, answer in ways.items():
                found[f"{way} {count}"] = float(divergence(truth, answer.predict(tasks.query_x))[certain].mean())
    alone = model.condition(tasks.context_x[:1], tasks.context_y[:1])
    for count in COUNTS:
        found[f"refined {count} ms"] = milliseconds(lambda count=count: alone.refined(count))
    return found | (by_nuts(name, tasks) if name in BY_NUTS else {})


def from_prior(name: str, tasks: Batch, count: int) -> ParticlePosterior:
    """Importance sampling with Sobol draws of the prior."""
    target = Target(own_prior(name), tasks.context_x, tasks.context_y)
    u = target.prior_draws(count)
    weights = target.evaluated(u)[1].log_softmax(-1)
    return ParticlePosterior(own_prior(name), Particles(target.latents(u), weights), tasks.context_y.shape[:1])


def by_nuts(name: str, tasks: Batch) -> dict[str, float]:
    """KL and milliseconds of chains of several lengths."""
    from benchmarks.pilots.own_priors_nuts import nuts  # jax takes seconds to import

    found, oracle = {}, ProgramOracle(own_prior(name))
    each = [(tasks.context_x[[place]], tasks.context_y[[place]]) for place in range(PARTICLE_DATASETS)]
    truths = [oracle.condition(x, y).predict(tasks.query_x[[place]]) for place, (x, y) in enumerate(each)]
    for steps in NUTS_STEPS:
        gaps, times = [], []
        nuts(name, each[0][0][0], each[0][1][0], (steps, steps))  # compiles
        for place, (x, y) in enumerate(each):
            start = time.process_time()
            chain = nuts(name, x[0], y[0], (steps, steps))
            times.append(1e3 * (time.process_time() - start))
            gaps.append(float(divergence(truths[place], chain.predict(tasks.query_x[[place]])).mean()))
        found |= {f"nuts {steps}": sum(gaps) / len(gaps), f"nuts {steps} ms": sorted(times)[len(times) // 2]}
    return found


def main() -> None:
    """Fill in the rows that are missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--priors", nargs="*", default=list(ORDER))
    parser.add_argument("--tell", action="store_true", help="print what is kept")
    parser.add_argument("--trained", action="store_true", help="measure networks that are there, and train none")
    options = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock that budgets are planned by
    warnings.simplefilter("ignore", UncertainTruthWarning)
    kept = KeptRows(ROWS, SEED)
    for name in [] if options.tell else options.priors:
        if not options.trained or is_trained(name, options.minutes):
            fill(kept, name, options.minutes)
    tell(kept, options.minutes)


def fill(kept: KeptRows, name: str, minutes: float) -> None:
    """Measure whatever has no row yet."""
    model = model_of(name, minutes)
    key = {"prior": name, "minutes": minutes}
    for size in SIZES:
        if name in BY_QUADRATURE:
            kept.get({"table": "margins", "n": size, **key}, lambda size=size: margins(name, model, size))
        kept.get({"table": "calibration", "n": size, **key}, lambda size=size: calibration(name, model, size))
        kept.get({"table": "refined", "n": size, **key}, lambda size=size: refinement(name, model, size))
    kept.get({"table": "particles", "n": 10, **key}, lambda: particles(name, model))


if __name__ == "__main__":
    main()
