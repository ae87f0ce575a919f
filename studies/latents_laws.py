"""A law of counts for networks that read real numbers: roots of counts that are spread over a unit."""

import math
from collections.abc import Sequence
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Binomial, Distribution, constraints

NODES = 2_049
"""Probabilities at which moments are tabulated."""


class RootCounts(Distribution):
    """The square root of a binomial count plus a uniform number from 0 to 1.

    The uniform number says nothing of the latents, so the posterior given this root is that given the count, while the
    root has a density: a count k has the probability of the roots from sqrt(k) to sqrt(k + 1).
    """

    arg_constraints = {}  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
    has_rsample = False

    def __init__(self, total: int, probs: Float[Tensor, "..."]) -> None:
        self.total, self.probs = total, probs
        self._counts = Binomial(total, probs, validate_args=False)
        super().__init__(probs.shape, validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        """Roots of numbers below the largest count plus 1."""
        return constraints.interval(0.0, (self.total + 1) ** 0.5)

    @property
    def mean(self) -> Float[Tensor, "..."]:
        """The mean, by interpolation in a table."""
        return self._moments()[0]

    @property
    def variance(self) -> Float[Tensor, "..."]:
        """The variance, by interpolation in a table."""
        return self._moments()[1]

    def _moments(self) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
        table = root_moments(self.total).to(self.probs)
        place = (self.probs.clamp(0, 1).sqrt().asin() * (2 / math.pi) * (len(table) - 1)).clamp(max=len(table) - 1.001)
        low = place.long()
        mean, variance = torch.lerp(table[low], table[low + 1], (place - low)[..., None]).unbind(-1)
        return mean, variance

    def sample(self, sample_shape: torch.Size | Sequence[int] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.sample`."""
        counts = self._counts.sample(torch.Size(sample_shape))
        return (counts + torch.rand_like(counts)).sqrt()

    def log_prob(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`."""
        value = value.to(self.probs)
        count = value.square().floor().clamp(0, self.total)
        return self._counts.log_prob(count) + (2 * value).clamp_min(1e-12).log()


@cache
def root_moments(total: int) -> Float[Tensor, "nodes 2"]:
    """Mean and variance of `RootCounts` at probabilities whose roots have angles on a grid."""
    angles = torch.linspace(0, math.pi / 2, NODES, dtype=torch.float64)
    counts = torch.arange(total + 1, dtype=torch.float64)
    shares = Binomial(total, angles.sin().square()[:, None], validate_args=False).log_prob(counts).exp()
    shares[0], shares[-1] = counts == 0, counts == total
    roots = ((counts + 1) ** 1.5 - counts**1.5) * (2 / 3)  # the mean given the count; that of the square is count + 0.5
    mean = shares @ roots
    return torch.stack([mean, shares @ (counts + 0.5) - mean.square()], dim=1)


def observed_root(counts: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """An observed count, in the middle of its unit."""
    return (counts + 0.5).sqrt()
