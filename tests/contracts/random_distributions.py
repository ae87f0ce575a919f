"""Many random distributions at once: what a rare branch breaks shows only among a hundred thousand parameters."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from contracts.distributions import Case, bounded, mixture, unbounded
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine
from priorfit.seeding import seeded

few_and_many = pytest.mark.parametrize(
    "count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)], ids=["ten_thousand", "hundred_thousand"]
)
"""How many random distributions there are in `make test`, and in `make test-slow`."""


@dataclass(frozen=True)
class Draws:
    """A family and how its parameters are drawn: a function of their number that gives float64 tensors."""

    family: Callable[..., Distribution]
    draw: Callable[[int], tuple[Tensor, ...]]
    marked: Callable[..., Case]
    """The contract's case of some parameters, with marks between which the density is smooth."""

    def parameters(self, count: int, seed: int) -> tuple[Tensor, ...]:
        with seeded(seed):
            return self.draw(count)

    def distribution(self, count: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Distribution:
        return self.family(*(parameter.to(dtype) for parameter in self.parameters(count, seed)))

    def case(self, count: int, seed: int = 0) -> Case:
        """Few enough of them for numerical integrals."""
        return self.marked(*self.parameters(count, seed))


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def _powers(low: float, high: float, *shape: int) -> Tensor:
    """Powers of ten between two exponents."""
    return 10 ** (low + (high - low) * torch.rand(*shape, dtype=torch.float64))


def _weights(count: int, entries: int) -> Tensor:
    """Logits from nearly equal to decided, a fifth of the entries dropped, the first never."""
    logits = 10 * torch.rand(count, 1, dtype=torch.float64) * _normal(count, entries)
    dropped = torch.rand(count, entries) < 0.2
    dropped[:, 0] = False
    order = torch.rand(count, entries).argsort(-1)
    return logits.masked_fill(dropped, -torch.inf).gather(-1, order)


def _shifts(count: int) -> Tensor:
    """A hundred times the unit for half of them, and none for the others."""
    return 100 * _normal(count) * (torch.rand(count) < 0.5)


def _usual_mixtures(count: int) -> tuple[Tensor, ...]:
    return 2 * _normal(count, 5), _normal(count, 5), _normal(count, 5).exp()


def _hard_mixtures(count: int) -> tuple[Tensor, ...]:
    loc = _normal(count, 6) * _powers(-2, 2, count, 1) + _shifts(count)[:, None]
    return _weights(count, 6), loc, _powers(-4, 2, count, 6)


def _hard_buckets(count: int) -> tuple[Tensor, ...]:
    widths = _powers(-4, 1, count, 12)
    start = (_normal(count) + _shifts(count))[:, None]
    return torch.cat([start, start + widths.cumsum(-1)], dim=-1), _weights(count, 12)


def _many_buckets(count: int) -> tuple[Tensor, ...]:
    """The buckets of a head: many, of nearly equal mass, with borders that all share."""
    borders = torch.cat([_normal(1), _powers(-3, 0, 40)]).cumsum(-1)
    return borders, _normal(count, 40)


def _of_any_unit(draw: Callable[[int], tuple[Tensor, ...]]) -> Callable[[int], tuple[Tensor, ...]]:
    def drawn(count: int) -> tuple[Tensor, ...]:
        scale = _powers(-3, 3, count) * torch.where(torch.rand(count) < 0.5, -1, 1)
        return *draw(count), scale, scale * _shifts(count)

    return drawn


def _mapped(family: Callable[..., Distribution]) -> Callable[..., Distribution]:
    def build(*parameters: Tensor) -> Distribution:
        *own, scale, shift = parameters
        return affine(family(*own), scale, shift)

    return build


def _mapped_case(marked: Callable[..., Case], family: Callable[..., Distribution]) -> Callable[..., Case]:
    def build(*parameters: Tensor) -> Case:
        *own, scale, shift = parameters
        return Case(_mapped(family), parameters, (scale * marked(*own).marks + shift).sort(0).values)

    return build


def _affine(draws: Draws) -> Draws:
    return Draws(_mapped(draws.family), _of_any_unit(draws.draw), _mapped_case(draws.marked, draws.family))


OWN = {
    "usual_mixtures": Draws(NormalMixture, _usual_mixtures, mixture),
    "hard_mixtures": Draws(NormalMixture, _hard_mixtures, mixture),
    "bounded": Draws(BoundedRiemann, _hard_buckets, bounded),
    "unbounded": Draws(UnboundedRiemann, _hard_buckets, unbounded),
    "bounded_shared_borders": Draws(BoundedRiemann, _many_buckets, bounded),
    "unbounded_shared_borders": Draws(UnboundedRiemann, _many_buckets, unbounded),
}
DRAWS = OWN | {f"affine_{name}": _affine(OWN[name]) for name in ("hard_mixtures", "bounded", "unbounded")}
