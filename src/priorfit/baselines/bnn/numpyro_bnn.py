"""`BayesianNetwork` as a model of NumPyro, and NumPyro's NUTS on it, compiled once for all datasets of a shape."""

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from priorfit.baselines.bnn.chains import Chains, ChainSettings
from priorfit.baselines.bnn.weights import layers, num_weights
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.numpyro_nuts import Program, compiled, run
from priorfit.data import Classes
from priorfit.extras import needs_extra
from priorfit.priors.bayesian_network import BayesianNetwork
from priorfit.seeding import derived_seed

with needs_extra("baselines"):
    import jax
    import numpyro
    from jax import numpy as jnp
    from numpyro import distributions as dist
    from numpyro.infer.util import potential_energy

SITE = "weights"

ROWS_AT_ONCE = 8
"""Contexts are padded to a multiple of this, so that those of similar size share one compiled program."""

START_RADIUS = 2.0
"""Chains start uniformly within this radius: the default of Pyro and of NumPyro."""

ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType({"tanh": jnp.tanh, "relu": jax.nn.relu})


class Data(NamedTuple):
    """A context, padded with rows of no weight."""

    x: Float[np.ndarray, "rows features"]
    y: Num[np.ndarray, " rows"]
    counts: Bool[np.ndarray, " rows"]


def numpyro_chains(
    prior: BayesianNetwork,
    settings: ChainSettings,
    x: Float[Tensor, "context features"],
    y: Num[Tensor, " context"],
) -> Chains:
    """Chains of NumPyro's NUTS with its default settings, in the dtype of ``x``.

    float32 is enough here: the chains accept or reject by energies of about a hundred nats, known to 1e-5. A prior
    with very little noise may need float64, which takes half as long again in large networks.
    """
    with jax.enable_x64(x.dtype == torch.float64):
        data = _filled_up(prior, x, y)
        before = time.perf_counter()
        program = _program(prior, settings.num_warmup, len(data.y), x.dtype)
        compile_seconds = time.perf_counter() - before
        deadline = Deadline(settings.time_limit)
        states = [_started(prior, program, derived_seed(settings.seed, i), data) for i in range(settings.num_chains)]
        visited = run(program, states, (settings.num_warmup, settings.num_samples), data, deadline)
    if visited is None:
        raise deadline.missed("NutsBNN", "warm-up")
    samples = torch.from_numpy(visited.positions).to(x.device)  # (chains, samples, weights)
    return Chains(samples, visited.num_divergences, samples.shape[1] < settings.num_samples, compile_seconds)


@lru_cache(maxsize=64)
def _program(prior: BayesianNetwork, num_warmup: int, num_rows: int, dtype: torch.dtype) -> Program:
    """The compiled program of a shape, cached, since compiling takes seconds."""
    data = _filled_up(prior, torch.zeros(num_rows, prior.num_features, dtype=dtype), torch.zeros(num_rows))

    def potential(weights: Any, *data: Any) -> Any:
        return potential_energy(_model, (prior, *data), {}, {SITE: weights})

    return compiled(potential, num_warmup, np.zeros(num_weights(prior), data.x.dtype), data)


def _started(prior: BayesianNetwork, program: Program, seed: int, data: Data) -> Any:
    weights = np.random.default_rng(seed).uniform(-START_RADIUS, START_RADIUS, num_weights(prior))
    return program.start(jax.random.key(seed % 2**31), weights.astype(data.x.dtype), data)


def _model(prior: BayesianNetwork, x: Any, y: Any, counts: Any) -> None:
    weights = numpyro.sample(SITE, dist.Normal(0.0, 1.0).expand([num_weights(prior)]).to_event(1))
    units = outputs(prior, weights, x)
    target: Any = dist.Normal(units[..., 0], sqrt(prior.noise))
    if isinstance(prior.outcome, Classes):
        target = dist.Categorical(logits=units)
    numpyro.sample("y", target.mask(counts).to_event(1), obs=y)


def outputs(prior: BayesianNetwork, weights: Any, x: Any) -> Any:
    """`BayesianNetwork.outputs` of one vector of weights, in JAX: (rows, outputs)."""
    units = x
    for layer, (weight, bias) in enumerate(layers(prior, weights)):
        if layer > 0 and prior.activation is not None:
            units = ACTIVATIONS[prior.activation](units)
        units = units @ weight + bias
    return units


def _filled_up(prior: BayesianNetwork, x: Float[Tensor, "context features"], y: Num[Tensor, " context"]) -> Data:
    num_rows = ROWS_AT_ONCE * max(1, -(-len(y) // ROWS_AT_ONCE))
    missing = (0, num_rows - len(y))
    dtype = np.int32 if isinstance(prior.outcome, Classes) else x.cpu().numpy().dtype
    return Data(
        np.pad(x.detach().cpu().numpy(), (missing, (0, 0))),
        np.pad(y.detach().cpu().numpy().astype(dtype), missing),
        np.arange(num_rows) < len(y),
    )
