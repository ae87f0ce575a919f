"""NumPyro's NUTS on the hyper-parameters of a Gaussian process, compiled once for all datasets of similar size."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gp.chain import GPChain, GPChainSettings, GPSampler, hyper_coordinates, start_position
from priorfit.baselines.gp.gamma_coordinates import LOG_SMALLEST
from priorfit.baselines.numpyro_nuts import Program, compiled, run
from priorfit.extras import needs_extra
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess
from priorfit.seeding import derived_seed

with needs_extra("baselines"):
    import jax
    from jax import numpy as jnp
    from jax.scipy.linalg import solve_triangular
    from jax.scipy.special import log_ndtr

ROWS_AT_ONCE = 8
"""Contexts are padded to a multiple of this, so that those of similar size share one compiled program."""

KERNELS: Mapping[str, Callable[[jax.Array], jax.Array]] = MappingProxyType(
    {
        "rbf": lambda r: jnp.exp(-jnp.square(r) / 2),
        "matern12": lambda r: jnp.exp(-r),
        "matern32": lambda r: (1 + math.sqrt(3) * r) * jnp.exp(-math.sqrt(3) * r),
        "matern52": lambda r: (1 + math.sqrt(5) * r + 5 / 3 * jnp.square(r)) * jnp.exp(-math.sqrt(5) * r),
    }
)
"""The kernels of `priorfit.priors.kernels` in JAX."""


class Prior(NamedTuple):
    """The fields of `GammaCoordinates`, and the noise floor: of numpy or of JAX, as all of `Data`."""

    concentration: Any  # (3)
    rate: Any  # (3)
    centre: Any  # (3)
    spread: Any  # (3)
    noise_floor: Any  # ()


class Data(NamedTuple):
    """A prior and a dataset, padded with rows of no weight."""

    prior: Prior
    distances: Any  # (rows, rows)
    y: Any  # (rows)
    counts: Any  # (rows)


def sampler(prior: HyperGaussianProcess, settings: GPChainSettings, num_context: int) -> GPSampler:
    """A sampler for datasets of ``num_context`` points; what must be compiled is compiled here."""
    coordinates = hyper_coordinates(prior)
    parts = coordinates.concentration, coordinates.rate, coordinates.centre, coordinates.spread
    constants = Prior(*(part.numpy() for part in parts), noise_floor=np.asarray(prior.noise_floor))
    start = start_position(coordinates).numpy()
    program = _program(prior.kernel, settings.num_warmup, _num_rows(num_context))

    def run_chain(
        distances: Float[Tensor, "context context"], y: Float[Tensor, " context"], deadline: Deadline
    ) -> GPChain:
        with jax.enable_x64(True):
            data = _filled_up(constants, distances.numpy(), y.numpy())
            state = program.start(jax.random.key(derived_seed(settings.seed)), start, data)
            visited = run(program, [state], (settings.num_warmup, settings.num_samples), data, deadline)
        if visited is None:
            raise deadline.missed("NutsGP", "warm-up")
        positions = torch.from_numpy(visited.positions[0])
        return GPChain(positions, visited.num_divergences, is_cut_short=len(positions) < settings.num_samples)

    return run_chain


@lru_cache(maxsize=64)
def _program(kernel: str, num_warmup: int, num_rows: int) -> Program:
    """NUTS for datasets of ``num_rows`` and any prior of this kernel."""
    some = np.ones(3)
    prior = Prior(some, some, some, some, noise_floor=np.ones(()))
    data = _filled_up(prior, np.ones((num_rows, num_rows)), np.ones(num_rows))
    with jax.enable_x64(True):
        return compiled(lambda z, *of: -_log_joint(kernel, z, Data(*of)), num_warmup, some, data)


def _log_joint(kernel: str, z: Any, data: Data) -> Any:
    """log p(z, y), up to a constant, with the function values integrated out."""
    lengthscale, outputscale, draw = jnp.exp(jnp.maximum(_log_draw(data.prior, z), LOG_SMALLEST))
    covariance = outputscale * KERNELS[kernel](data.distances / lengthscale)
    # rows of no weight are independent of all others and have y = 0 and variance 1: they add 0
    covariance = jnp.where(data.counts[:, None] & data.counts, covariance, 0)
    noise = jnp.where(data.counts, data.prior.noise_floor + draw, 1)
    factor = jnp.linalg.cholesky(covariance + jnp.diag(noise))
    white = solve_triangular(factor, data.y, lower=True)
    log_evidence = -white @ white / 2 - jnp.log(jnp.diagonal(factor)).sum()
    return log_evidence + _log_density(data.prior, z).sum()


def _log_draw(prior: Prior, z: Any) -> Any:
    """`GammaCoordinates.draw` in JAX, as a logarithm."""
    return prior.centre + prior.spread * z + log_ndtr(z) / prior.concentration


def _log_density(prior: Prior, z: Any) -> Any:
    log_draw = _log_draw(prior, z)
    hazard = jnp.exp(-jnp.square(z) / 2 - math.log(2 * math.pi) / 2 - log_ndtr(z))
    slope = prior.spread + hazard / prior.concentration
    return prior.concentration * log_draw - prior.rate * jnp.exp(log_draw) + jnp.log(slope)


def _filled_up(prior: Prior, distances: Float[np.ndarray, "context context"], y: Float[np.ndarray, " context"]) -> Data:
    missing = (0, _num_rows(len(y)) - len(y))
    counts = np.pad(np.ones(len(y), dtype=bool), missing)
    return Data(prior, np.pad(distances, (missing, missing)), np.pad(y, missing), counts)


def _num_rows(num_context: int) -> int:
    return ROWS_AT_ONCE * max(1, -(-num_context // ROWS_AT_ONCE))
