"""NumPyro's NUTS for many datasets of one shape: compiled once, with a time limit that is checked every few steps."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from priorfit.baselines.deadline import Deadline
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    import jax
    from jax import numpy as jnp
    from numpyro.infer.hmc import hmc

STEPS_AT_ONCE = 8
"""Steps of a chain between two checks of the time limit."""

Potential = Callable[..., Any]
"""From a position, a vector, and the arrays of a dataset to -log density there, up to a constant."""


class Program(NamedTuple):
    """NUTS compiled for one shape of datasets."""

    start: Callable[[Any, Any, Sequence[Any]], Any]
    """The state of a chain, from a random key, a position and a dataset."""
    advance: Callable[[Any, int, Sequence[Any]], tuple[Any, Any, Any]]
    """The state after at most `STEPS_AT_ONCE` steps, the position after each, and how many of them diverged."""


class Visited(NamedTuple):
    """The positions of chains after their warm-up."""

    positions: Float[np.ndarray, "chains samples size"]
    num_divergences: int


def compiled(
    potential: Potential, num_warmup: int, position: Float[np.ndarray, " size"], data: Sequence[Any]
) -> Program:
    """NUTS with its default settings, for positions and datasets like these; this takes seconds."""
    init_kernel, sample_kernel = hmc(potential_fn_gen=lambda *of: lambda z: potential(z, *of), algo="NUTS")

    def start(key: Any, z: Any, data: Sequence[Any]) -> Any:
        return init_kernel(z, num_warmup=num_warmup, model_args=data, rng_key=key)

    def advance(state: Any, count: Any, data: Sequence[Any]) -> tuple[Any, Any, Any]:
        def step(i: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            following = sample_kernel(carry[0], model_args=data)
            return following, carry[1].at[i].set(following.z), carry[2] + following.diverging

        visited = jnp.zeros((STEPS_AT_ONCE, *position.shape), position.dtype)
        return jax.lax.fori_loop(0, count, step, (state, visited, 0))

    key = jax.random.key(0)
    compiled_start = jax.jit(start).lower(key, position, data).compile()
    state = compiled_start(key, position, data)
    return Program(compiled_start, jax.jit(advance).lower(state, 0, data).compile())


def run(
    program: Program, states: list[Any], num_steps: tuple[int, int], data: Sequence[Any], deadline: Deadline
) -> Visited | None:
    """The chains after warm-up and sampling, with fewer samples if the time is up; None if still warming up.

    Chains take turns. Under ``vmap`` all would wait for the longest path of each step, and batches of small products
    of matrices are slow: four chains of the larger network of the paper took three times as long.
    """
    num_warmup, num_samples = num_steps
    for count in _turns(num_warmup):
        states = jax.block_until_ready([program.advance(state, count, data)[0] for state in states])
        if deadline.is_past:
            return None
    visited, num_divergences = [], 0
    for count in _turns(num_samples):
        advanced = [program.advance(state, count, data) for state in states]
        states = [state for state, _, _ in advanced]
        visited.append(np.stack([np.asarray(positions)[:count] for _, positions, _ in advanced]))
        num_divergences += sum(int(diverged) for _, _, diverged in advanced)
        if deadline.is_past:
            break
    return Visited(np.concatenate(visited, axis=1), num_divergences)


def _turns(num_steps: int) -> Iterator[int]:
    """The numbers of steps of each turn, `STEPS_AT_ONCE` at most."""
    for done in range(0, num_steps, STEPS_AT_ONCE):
        yield min(STEPS_AT_ONCE, num_steps - done)
