"""What a pilot may train on: a prior, the context sizes to judge at, and the truth there."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.distributions import Categorical, Distribution

from benchmarks.common.references import Tabulated, joined, kept, tabulated
from benchmarks.common.references import pieces as truth_pieces
from priorfit import metrics
from priorfit.baselines.exact.collapsed_bnn import CollapsedBNN
from priorfit.baselines.exact.gaussian_process import ExactGP
from priorfit.baselines.exact.hyper_gp_oracle import HyperGPOracle
from priorfit.cli import comparison
from priorfit.data import Batch
from priorfit.distributions import best_fit
from priorfit.metrics import Estimate
from priorfit.predictor import Predictor, predict
from priorfit.priors import GaussianProcess, HyperGaussianProcess, Prior
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded

AT_ONCE = 250
"""Datasets that a model predicts together; more would only need more memory."""


@dataclass(frozen=True)
class PilotTask:
    """A prior with questions whose exact answers are known."""

    prior: Prior
    num_points: int
    sizes: tuple[int, ...]
    truth: Callable[[Batch], Distribution]
    num_datasets: int
    """Datasets of each size, enough for a standard error of the mean gap below 0.002 nats."""
    num_queries: int = 1

    def questions(self, size: int, num_datasets: int, seed: int = 0) -> Batch:
        """Datasets that no training sees, the same for every pilot."""
        with seeded(seed, 1_000_000, size):
            return self.prior.sample(num_datasets, size + self.num_queries).split(size)


def answers_of(reference: Predictor) -> Callable[[Batch], Distribution]:
    """The posterior predictive of an exact predictor for tasks."""
    return lambda tasks: predict(reference, tasks)


def exact_gp(prior: GaussianProcess) -> Callable[[Batch], Distribution]:
    """The truth of a GP, cheap enough to be computed each time."""
    return answers_of(ExactGP(prior))


def oracle(prior: HyperGaussianProcess) -> Callable[[Batch], Distribution]:
    """The truth of a GP with hyper-priors, by importance sampling, as a table."""
    reference = HyperGPOracle(prior, pruned_weight=1e-5)

    def compute(tasks: Batch) -> Distribution:
        return joined([tabulated(answers_of(reference)(part)) for part in pieces(tasks, 10)])

    return lambda tasks: kept(repr(reference), Tabulated, tasks, compute)


def collapsed() -> Callable[[Batch], Distribution]:
    """The truth of the small Bayesian network."""
    reference = CollapsedBNN(SMALL)
    return lambda tasks: kept(f"{reference!r} as Categorical", Categorical, tasks, answers_of(reference))


HYPER_1D = HyperGaussianProcess(num_features=1)
GP_5D = GaussianProcess(num_features=5, lengthscale=0.6, noise=1e-4)
TASKS = {
    "quickstart": PilotTask(comparison.PRIOR, 24, comparison.CONTEXT_SIZES, exact_gp(comparison.PRIOR), 8_000),
    "gp-5d": PilotTask(GP_5D, 200, (1, 11, 51, 101, 191), exact_gp(GP_5D), 1_000, num_queries=4),
    "hyper-1d": PilotTask(HYPER_1D, 31, (5, 10, 15, 20, 25, 30), oracle(HYPER_1D), 500, num_queries=3),
    "bnn-small": PilotTask(SMALL, 101, (5, 20, 50, 100), collapsed(), 300, num_queries=50),
}


@dataclass(frozen=True)
class Judgement:
    """The gap of a model at each context size, and the floor of its head."""

    gaps: dict[int, Estimate]
    floors: dict[int, Estimate]

    @property
    def gap(self) -> Estimate:
        """The mean over context sizes."""
        return mean_of(list(self.gaps.values()))

    @property
    def floor(self) -> Estimate:
        """The mean over context sizes."""
        return mean_of(list(self.floors.values()))


def mean_of(estimates: list[Estimate]) -> Estimate:
    """The mean of independent estimates.

    >>> mean_of([Estimate(1.0, 0.3, 10), Estimate(2.0, 0.4, 10)])
    Estimate(mean=1.5, half_width=0.25, count=20)
    """
    count = len(estimates)
    half_width = sum(each.half_width**2 for each in estimates) ** 0.5 / count
    return Estimate(sum(each.mean for each in estimates) / count, half_width, sum(each.count for each in estimates))


@torch.no_grad()
def judged(model: Predictor, task: PilotTask, num_datasets: int) -> Judgement:
    """As `metrics.gap` and `metrics.floor`, both from one prediction, a few datasets at a time."""
    gaps, floors = {}, {}
    for size in task.sizes:
        tasks = task.questions(size, num_datasets)
        truth = task.truth(tasks)
        parts = zip(pieces(tasks, AT_ONCE), truth_pieces(truth, AT_ONCE), strict=True)
        found = [gap_and_floor(model, *part) for part in parts]
        gap, floor = (torch.cat(part) for part in zip(*found, strict=True))
        gaps[size], floors[size] = Estimate.over(gap.mean(-1)), Estimate.over(floor.mean(-1))
    return Judgement(gaps, floors)


def gap_and_floor(model: Predictor, tasks: Batch, truth: Distribution) -> tuple[torch.Tensor, torch.Tensor]:
    """KL(truth || model) of each query, and the least that the model's head can reach."""
    ppd = predict(model, tasks)
    return metrics.divergence(truth, ppd), metrics.divergence(truth, best_fit(ppd, truth))


def pieces(tasks: Batch, size: int) -> list[Batch]:
    """Parts of a batch with some datasets each, in order."""
    names = ("context_x", "context_y", "query_x", "query_y")
    parts = zip(*(getattr(tasks, name).split(size) for name in names), strict=True)
    return [Batch(*part) for part in parts]
