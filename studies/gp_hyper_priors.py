"""Figure 4b: a Gaussian process with hyper-priors, where no closed form exists: PFN, MLE-II and NUTS beside the truth.

    python studies/gp_hyper_priors.py

Claim to test: the released ``gp-hyper-1d`` comes within 0.05 nats of the oracle (importance sampling of the
hyper-parameters) at n = 5 ... 30, closer than MLE-II and than NUTS with 256 samples, in a small part of their time.
The paper: PFN -0.67, -1.96, -2.59, -2.92, -3.13, -3.26 at n = 5, 10, ..., 30; NUTS 256+256 from 0.51 to -2.77; MLE-II
from 58.7 to -1.79; no oracle. Its number of features is not stated, and its numbers fit one feature only roughly:
compare the gaps.
Shown: (a) NLL of the drawn query, (b) gap to the oracle on the same datasets, (c) seconds per dataset.
The gap takes the expectation over y under the hyper-parameters that drew the dataset; its mean over datasets is the
divergence from the oracle. A row holds the numbers of each of its datasets, so any two methods can be paired. Costly
methods see fewer datasets, always the first ones. Seconds are those of condition and predict, without compiling, of
the process or of the clock, whichever are fewer (of the clock for NumPyro; those of the first run are lost).
Cost on one core: PFN, oracle and MLE-II ten minutes, NUTS by NumPyro the same, NUTS by Pyro the same.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

import torch
from hyper_results import draw, tell
from models import Entrant, Released, Trained, present
from paper import HYPER_GP
from study import Clock, Row, Setup, Study
from torch.distributions import Distribution, Normal

from priorfit.baselines import HyperGPOracle
from priorfit.baselines.gp.mle2_gp import MLE2GP
from priorfit.baselines.gp.nuts_gp import NutsGP, NutsGPPosterior
from priorfit.data import Batch
from priorfit.distributions import expected_log_prob
from priorfit.metrics.nll import NUM_NODES
from priorfit.network import Model, NetworkSettings
from priorfit.predictor import Predictor
from priorfit.priors import HyperGaussianProcess
from priorfit.seeding import seeded
from priorfit.training import Budget, Recipe

SIZES = (5, 10, 15, 20, 25, 30)
STREAM = 6_000_000
"""Stream of the seed for datasets that no training sees."""
Chain = tuple[Literal["numpyro", "pyro"], int, int, int]
CHAINS: tuple[Chain, ...] = (
    ("numpyro", 32, 200, 50),
    ("numpyro", 256, 100, 10),
    ("pyro", 32, 20, 10),
    ("pyro", 256, 8, 2),
)
"""Backend, samples, datasets at each n, datasets of a row."""
QUICK_CHAINS: tuple[Chain, ...] = (("pyro", 2, 2, 2),)
NUM_ALONE = 10
"""Datasets of a row on which a network is timed one by one."""


@dataclass(frozen=True)
class Case:
    """A prior, the released network that was fitted to it, and what is compared on how many datasets."""

    prior: HyperGaussianProcess
    model: str
    datasets: int
    chains: tuple[Chain, ...]


ONE_FEATURE = Case(HYPER_GP, "gp-hyper-1d", 200, CHAINS)


@dataclass(frozen=True)
class Method:
    """A predictor, and on how many datasets it is measured."""

    label: str
    predictor: Callable[[], Predictor]
    datasets: int
    at_once: int
    """Datasets that one row holds."""
    version: str = ""
    """An identifier that changes whenever the answers do."""


def methods(setup: Setup, case: Case) -> list[Method]:
    """The truth first, then from cheap to costly."""
    prior, count = case.prior, case.datasets
    oracle, mle = HyperGPOracle(prior, setup.choose(4_000, 40), setup.seed), MLE2GP(prior, setup.seed)
    return [
        Method("oracle", lambda: oracle, count, 20, version=str(oracle.num_samples)),
        *(Method("PFN", model.model, count, 100, version=model.fingerprint) for model in networks(setup, case)),
        Method("MLE-II", lambda: mle, count, 50),
        *(nuts(prior, each, setup.seed) for each in setup.choose(case.chains, QUICK_CHAINS)),
    ]


def nuts(prior: HyperGaussianProcess, chain: Chain, seed: int) -> Method:
    """NUTS with as many samples as steps of warm-up."""
    backend, samples, datasets, at_once = chain
    predictor = NutsGP(prior, samples, backend=backend, seed=seed)
    name = {"numpyro": "NumPyro", "pyro": "Pyro"}[backend]
    return Method(f"NUTS {samples}+{samples}, {name}", lambda: predictor, datasets, at_once)


def networks(setup: Setup, case: Case) -> list[Entrant]:
    """The released PFN where there is one; a tiny one to try the study."""
    tiny = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    recipe = Recipe(case.prior, num_points=12, budget=Budget(steps=2), name=case.model, network=tiny, seed=setup.seed)
    return [Trained("PFN", recipe, setup.models)] if setup.quick else present([Released(case.model)])


def run(setup: Setup, case: Case = ONE_FEATURE) -> list[Row]:
    """The rows of all methods, some datasets at a time."""
    rows = []
    for method in methods(setup, case):
        count = min(method.datasets, setup.num_datasets(method.datasets, quick=2))
        for size in setup.choose(SIZES, (5,)):
            for first in range(0, count, method.at_once):
                some = range(first, min(first + method.at_once, count))
                rows.append(row_of(setup, case, method, size, some))
    return rows


def row_of(setup: Setup, case: Case, method: Method, size: int, some: range) -> Row:
    """The scores of a method on some datasets of a size."""
    key = {
        "method": method.label,
        "version": method.version,
        "n": size,
        "first": some.start,
        "count": len(some),
        "seed": setup.seed,
    }
    return setup.rows.get(key, lambda: found(method.predictor(), drawn(case.prior, size, some, setup.seed)))


def drawn(prior: HyperGaussianProcess, size: int, some: range, seed: int) -> Batch:
    """Datasets by their numbers, with one query each, the same however many are drawn at once."""
    each = []
    for index in some:
        with seeded(seed, STREAM, size, index):
            each.append(prior.sample(1, size + 1).split(size))
    parts = ([getattr(one, name) for one in each] for name in ("context_x", "context_y", "query_x", "query_y"))
    targets = [one.query_law for one in each if isinstance(one.query_law, Normal)]
    target = Normal(torch.cat([one.loc for one in targets]), torch.cat([one.scale for one in targets]))
    return Batch(*(torch.cat(part) for part in parts), query_law=target)


def found(predictor: Predictor, tasks: Batch) -> dict[str, Any]:
    """NLL of the drawn y and in expectation, for each dataset, and the seconds that one took."""
    if isinstance(predictor, Model):
        answer(predictor, tasks)  # the first call of a network is slower
    ppd, seconds = answer(predictor, tasks)
    assert tasks.query_law is not None
    expected = expected_log_prob(ppd, tasks.query_law, num_nodes=NUM_NODES)
    numbers = {"nll": -ppd.log_prob(tasks.query_y), "expected_nll": -expected}
    rounded = {name: [round(value, 4) for value in values[:, 0].tolist()] for name, values in numbers.items()}
    timed = {"seconds": seconds / len(tasks.query_y)}
    if isinstance(predictor, Model):
        timed["seconds_alone"] = median(answer(predictor, one_of(tasks, i))[1] for i in alone(tasks))
    return rounded | timed


def answer(predictor: Predictor, tasks: Batch) -> tuple[Distribution, float]:
    """The prediction, and the seconds for all datasets together."""
    clock, start = Clock(), time.perf_counter()
    posterior = predictor.condition(tasks.context_x, tasks.context_y)
    ppd = posterior.predict(tasks.query_x)
    if isinstance(posterior, NutsGPPosterior) and posterior.compile_seconds:
        return ppd, time.perf_counter() - start - posterior.compile_seconds  # which are those of the clock
    return ppd, clock.seconds


def alone(tasks: Batch) -> range:
    """The datasets on which a network is timed one by one."""
    return range(min(NUM_ALONE, len(tasks.query_y)))


def one_of(tasks: Batch, index: int) -> Batch:
    """One dataset, still as a batch."""
    some = slice(index, index + 1)
    return replace(
        tasks,
        context_x=tasks.context_x[some],
        context_y=tasks.context_y[some],
        query_x=tasks.query_x[some],
        query_y=tasks.query_y[some],
        query_law=None,
    )


STUDY = Study("gp_hyper_priors", __doc__, run, tell, draw)

if __name__ == "__main__":
    STUDY.main()
