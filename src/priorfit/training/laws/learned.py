"""A simulator's law of targets given its latents, learned from draws, so that cells can be read off it.

A function that draws tells nothing of its likelihood, but its draws do: p(y | x, latents) is a regression on few
numbers, which a small network learns in seconds. Where the points of a dataset are independent given the latents, the
product over points is their likelihood; whether they are is tested (`another_point`).
"""

import time
from dataclasses import dataclass, field
from typing import ClassVar, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.importance.coordinated import real_latents
from priorfit.priors.prior import Prior
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded
from priorfit.training.laws.another_point import told_by_another
from priorfit.training.laws.network import LawNetwork
from priorfit.training.laws.simulator import SETTINGS, Simulator, descend, mean, steps_within
from priorfit.training.optimiser import Optimisers

LOOKED_OVER = 0.6
"""The share of the time in which all forms of a law are learned; the one that is chosen is learned to the end.
Before, what is not learned yet looks like heavy tails."""

RECENT = 20
"""Batches over which forms are compared."""

WORTH = 0.01
"""Nats a point by which a form must be better than a cheaper one."""

TESTED = 0.15
"""The share of the time in which another network learns whether points depend on each other."""

DEPENDENT = 0.005
"""Nats that another point may tell of a point whose latents are known: with more no product over points is their
likelihood, or the law is not learned yet."""


@dataclass(frozen=True)
class LearnedLaw(ProgramPrior):
    """A program whose law a network has learned: smooth in x, and as good as the network is."""

    is_smooth: ClassVar[bool] = True

    drawn: ProgramPrior | None = field(default=None, metadata={"described": False})
    steps: int = 0
    seconds: float = 0.0
    told: float = 0.0
    """Nats that another point tells of a point whose latents are known."""

    @property
    def record(self) -> dict[str, float]:
        """For the card of a network: how the law was learned."""
        return {"steps": self.steps, "seconds": self.seconds, "told_by_another_point": self.told}

    @property
    def factorises(self) -> bool:
        """Whether the points of a dataset are independent given the latents, as far as was seen."""
        return self.told <= DEPENDENT


def is_learnable(prior: Prior) -> TypeGuard[ProgramPrior]:
    """Whether a prior draws, and has real latents of which quantiles are known."""
    return isinstance(prior, ProgramPrior) and not prior.has_law and real_latents(prior)


def learned_law(prior: ProgramPrior, seconds: float, seed: int) -> LearnedLaw:
    """Learn the law of a simulator from draws, in so many seconds."""
    started, network = time.perf_counter(), LawNetwork(prior, prior.latents, seed)
    simulator = Simulator(prior, network)
    with seeded(seed):
        place, steps = trained(network, simulator, (1 - TESTED) * seconds - (time.perf_counter() - started))
        told = told_by_another(network, place, simulator, TESTED * seconds)

    def law(x: Float[Tensor, "batch points features"], **latents: Tensor) -> Distribution:
        return network.law(x, latents, place)

    known = {name: getattr(prior, name) for name in ("num_features", "outcome", "latents", "inputs", "name", "doc")}
    spent = time.perf_counter() - started
    return LearnedLaw(law, has_law=True, drawn=prior, steps=steps, seconds=spent, told=told, **known)


def trained(network: LawNetwork, simulator: Simulator, seconds: float) -> tuple[int, int]:
    """Train all forms of the law, then the one that is worth its cost; its place and the steps that were taken."""
    optimisers, steps = Optimisers(network, SETTINGS), 0
    places, recent = list(range(len(network.forms))), list[list[float]]()
    for done, rate in steps_within(seconds):
        batch, begun = simulator.batch(), time.perf_counter()
        hidden = network(batch.x, batch.u)
        losses = [mean(-network.log_prob(hidden, batch.y, place), batch) for place in places]
        descend(optimisers, torch.stack(losses).sum(), rate)
        steps += 1
        simulator.learning += time.perf_counter() - begun
        if len(places) > 1:
            recent = [*recent[1 - RECENT :], [loss.item() for loss in losses]]
            if done > LOOKED_OVER:
                places = [chosen(recent)]
    return (places[0] if len(places) == 1 else chosen(recent)), steps


def chosen(recent: list[list[float]]) -> int:
    """The cheapest form that no other betters by `WORTH` nats."""
    losses = torch.tensor(recent).mean(0)
    return int((losses <= losses.min() + WORTH).nonzero()[0])
