"""The Riemann distribution on the whole real line: its outer buckets are half-normals."""

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.distributions import constraints

from priorfit.distributions.lookup import at
from priorfit.distributions.riemann import Riemann
from priorfit.errors import ShapeError

UPPER_QUARTILE = 0.6744897501960817
"""The upper quartile of a standard Normal: half of a half-normal's mass lies within this many scales."""

HALF_NORMAL_MEAN = math.sqrt(2 / math.pi)
HALF_NORMAL_LOG_HEIGHT = math.log(HALF_NORMAL_MEAN)


class UnboundedRiemann(Riemann):
    """Buckets of constant density between two half-normal tails.

    Each of the two outer buckets is a half-normal that starts at the bucket's inner border, has half of its mass
    within the bucket, and weighs as much as the bucket's probability.

    >>> ppd = UnboundedRiemann(torch.tensor([-2.0, -1.0, 1.0, 2.0]), torch.tensor([0.25, 0.5, 0.25]).log())
    >>> ppd.log_prob(torch.tensor([0.0, 5.0])).exp()
    tensor([0.2500, 0.0035])
    >>> ppd.icdf(0.5), ppd.sample((7,)).shape
    (tensor(0.), torch.Size([7]))
    """

    support = constraints.real  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __init__(
        self,
        borders: Float[Tensor, "*#batch borders"],
        logits: Float[Tensor, "*#batch buckets"],
        validate_args: bool | None = None,
    ) -> None:
        if logits.ndim and logits.shape[-1] == 1:
            raise ShapeError("UnboundedRiemann needs at least 2 buckets, one for each tail; got 1. Use BoundedRiemann.")
        super().__init__(borders, logits, validate_args=validate_args)

    @property
    def ends(self) -> tuple[Float[Tensor, "*#batch"], Float[Tensor, "*#batch"]]:
        """Minus and plus infinity."""
        first = self.borders[..., 0]
        return torch.full_like(first, -torch.inf), torch.full_like(first, torch.inf)

    @property
    def tail_starts(self) -> tuple[Float[Tensor, "*#batch 1"], Float[Tensor, "*#batch 1"]]:
        """The inner borders of the two outer buckets."""
        return self.borders[..., 1:2], self.borders[..., -2:-1]

    @property
    def tail_scales(self) -> tuple[Float[Tensor, "*#batch 1"], Float[Tensor, "*#batch 1"]]:
        """The scales of the two half-normals."""
        return self.widths[..., :1] / UPPER_QUARTILE, self.widths[..., -1:] / UPPER_QUARTILE

    def _tail_distance(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> tuple[Float[Tensor, "*batch points"], Float[Tensor, "*batch points"]]:
        """How many scales a point lies below the lower tail's start, and above the upper tail's; 0 elsewhere."""
        (low, high), (low_scale, high_scale) = self.tail_starts, self.tail_scales
        below = torch.where(index == 0, low - points, 0) / low_scale
        above = torch.where(index == self.logits.shape[-1] - 1, points - high, 0) / high_scale
        return below, above

    def _log_density_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        below, above = self._tail_distance(points, index)
        return at(self.log_heights, index) - (below**2 + above**2) / 2

    def _cdf_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        below, above = self._tail_distance(points, index)
        inside = points.clamp(self.borders[..., :1], self.borders[..., -1:])  # infinities stay out of the gradient
        uniform = (inside - at(self.borders, index)) / at(self.widths, index)
        upper = torch.where(index == self.logits.shape[-1] - 1, torch.erf(above * math.sqrt(0.5)), uniform)
        return torch.where(index == 0, torch.erfc(below * math.sqrt(0.5)), upper)

    def _icdf_within(
        self,
        below: Float[Tensor, "*batch points"],
        above: Float[Tensor, "*batch points"],
        index: Int64[Tensor, "*batch points"],
    ) -> Float[Tensor, "*batch points"]:
        (low, high), (low_scale, high_scale) = self.tail_starts, self.tail_scales
        last = index == self.logits.shape[-1] - 1
        lower = low + low_scale * torch.special.ndtri(torch.where(index == 0, below, 1) / 2)
        upper = high - high_scale * torch.special.ndtri(torch.where(last, above, 1) / 2)
        return torch.where(index == 0, lower, torch.where(last, upper, self._uniform_icdf(below, index)))

    def _with_tails(
        self,
        lower: Float[Tensor, "*#batch 1"],
        uniform: Float[Tensor, "*#batch buckets"],
        upper: Float[Tensor, "*#batch 1"],
    ) -> Float[Tensor, "*#batch buckets"]:
        return torch.cat([lower, uniform[..., 1:-1], upper], dim=-1)

    @property
    def bucket_means(self) -> Float[Tensor, "*#batch buckets"]:
        """The means of the half-normals, and the middles of the buckets between them."""
        (low, high), (low_scale, high_scale) = self.tail_starts, self.tail_scales
        middles = self.borders[..., :-1] + self.widths / 2
        return self._with_tails(low - HALF_NORMAL_MEAN * low_scale, middles, high + HALF_NORMAL_MEAN * high_scale)

    @property
    def bucket_variances(self) -> Float[Tensor, "*#batch buckets"]:
        """The variances of half-normals and uniforms."""
        low, high = ((1 - HALF_NORMAL_MEAN**2) * scale**2 for scale in self.tail_scales)
        return self._with_tails(low, self.widths**2 / 12, high)

    @property
    def bucket_entropies(self) -> Float[Tensor, "*#batch buckets"]:
        """The entropies of half-normals and uniforms."""
        low, high = (scale.log() - HALF_NORMAL_LOG_HEIGHT + 0.5 for scale in self.tail_scales)
        return self._with_tails(low, self.widths.log(), high)

    @property
    def bucket_modes(self) -> Float[Tensor, "*#batch buckets"]:
        """The starts of the tails, and the middles of the buckets between them."""
        low, high = self.tail_starts
        return self._with_tails(low, self.borders[..., :-1] + self.widths / 2, high)

    @property
    def log_heights(self) -> Float[Tensor, "*#batch buckets"]:
        """The log densities of half-normals where they start, and of uniforms."""
        low, high = (HALF_NORMAL_LOG_HEIGHT - scale.log() for scale in self.tail_scales)
        return self._with_tails(low, -self.widths.log(), high)
