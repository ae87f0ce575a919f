"""Whether the points of a dataset are independent given the latents: a network is shown the nearest other point too."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from priorfit.training.laws.network import WIDTH, LawNetwork, Numbers
from priorfit.training.laws.simulator import POINTS, SETTINGS, Draws, Simulator, descend, mean, steps_within
from priorfit.training.optimiser import Optimisers

JUDGED = 8
"""Batches on which it is measured what another point tells."""

FAR = 1e12
"""Squared distance of a point from itself, so that another one is the nearest."""


class AnotherPoint(nn.Module):
    """What the nearest other point of a dataset adds to the numbers of a point's law; nothing at first."""

    def __init__(self, seen: int, numbers: int) -> None:
        super().__init__()
        self.first, self.hidden, self.last = nn.Linear(seen, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, numbers)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        yield from (weight for weight in self.hidden.parameters() if weight.ndim > 1)

    def forward(self, seen: Numbers) -> Numbers:
        """What is added to the numbers of each point's law."""
        state = nn.functional.gelu(self.first(seen))
        return self.last(state + nn.functional.gelu(self.hidden(state)))


@dataclass(frozen=True)
class Neighbours:
    """Points of some datasets, the numbers of their laws, and what is seen of the nearest other point of each."""

    batch: Draws
    numbers: Numbers
    known: Numbers
    """Inputs of both points, and the latents."""
    residual: Numbers
    """That of the other point."""

    @classmethod
    @torch.no_grad()
    def of(cls, network: LawNetwork, place: int, batch: Draws) -> "Neighbours":
        """Find the nearest points."""
        numbers = network.heads[place](network(batch.x, batch.u))
        residual = network.forms[place].residual(numbers, batch.y).float()
        apart = (batch.x[:, :, None] - batch.x[:, None]).square().sum(-1)
        nearest = (apart + FAR * torch.eye(POINTS)).argmin(-1)[..., None]  # (datasets, points, 1)
        features = network.features(batch.x)
        theirs = [each.gather(1, nearest.expand(-1, -1, each.shape[-1])) for each in (features, residual)]
        return cls(batch, numbers, torch.cat([features, batch.u, theirs[0]], dim=-1), theirs[1])


def told_by_another(network: LawNetwork, place: int, simulator: Simulator, seconds: float) -> float:
    """Nats that the nearest other point of a dataset tells of a point whose latents are known.

    The gain over the law alone, or over a network that is shown a point of another dataset, whichever is less. The
    latter is 0 in expectation where points are independent, whatever the networks have learned.
    """
    form = network.forms[place]

    def neighbours() -> Neighbours:
        return Neighbours.of(network, place, simulator.new())

    found = neighbours()
    other = AnotherPoint(found.known.shape[-1] + found.residual.shape[-1], found.numbers.shape[-1])
    optimisers = Optimisers(other, SETTINGS)
    for _, rate in steps_within(seconds):
        found = neighbours()
        added = other(torch.cat([found.known, found.residual], dim=-1))
        descend(optimisers, mean(-form.log_prob(found.numbers + added, found.batch.y), found.batch), rate)
    gains = []
    with torch.no_grad():
        for _ in range(JUDGED):
            found = neighbours()
            shown = [torch.cat([found.known, each], dim=-1) for each in (found.residual, found.residual.roll(1, 0))]
            own, wrong = (form.log_prob(found.numbers + other(each), found.batch.y) for each in shown)
            alone = form.log_prob(found.numbers, found.batch.y)
            gains.append([float(mean(own - each, found.batch)) for each in (alone, wrong)])
    return float(torch.tensor(gains).mean(0).amin())
