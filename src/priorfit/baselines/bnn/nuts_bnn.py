"""The No-U-Turn sampler on all weights of a Bayesian network, by Pyro as in the paper, or by NumPyro."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor
from torch.distributions import Categorical

from priorfit.baselines.bnn.chains import Chains, ChainSettings
from priorfit.baselines.bnn.numpyro_bnn import numpyro_chains
from priorfit.baselines.bnn.predictive import averaged, sampled_means
from priorfit.baselines.bnn.pyro_bnn import pyro_chains
from priorfit.baselines.bnn.weights import check_samplable
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.one_by_one import one_by_one
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.priors.bayesian_network import BayesianNetwork

with needs_extra("baselines"):
    from pyro.ops.stats import split_gelman_rubin

BACKENDS: Mapping[str, Callable[[BayesianNetwork, ChainSettings, Tensor, Tensor], Chains]] = MappingProxyType(
    {"pyro": pyro_chains, "numpyro": numpyro_chains}
)


@dataclass(frozen=True)
class NutsBNNPosterior:
    """Sampled weights of each dataset; ``chains`` has the last axis of the batch fastest."""

    prior: BayesianNetwork
    batch_shape: tuple[int, ...]
    chains: Sequence[Chains]

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Categorical | NormalMixture:
        """The average over all samples: a Categorical for classes, else a `NormalMixture`."""
        return averaged(self.prior, [each.samples.flatten(0, 1) for each in self.chains], query_x)

    def r_hat(self, query_x: Float[Tensor, "*batch query features"]) -> Float[Tensor, "*batch query"]:
        """The split R-hat of the predicted mean (of the probabilities of classes) at each query; 1 if converged."""
        x = query_x.reshape(len(self.chains), *query_x.shape[-2:])
        each = [_r_hat(self.prior, chains.samples, points) for chains, points in zip(self.chains, x, strict=True)]
        return torch.stack(each).reshape(query_x.shape[:-1])

    @property
    def num_divergences(self) -> Int[Tensor, "*batch"]:
        """How many steps after the warm-up diverged, for each dataset."""
        return torch.tensor([each.num_divergences for each in self.chains], dtype=torch.int64).reshape(self.batch_shape)

    @property
    def is_cut_short(self) -> Bool[Tensor, "*batch"]:
        """Whether the time limit came before all samples, for each dataset."""
        return torch.tensor([each.is_cut_short for each in self.chains], dtype=torch.bool).reshape(self.batch_shape)

    @property
    def compile_seconds(self) -> float:
        """How long NumPyro's programs were compiled for these datasets; not counted by the time limit."""
        return sum(each.compile_seconds for each in self.chains)


@dataclass(frozen=True)
class NutsBNN:
    """The posterior of a `BayesianNetwork` of fixed form by NUTS; the answers of all sampled networks are averaged.

    The paper used Pyro with one chain and as many steps of warm-up as samples. NumPyro runs the same algorithm
    in compiled code, many times faster; the first dataset of a shape waits for the compiler (see
    `NutsBNNPosterior.compile_seconds`). Chains run in the dtype of the context, from one seed for all datasets.

    Args:
        prior: a network of fixed form, so without ``architecture``.
        num_samples: number of samples of each chain.
        num_warmup: None for as many as there are samples.
        backend: "numpyro" or "pyro".
        num_chains: several run side by side in NumPyro only.
        seed: the same for every dataset.
        time_limit: seconds for one dataset. If it ends after the warm-up, the samples so far are the answer.

    >>> from priorfit.data import Classes
    >>> prior = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))
    >>> tasks = prior.sample(batch_size=2, num_points=10).split(num_context=5)
    >>> posterior = NutsBNN(prior, num_samples=4, backend="pyro").condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).probs.shape, posterior.chains[0].samples.shape
    (torch.Size([2, 5, 2]), torch.Size([1, 4, 10]))
    """

    prior: BayesianNetwork
    num_samples: int = 256
    num_warmup: int | None = None
    backend: Literal["pyro", "numpyro"] = "numpyro"
    num_chains: int = 1
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_samplable(self.prior, "NutsBNN")
        Deadline(self.time_limit)
        for name in ("num_samples", "num_warmup", "num_chains"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name} must be at least 1; got {count}.")
        if self.backend not in BACKENDS:
            raise InputError(f"backend must be one of {', '.join(BACKENDS)}; got {self.backend!r}.")
        if self.backend == "pyro" and self.num_chains > 1:
            raise InputError(f"Pyro runs one chain here; got num_chains = {self.num_chains}. Use backend='numpyro'.")

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> NutsBNNPosterior:
        """See `Predictor.condition`; all sampling happens here, one dataset after the other."""
        num_warmup = self.num_samples if self.num_warmup is None else self.num_warmup
        settings = ChainSettings(self.num_samples, num_warmup, self.num_chains, self.seed, self.time_limit)
        run = BACKENDS[self.backend]
        chains = one_by_one(context_x, context_y, lambda x, y: run(self.prior, settings, x, y))
        return NutsBNNPosterior(self.prior, context_y.shape[:-1], chains)


def _r_hat(
    prior: BayesianNetwork, samples: Float[Tensor, "chains samples weights"], x: Float[Tensor, "query features"]
) -> Float[Tensor, " query"]:
    means = sampled_means(prior, samples.flatten(0, 1), x)  # (query, chains x samples, means)
    r_hat = split_gelman_rubin(means.unflatten(1, samples.shape[:2]), chain_dim=1, sample_dim=2)  # (query, means)
    # R-hat is 0 / 0 where all samples agree to the last digit: such a query has converged
    return r_hat.nan_to_num(nan=1.0).amax(-1)
