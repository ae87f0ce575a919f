"""NumPyro's NUTS for two of the own priors: standard Normal coordinates, compiled once for each context size."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
import torch
from jax import numpy as jnp
from jax.scipy.special import ndtr as jax_ndtr
from jaxtyping import Float
from torch import Tensor
from torch.special import ndtr

from benchmarks.common.quadrature import values_at
from benchmarks.pilots.own_priors_models import own_prior
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.numpyro_nuts import Program, compiled, run
from priorfit.importance import ParticlePosterior, Particles

NOISE = 0.05


def waves(z: Any, x: Any) -> Any:
    """The mean of `own_priors.waves` at standard Normal coordinates of its latents."""
    levels = jax_ndtr(z)
    return jnp.sin((2 + 8 * levels[0]) * x) * jnp.exp(-3 * levels[1] * x)


def growth(z: Any, x: Any) -> Any:
    """The mean of `own_priors.growth` at standard Normal coordinates of its latents."""
    levels = jax_ndtr(z)
    return (0.5 + 1.5 * levels[0]) * jax.nn.sigmoid((3 + 12 * levels[1]) * (x - 0.2 - 0.6 * levels[2]))


MEANS: dict[str, Callable[[Any, Any], Any]] = {"waves": waves, "growth": growth}


@lru_cache
def program(name: str, num_context: int, num_warmup: int) -> Program:
    """NUTS for datasets of this size; compiling takes seconds."""

    def potential(z: Any, x: Any, y: Any) -> Any:
        return jnp.square(z).sum() / 2 + jnp.square((y - MEANS[name](z, x)) / NOISE).sum() / 2

    data = (np.zeros(num_context), np.zeros(num_context))
    return compiled(potential, num_warmup, np.zeros(len(own_prior(name).latents)), data)


def nuts(
    name: str, x: Float[Tensor, "points 1"], y: Float[Tensor, " points"], num_steps: tuple[int, int]
) -> ParticlePosterior:
    """The draws of one chain, warm-up and samples, as a posterior of one dataset."""
    with jax.enable_x64(True):
        chain = program(name, len(y), num_steps[0])
        data = (x[:, 0].double().numpy(), y.double().numpy())
        state = chain.start(jax.random.key(0), np.zeros(len(own_prior(name).latents)), data)
        visited = run(chain, [state], num_steps, data, Deadline(None))
    assert visited is not None  # there is no limit of time
    levels = ndtr(torch.from_numpy(visited.positions[0]))  # (samples, latents)
    latents = {key: value[None].to(x.dtype) for key, value in values_at(own_prior(name), levels).items()}
    equal = torch.zeros(1, len(levels), dtype=torch.float64)
    return ParticlePosterior(own_prior(name), Particles(latents, equal), torch.Size((1,)))
