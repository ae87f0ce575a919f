"""Pyro's NUTS with a time limit that is checked after each step, and a context in which Pyro leaves no trace."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.extras import needs_extra
from priorfit.seeding import seeded

with needs_extra("baselines"):
    import pyro
    from pyro.infer import NUTS


class Visited(NamedTuple):
    """The positions of a chain after its warm-up."""

    positions: Float[Tensor, "samples size"]
    num_divergences: int


@contextmanager
def inference(seed: int, *data: Tensor) -> Iterator[list[Tensor]]:
    """Run Pyro on copies of the data: seeded, with gradients whatever the caller has set, and leaving no trace.

    Pyro's checks of arguments are off, as its ``MCMC`` has it: they take a third of the time of a step, and a NaN on
    the way is a divergence.
    """
    with (
        seeded(seed),
        torch.inference_mode(False),
        torch.enable_grad(),
        pyro.validation_enabled(False),
        pyro.get_param_store().scope(),
    ):
        yield [tensor.detach().clone() for tensor in data]


def run(kernel: NUTS, site: str, num_steps: tuple[int, int], data: list[Tensor], deadline: Deadline) -> Visited | None:
    """A chain after warm-up and sampling, with fewer samples if the time is up; None if still warming up.

    Pyro's ``MCMC`` does the same steps but has no clock.
    """
    num_warmup, num_samples = num_steps
    kernel.setup(num_warmup, *data)
    state = kernel.initial_params
    for _ in range(num_warmup):
        state = kernel.sample(state)
        if deadline.is_past:
            return None
    positions = []
    while len(positions) < num_samples and not (positions and deadline.is_past):
        state = kernel.sample(state)
        positions.append(state[site].detach())
    return Visited(torch.stack(positions), len(kernel.diagnostics()["divergences"]))
