"""What a model is measured against: the exact posterior, what comes closest to it for its prior, or nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch.distributions import Distribution

from benchmarks.common.pilot_tasks import oracle
from priorfit.baselines.exact import exact_or_none
from priorfit.baselines.exact.collapsed_bnn import CollapsedBNN
from priorfit.data import Batch
from priorfit.distributions.class_probabilities import class_log_probs
from priorfit.predictor import Predictor, predict
from priorfit.priors import BayesianNetwork, HyperGaussianProcess, Prior

CONTEXT_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
SEED = 1
"""The seed of references that sample."""


@dataclass(frozen=True)
class Reference:
    """A reference predictor, and on how many datasets it is affordable."""

    name: str
    answer: Callable[[Batch], tuple[Distribution | None, dict[str, float]]]
    """The predictive of all queries, and what is to be known about it; None where no truth is known."""
    num_datasets: int
    sizes: tuple[int, ...] = CONTEXT_SIZES
    num_queries: int = 4


def reference_of(prior: Prior) -> Reference:
    """The most accurate reference for a prior."""
    closed = exact_or_none(prior)
    if closed is not None:
        return Reference("exact", partial(predicted, closed), 2_000)
    if isinstance(prior, HyperGaussianProcess):
        return Reference("HyperGPOracle", partial(from_oracle, prior), 200, sizes=(5, 10, 15, 20, 25, 30))
    if not isinstance(prior, BayesianNetwork):
        return Reference("none is known", unknown, 2_000)
    if prior.activation is None:
        return Reference("CollapsedBNN", partial(collapsed, prior), 500)
    return Reference("long run of NUTS", partial(sampled, prior), 20, sizes=(100,), num_queries=200)


def unknown(tasks: Batch) -> tuple[None, dict[str, float]]:
    """No truth: a model is then measured by what comes, its NLL, accuracy and coverage."""
    return None, {}


def predicted(predictor: Predictor, tasks: Batch) -> tuple[Distribution, dict[str, float]]:
    """The posterior predictive of a predictor."""
    return predict(predictor, tasks), {}


def from_oracle(prior: HyperGaussianProcess, tasks: Batch) -> tuple[Distribution, dict[str, float]]:
    """`HyperGPOracle` as a table, kept in ``build/references``: minutes the first time."""
    return oracle(prior)(tasks), {}


def collapsed(prior: BayesianNetwork, tasks: Batch) -> tuple[Distribution, dict[str, float]]:
    """`CollapsedBNN`, with the Monte Carlo error of the mean NLL (one standard deviation)."""
    posterior = CollapsedBNN(prior, seed=SEED).condition(tasks.context_x, tasks.context_y)
    error = posterior.standard_error(tasks.query_x, tasks.query_y)
    return posterior.predict(tasks.query_x), {"standard_error": error}


def sampled(prior: BayesianNetwork, tasks: Batch) -> tuple[Distribution, dict[str, float]]:
    """Four chains of NumPyro's NUTS, with the largest R-hat of all queries: a minute for each dataset."""
    from priorfit.baselines.bnn.long_nuts_bnn import long_chains, long_run  # the extra is needed by these models alone

    log_probs, r_hats = [], []
    for index in range(len(tasks.query_y)):
        parts = (getattr(tasks, name)[index] for name in ("context_x", "context_y", "query_x", "query_y"))
        one = Batch(*parts)
        posterior = long_run(long_chains(prior, SEED), one)
        log_probs.append(class_log_probs(posterior.predict(one.query_x)))
        r_hats.append(float(posterior.r_hat(one.query_x).max()))
        print(f"dataset {index + 1} of {len(tasks.query_y)}: R-hat {r_hats[-1]:.4f}", flush=True)
    return torch.distributions.Categorical(logits=torch.stack(log_probs)), {"largest_r_hat": max(r_hats)}
