"""The Riemann distribution on the interval that its buckets cover."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.distributions import constraints

from priorfit.distributions.lookup import at
from priorfit.distributions.riemann import Riemann


class BoundedRiemann(Riemann):
    """Buckets of constant density, and nothing outside them.

    >>> ppd = BoundedRiemann(borders=torch.tensor([0.0, 1.0, 3.0]), logits=torch.zeros(5, 2))
    >>> ppd.batch_shape, ppd.sample((7,)).shape
    (torch.Size([5]), torch.Size([7, 5]))
    >>> ppd.mean[0], ppd.log_prob(torch.tensor(4.0))[0]
    (tensor(1.2500), tensor(-inf))
    """

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:  # pyright: ignore[reportIncompatibleMethodOverride]: not a property
        """The interval from the first border to the last."""
        return constraints.interval(*self.ends)

    @property
    def ends(self) -> tuple[Float[Tensor, "*#batch"], Float[Tensor, "*#batch"]]:
        """The first border and the last."""
        return self.borders[..., 0], self.borders[..., -1]

    def _log_density_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        low, high = self.ends
        outside = (points < low[..., None]) | (points > high[..., None])
        return torch.where(outside, -torch.inf, -at(self.widths, index).log())

    def _cdf_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        low, high = self.ends
        inside = points.clamp(low[..., None], high[..., None])
        return (inside - at(self.borders, index)) / at(self.widths, index)

    def _icdf_within(
        self,
        below: Float[Tensor, "*batch points"],
        above: Float[Tensor, "*batch points"],
        index: Int64[Tensor, "*batch points"],
    ) -> Float[Tensor, "*batch points"]:
        return self._uniform_icdf(below, index)

    @property
    def bucket_means(self) -> Float[Tensor, "*#batch buckets"]:
        """The middles of the buckets."""
        return self.borders[..., :-1] + self.widths / 2

    @property
    def bucket_variances(self) -> Float[Tensor, "*#batch buckets"]:
        """The variance of the uniform density on each bucket."""
        return self.widths**2 / 12

    @property
    def bucket_entropies(self) -> Float[Tensor, "*#batch buckets"]:
        """The entropy of the uniform density on each bucket."""
        return self.widths.log()

    @property
    def bucket_modes(self) -> Float[Tensor, "*#batch buckets"]:
        """The middle of each bucket; a uniform density is as high everywhere."""
        return self.bucket_means

    @property
    def log_heights(self) -> Float[Tensor, "*#batch buckets"]:
        """The log density on each bucket, which is minus the logarithm of its width."""
        return -self.widths.log()
