"""Draws of a simulator at chosen latents, and what learns from them: steps within some seconds."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.importance.cells import WIDER
from priorfit.importance.coordinated import Program
from priorfit.priors.program import ProgramPrior
from priorfit.training.laws.network import LawNetwork
from priorfit.training.optimiser import Optimisers, OptimiserSettings
from priorfit.training.schedule import learning_rate_factor

DATASETS, POINTS = 256, 8
"""Datasets of a batch, and points of each."""

MOST_KEPT = 256
"""Batches of a slow simulator that are kept to learn from again."""

SETTINGS = OptimiserSettings(learning_rate=6e-3)


@dataclass(frozen=True)
class Draws:
    """Points of some datasets: inputs, coordinates of the latents, targets in the law's units, and which are finite."""

    x: Float[Tensor, "datasets points features"]
    u: Float[Tensor, "datasets points coordinates"]
    y: Num[Tensor, "datasets points"]
    is_finite: Tensor


class Simulator:
    """Draws of a prior, half of them at latents that are spread wider than the prior, as the centres of cells are."""

    def __init__(self, prior: ProgramPrior, network: LawNetwork) -> None:
        self.prior, self.network, self.program = prior, network, Program(prior)
        self.drawing = self.learning = 0.0
        self.kept: list[Draws] = []

    def batch(self) -> Draws:
        """A new batch, or one that was seen before where drawing has taken more than half of the time."""
        started = time.perf_counter()
        if self.kept and self.drawing > self.learning:
            return self.kept[int(torch.randint(len(self.kept), ()))]
        found = self.new(WIDER)
        self.kept = [*self.kept[1 - MOST_KEPT :], found]
        self.drawing += time.perf_counter() - started
        return found

    @torch.no_grad()
    def new(self, wider: float = 1.0) -> Draws:
        """A new batch; half of its latents have coordinates so many times as wide as under the prior."""
        x = self.prior.inputs.sample(DATASETS, POINTS, self.prior.num_features)
        u = torch.randn(DATASETS, self.program.dimensions)
        u[::2] *= wider
        latents = self.program.latents(u)
        y = self.network.in_units(self.prior(x.clone(), **self.prior.placed(latents, x)))
        known = self.network.coordinates(latents)[:, None].expand(-1, POINTS, -1)
        is_finite = y.isfinite() & known.isfinite().all(-1)
        return Draws(x, known.nan_to_num(), torch.where(is_finite, y, 0).to(y.dtype), is_finite)


def steps_within(seconds: float) -> Iterator[tuple[float, float]]:
    """Steps until the time is over, two at least: the share of them that is done, and a factor of the learning rate."""
    started, step, steps = time.perf_counter(), 0, 2
    while step < steps:
        yield step / steps, learning_rate_factor(step, steps, SETTINGS.warmup)
        step += 1
        steps = max(2, step, int(seconds * step / (time.perf_counter() - started)))


def mean(each: Float[Tensor, "datasets points"], batch: Draws) -> Float[Tensor, ""]:
    """The mean over targets that are finite."""
    return torch.where(batch.is_finite, each, 0.0).sum() / batch.is_finite.sum().clamp_min(1)


def descend(optimisers: Optimisers, loss: Float[Tensor, ""], rate: float) -> None:
    """One step downhill."""
    optimisers.zero_grad()
    loss.backward()
    optimisers.step(rate)
