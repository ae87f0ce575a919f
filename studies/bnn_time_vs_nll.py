"""Figure 5: Bayesian neural networks, time against accuracy: a PFN beside SVI and NUTS, and beside the truth.

    python studies/bnn_time_vs_nll.py           --kept: only what has been found so far

Claims to test: the released ``bnn-small`` and ``bnn-large`` come within 0.005 nats of the truth, ``bnn-small-tanh`` and
``bnn-large-tanh`` too; to come within 0.01 nats of it SVI takes 1,000 times its time, and NUTS by Pyro 10,000 times.
The paper: PFN 0.2507 (small) and 0.1071 (large) in 0.011 s on a GPU; SVI at best 0.2524 and 0.1242 in 402 and 1,600 s;
NUTS 0.2536 in 442 s, and on the large network 0.1013 in 656 s, below the PFN. It has no truth and no accuracy.
100 datasets of 100 revealed points and 200 queries; costly budgets see fewer, always the first ones. The prior is that
of the authors' code, without activation, and the same with tanh. The truth is `CollapsedBNN` without activation, and
with tanh four chains of NumPyro's NUTS, as long as the probabilities of all queries need for an R-hat of 1.01.
Seconds are those of one thread, without compiling: of the process or of the clock, whichever are fewer, so that other
work on the machine does not count. The machine's own pace changes too, so beside each row of a baseline the PFN is
timed again, and ratios are taken there. NUTS by Pyro and SVI with learning rate 0.001 are the paper's; NumPyro and the
learning rate 0.01 are faster. Cost on one core: two hours.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import median
from typing import Any

import torch
from bnn_methods import CASES, NUM_CONTEXT, Case, Method, methods, networks
from bnn_results import COLLAPSED, LONG_RUN, PFN, draw, tell
from jaxtyping import Float
from study import Clock, Row, Setup, Study
from torch import Tensor
from torch.distributions import Distribution

from priorfit.baselines import CollapsedBNN
from priorfit.baselines.bnn.long_nuts_bnn import LENGTHS, long_chains, long_run
from priorfit.baselines.bnn.nuts_bnn import NutsBNN
from priorfit.data import Batch
from priorfit.distributions.class_probabilities import log_odds, two_classes
from priorfit.errors import TimeLimitError
from priorfit.metrics import divergence
from priorfit.predictor import Predictor, predict
from priorfit.priors import BayesianNetwork
from priorfit.seeding import seeded

NUM_QUERIES = 200
STREAM = 7_000_000
"""Stream of the seed for datasets that no training sees."""
NUM_IN_BATCH = 100
"""Datasets that a network is timed on."""
NUM_ALONE = 10
"""Datasets on which a network is timed one by one."""
NUM_TIMED, SECONDS_TIMED = 41, 1.0
"""Answers in batches of which the median time is taken, and when to stop after three of them."""


@dataclass(frozen=True)
class Job:
    """The key of a row, how the row is computed, and its place in the order."""

    key: dict[str, str | int]
    find_out: Callable[[], dict[str, Any]]
    share: float
    """Share of its method's datasets before it; jobs are sorted by it, so that all methods advance together."""


def run(setup: Setup) -> list[Row]:
    """The rows of all methods, some datasets at a time."""
    return [setup.rows.get(job.key, job.find_out) for job in jobs(setup)]


def kept(setup: Setup) -> list[Row]:
    """The rows that are there."""
    return [row for job in jobs(setup) if (row := setup.rows.find(job.key)) is not None]


def jobs(setup: Setup) -> list[Job]:
    """All jobs in their order."""
    every = [job for case in setup.choose(CASES, CASES[::2]) for job in jobs_of(setup, case)]
    return sorted(every, key=lambda job: job.share)


def jobs_of(setup: Setup, case: Case) -> Iterator[Job]:
    """The jobs of a case."""
    truth, most, pace = Truth(setup, case), setup.num_datasets(case.datasets, quick=2), Pace(setup, case)
    if case.prior.activation is not None:
        yield from (truth.job(index) for index in range(most))
    for method in methods(setup, case):
        about = {"method": method.family, "budget": method.budget, "version": method.version}
        for some in parts(min(method.datasets, most), method.at_once):
            share = 0.0 if method.family in (PFN, COLLAPSED) else (some.start + 1) / method.datasets
            yield Job(key_of(setup, case, some) | about, partial(answered, method, truth, pace, some), share)


def answered(method: Method, truth: "Truth", pace: "Pace", some: range) -> dict[str, Any]:
    """What is found out of a method's answers to some datasets: scores of each, and the seconds that one took."""
    predictor, tasks = method.predictor(), drawn(truth.case.prior, some, truth.setup.seed)
    if isinstance(predictor, NutsBNN):
        compile_ahead(predictor, tasks)
    ppd, seconds = answer(predictor, tasks)
    found = scores(ppd, tasks, truth.log_odds(some))
    if method.family == PFN:
        return found | pace.seconds()
    return found | {"seconds": seconds / len(some), "beside": pace.told()}


class Pace:
    """The seconds that the PFN takes for a dataset, as the machine is now."""

    def __init__(self, setup: Setup, case: Case) -> None:
        self.entrants = networks(setup, case)
        self._tasks = cache(lambda: drawn(case.prior, range(setup.choose(NUM_IN_BATCH, 2)), setup.seed))

    def seconds(self) -> dict[str, float]:
        """Median seconds in a batch and alone, after a first call, which is slower."""
        model, tasks, clock, times = self.entrants[0].model(), self._tasks(), Clock(), []
        answer(model, tasks)
        while len(times) < 3 or (len(times) < NUM_TIMED and clock.seconds < SECONDS_TIMED):
            times.append(answer(model, tasks)[1])
        alone = [answer(model, one_of(tasks, index))[1] for index in range(min(NUM_ALONE, len(tasks.query_y)))]
        return {"seconds": median(times) / len(tasks.query_y), "seconds_alone": median(alone)}

    def told(self) -> dict[str, Any] | None:
        """The network and its seconds as fields of a row; empty while there is none."""
        return {"version": self.entrants[0].fingerprint} | self.seconds() if self.entrants else None


def parts(count: int, at_once: int) -> Iterator[range]:
    """Some datasets at a time."""
    for first in range(0, count, at_once):
        yield range(first, min(first + at_once, count))


def key_of(setup: Setup, case: Case, some: range) -> dict[str, str | int]:
    """The part of the key that all rows share."""
    return {"case": case.name, "first": some.start, "count": len(some), "seed": setup.seed}


class Truth:
    """The log odds of class 1 at all queries of a dataset, computed when first asked for.

    Its seed is another than that of the methods, so that a method's distance shows the Monte Carlo error of both.
    """

    def __init__(self, setup: Setup, case: Case) -> None:
        self.setup, self.case, self.seed = setup, case, setup.seed + 1
        self._of = cache(self._one)

    def log_odds(self, some: range) -> Float[Tensor, "datasets queries"]:
        """The log odds of some datasets."""
        return torch.stack([self._of(index) for index in some])

    def _one(self, index: int) -> Float[Tensor, " queries"]:
        if self.case.prior.activation is not None:
            job = self.job(index)
            return torch.tensor(self.setup.rows.get(job.key, job.find_out)["log_odds"])
        tasks = drawn(self.case.prior, range(index, index + 1), self.setup.seed)
        collapsed = CollapsedBNN(self.case.prior, self.setup.choose(16_384, 512), self.seed)
        return log_odds(predict(collapsed, tasks))[0]

    def job(self, index: int) -> Job:
        """A long run of NUTS, whose row is kept."""
        some = range(index, index + 1)
        key = key_of(self.setup, self.case, some) | {"method": LONG_RUN, "budget": 0, "version": ""}
        share = (index + 1) / self.case.datasets
        return Job(key, lambda: self._long_run(drawn(self.case.prior, some, self.setup.seed)), share)

    def _long_run(self, tasks: Batch) -> dict[str, Any]:
        prior = self.case.prior
        tiny = NutsBNN(prior, 4, num_warmup=2, backend="pyro", seed=self.seed)
        chains = self.setup.choose(long_chains(prior, self.seed), tiny)
        compile_ahead(chains, tasks)
        clock = Clock()
        posterior = long_run(chains, tasks, self.setup.choose(LENGTHS, (4,)))
        ppd = posterior.predict(tasks.query_x)
        return scores(ppd, tasks, log_odds(ppd)) | {
            "seconds": clock.seconds,
            "samples": posterior.chains[0].samples.shape[1],
            "r_hat": round(float(posterior.r_hat(tasks.query_x).max()), 4),
            "log_odds": [round(value, 4) for value in log_odds(ppd)[0].tolist()],
        }


def drawn(prior: BayesianNetwork, some: range, seed: int) -> Batch:
    """Datasets by their numbers, the same however many are drawn at once."""
    each = []
    for index in some:
        with seeded(seed, STREAM, index):
            each.append(prior.sample(1, NUM_CONTEXT + NUM_QUERIES).split(NUM_CONTEXT))
    names = ("context_x", "context_y", "query_x", "query_y")
    context_x, context_y, query_x, query_y = (torch.cat([getattr(one, name) for one in each]) for name in names)
    return Batch(context_x, context_y, query_x, query_y)


def scores(ppd: Distribution, tasks: Batch, truth: Float[Tensor, "datasets queries"]) -> dict[str, list[float]]:
    """NLL of the drawn labels, accuracy, and KL from the truth, of each dataset."""
    numbers = {
        "nll": -ppd.log_prob(tasks.query_y),
        "accuracy": ((log_odds(ppd) > 0) == (tasks.query_y > 0.5)).float(),
        "kl": divergence(two_classes(truth), ppd),
    }
    return {name: [round(value, 6) for value in values.mean(-1).tolist()] for name, values in numbers.items()}


@torch.no_grad()
def answer(predictor: Predictor, tasks: Batch) -> tuple[Distribution, float]:
    """The prediction, and the seconds for all datasets together."""
    clock = Clock()
    ppd = predict(predictor, tasks)
    return ppd, clock.seconds


def compile_ahead(nuts: NutsBNN, tasks: Batch) -> None:
    """Let NumPyro compile, which it does once for all datasets of a shape: a run that ends after its first steps."""
    if nuts.backend == "numpyro":
        with suppress(TimeLimitError):
            replace(nuts, time_limit=1e-9).condition(tasks.context_x[0], tasks.context_y[0])


def one_of(tasks: Batch, index: int) -> Batch:
    """One dataset, still as a batch."""
    some = slice(index, index + 1)
    return Batch(tasks.context_x[some], tasks.context_y[some], tasks.query_x[some], tasks.query_y[some])


STUDY = Study("bnn_time_vs_nll", __doc__, run, tell, draw, kept)

if __name__ == "__main__":
    STUDY.main()
