"""How well each point of a dataset was predicted from those before it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions import NormalMixture, expected_log_prob
from priorfit.distributions.condensing import condensed
from priorfit.distributions.pit import pit

Ask = Callable[[Tensor, Tensor, Tensor], Distribution]
"""Context x, context y and query x in, the predictive distributions of the queries out."""

FIRST_STARTS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
"""How many points come before the first blocks; from the last on, each block is as large as all before it."""

MOST_TOKENS = 2**14
"""Points of all datasets that go through a network at once."""

NODES = 16
"""Nodes of the quadrature for a mixture's expected log density: good to 0.02 nats in released models."""

MOST_COMPONENTS = 32
"""Larger mixtures are condensed first: the sum runs over pairs of components, and p-values rank like with like."""

SMALLEST_PIT = 1e-6
"""Beyond, the log density tells how far a point lies off."""


@dataclass(frozen=True)
class Scores:
    """For each point, given the points before its block: PIT, log density, and the expectation of that density."""

    pit: Float[Tensor, "datasets points"]
    log_density: Float[Tensor, "datasets points"]
    expected: Float[Tensor, "datasets points"]

    @property
    def centred(self) -> Float[Tensor, "datasets points"]:
        """The log density minus its expectation; what is not a number is as bad as can be."""
        return (self.log_density - self.expected).nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)

    @property
    def normal(self) -> Float[Tensor, "datasets points"]:
        """The PIT as a standard Normal would have it."""
        return torch.special.ndtri(self.pit.nan_to_num(nan=1.0).clamp(SMALLEST_PIT, 1 - SMALLEST_PIT))


def block_starts(num_points: int) -> list[int]:
    """How many points come before each block; each of the first few points is a block of its own.

    >>> block_starts(100)
    [0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64]
    """
    starts: list[int] = [*FIRST_STARTS]
    while 2 * starts[-1] < num_points:
        starts.append(2 * starts[-1])
    return [start for start in starts if start < num_points]


def one_step_ahead(ask: Ask, x: Float[Tensor, "datasets points features"], y: Num[Tensor, "datasets points"]) -> Scores:
    """The scores of all points; datasets go through the network a part at a time."""
    size = max(1, MOST_TOKENS // y.shape[1])
    parts = [_scored(ask, some_x, some_y) for some_x, some_y in zip(x.split(size), y.split(size), strict=True)]
    return Scores(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _scored(
    ask: Ask, x: Float[Tensor, "datasets points features"], y: Num[Tensor, "datasets points"]
) -> tuple[Tensor, Tensor, Tensor]:
    rows = []
    for start, end in pairwise([*block_starts(y.shape[1]), y.shape[1]]):
        ppd, came = ask(x[:, :start], y[:, :start], x[:, start:end]), y[:, start:end]
        rows.append((pit(ppd, came), ppd.log_prob(came), expected_score(ppd).expand(came.shape)))
    columns = [torch.cat(column, dim=1).double() for column in zip(*rows, strict=True)]
    return columns[0], columns[1], columns[2]


@singledispatch
def expected_score(ppd: Distribution) -> Float[Tensor, "*batch"]:
    """What a right prediction expects its own log density to be: minus its entropy."""
    return -ppd.entropy()


@expected_score.register(NormalMixture)
def _of_mixture(ppd: NormalMixture) -> Float[Tensor, "*batch"]:
    few = condensed(ppd, MOST_COMPONENTS)
    return expected_log_prob(few, few, num_nodes=NODES)  # the exact entropy would take a hundred times as long


def sequential_draws(ask: Ask, x: Float[Tensor, "datasets points features"]) -> Float[Tensor, "datasets points"]:
    """Targets as the network itself would draw them: one point after the other, each added to the context."""
    y = x.new_zeros(len(x), 0)
    for point in range(x.shape[1]):
        drawn = ask(x[:, :point], y, x[:, point : point + 1]).sample()
        y = torch.cat([y, drawn.to(y)], dim=1)
    return y
