"""Every distribution of reals, once: a new one is a new line here, and all of `test_distributions.py` runs on it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from scipy.special import roots_legendre
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann
from priorfit.seeding import seeded

REACH = torch.cat([torch.arange(0, 10.0), torch.tensor([12.0, 16.0, 24.0, 38.0])]).double()
REACH = torch.cat([-REACH.flip(0), REACH[1:]])


@dataclass(frozen=True)
class Case:
    """A family, its parameters, and marks: between two neighbours the density is smooth, beyond the outer ones 0."""

    family: Callable[..., Distribution]
    parameters: tuple[Tensor, ...]
    marks: Tensor  # (marks, *batch)

    def distribution(self, dtype: torch.dtype = torch.float64) -> Distribution:
        return self.family(*(parameter.to(dtype) for parameter in self.parameters))


def integral(function: Callable[[Tensor], Tensor], marks: Tensor) -> Tensor:
    """The integral of a function over the pieces between marks (marks, *batch), for each batch element."""
    nodes, weights = (torch.from_numpy(part).reshape(-1, *(1,) * marks.ndim) for part in roots_legendre(48))
    marks = marks.sort(0).values
    start, length = marks[:-1], marks.diff(dim=0)
    return (weights / 2 * length * function(start + length * (nodes + 1) / 2)).sum((0, 1))


def bounded(borders: Tensor, logits: Tensor) -> Case:
    """A bounded Riemann distribution has marks at its borders."""
    return Case(BoundedRiemann, (borders, logits), _expanded(borders, logits))


def unbounded(borders: Tensor, logits: Tensor) -> Case:
    """An unbounded one has marks along its half-normals too."""
    marks = _expanded(borders, logits)
    low = marks[1] - (marks[1] - marks[0]) / 0.6744897501960817 * REACH[REACH >= 0].reshape(-1, *(1,) * marks[0].ndim)
    high = marks[-2] + (marks[-1] - marks[-2]) / 0.6744897501960817 * REACH[REACH >= 0].reshape(
        -1, *(1,) * marks[0].ndim
    )
    return Case(UnboundedRiemann, (borders, logits), torch.cat([low, marks[1:-1], high]).sort(0).values)


def mixture(logits: Tensor, loc: Tensor, scale: Tensor) -> Case:
    """A mixture has marks along each of its components."""
    logits, loc, scale = torch.broadcast_tensors(logits, loc, scale)
    marks = (loc[..., None] + scale[..., None] * REACH).flatten(-2).movedim(-1, 0)
    return Case(NormalMixture, (logits, loc, scale), marks.sort(0).values)


def _expanded(borders: Tensor, logits: Tensor) -> Tensor:
    batch = torch.broadcast_shapes(borders.shape[:-1], logits.shape[:-1])
    return borders.expand(*batch, borders.shape[-1]).movedim(-1, 0)


def _borders(*shape: int) -> Tensor:
    return (torch.rand(*shape, dtype=torch.float64) + 0.1).cumsum(-1) - 2


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def _numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


EMPTY = _numbers(0.3, -torch.inf, 1.0, -torch.inf, -0.5)
EXTREME = _numbers(-60.0, 60.0, 59.0, -60.0, 60.5)

with seeded(0):
    CASES = {
        "bounded": bounded(_borders(6), _normal(5)),
        "bounded_one_bucket": bounded(_borders(2), _normal(3, 1)),
        "bounded_batch": bounded(_borders(6), _normal(2, 3, 5)),
        "bounded_own_borders": bounded(_borders(2, 1, 6), _normal(2, 3, 5)),
        "bounded_empty": bounded(_borders(6), EMPTY),
        "bounded_extreme": bounded(_borders(6), EXTREME),
        "bounded_narrow": bounded(1e-6 * _borders(6), _normal(5)),
        "unbounded": unbounded(_borders(6), _normal(5)),
        "unbounded_two_buckets": unbounded(_borders(3), _normal(4, 2)),
        "unbounded_batch": unbounded(_borders(6), _normal(2, 3, 5)),
        "unbounded_own_borders": unbounded(_borders(3, 6), _normal(2, 1, 5)),
        "unbounded_empty": unbounded(_borders(6), EMPTY),
        "unbounded_empty_tails": unbounded(_borders(4), _numbers(-torch.inf, 0.0, -torch.inf)),
        "unbounded_extreme": unbounded(_borders(6), EXTREME),
        "unbounded_1000": unbounded(_borders(1001) / 100, _normal(2, 1000)),
        "mixture": mixture(_normal(4), 3 * _normal(4), _normal(4).exp()),
        "mixture_of_one": mixture(_normal(2, 1), _normal(2, 1), _normal(2, 1).exp()),
        "mixture_batch": mixture(_normal(2, 3, 5), 2 * _normal(2, 3, 5), _normal(2, 3, 5).exp()),
        "mixture_scales": mixture(_normal(3), _numbers(0.0, 0.1, -2.0), _numbers(1e-4, 10.0, 0.03)),
        "mixture_empty": mixture(_numbers(0.0, -torch.inf, 1.0), _normal(3), _normal(3).exp()),
        "mixture_far_apart": mixture(_normal(2), _numbers(-1e3, 1e3), _numbers(0.1, 1.0)),
    }
