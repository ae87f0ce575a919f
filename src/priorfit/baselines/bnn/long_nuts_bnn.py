"""The reference for Bayesian networks that do not collapse: NUTS until its chains agree."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.baselines.bnn.chains import Chains
from priorfit.baselines.bnn.nuts_bnn import NutsBNN, NutsBNNPosterior
from priorfit.baselines.one_by_one import one_by_one
from priorfit.data import Batch
from priorfit.errors import InputError
from priorfit.priors.bayesian_network import BayesianNetwork

LENGTHS = (1_000, 4_000, 16_000)
MOST_R_HAT = 1.01


def long_chains(prior: BayesianNetwork, seed: int = 0) -> NutsBNN:
    """Four chains of NumPyro's NUTS with 1,000 steps of warm-up."""
    return NutsBNN(prior, LENGTHS[0], num_warmup=1_000, num_chains=4, seed=seed)


def long_run(
    nuts: NutsBNN, tasks: Batch, lengths: Sequence[int] = LENGTHS, most_r_hat: float = MOST_R_HAT
) -> NutsBNNPosterior:
    """Run ``nuts`` on each dataset with the first of ``lengths`` samples at which its chains agree about all queries.

    They agree where R-hat of the predicted mean (the probabilities of classes) is at most ``most_r_hat`` at each
    query. Where they do not at the last length, its samples are given all the same: look at
    `NutsBNNPosterior.r_hat`. All samples are kept in memory, so pass a few datasets at a time.

    >>> from priorfit.data import Classes
    >>> prior = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))
    >>> tasks = prior.sample(batch_size=2, num_points=10).split(num_context=5)
    >>> posterior = long_run(NutsBNN(prior, 4, backend="pyro"), tasks, lengths=(4, 8), most_r_hat=1000.0)
    >>> [chains.samples.shape[1] for chains in posterior.chains]
    [4, 4]
    """
    if not lengths:
        raise InputError("long_run needs at least one length.")
    queries = iter(tasks.query_x.reshape(-1, *tasks.query_x.shape[-2:]))

    def agreeing(x: Float[Tensor, "context features"], y: Num[Tensor, " context"]) -> Chains:
        query_x = next(queries)
        for length in lengths:
            posterior = replace(nuts, num_samples=length).condition(x, y)
            if bool((posterior.r_hat(query_x) <= most_r_hat).all()):
                break
        return posterior.chains[0]  # pyright: ignore[reportPossiblyUnboundVariable]

    with torch.no_grad():
        chains = one_by_one(tasks.context_x, tasks.context_y, agreeing)
    return NutsBNNPosterior(nuts.prior, tasks.context_y.shape[:-1], chains)
