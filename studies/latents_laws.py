"""A law of counts for networks that read real numbers: roots of counts that are spread over a unit."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Binomial, Distribution, constraints


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

    def sample(self, sample_shape: torch.Size | Sequence[int] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.sample`."""
        counts = self._counts.sample(torch.Size(sample_shape))
        return (counts + torch.rand_like(counts)).sqrt()

    def log_prob(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`."""
        value = value.to(self.probs)
        count = value.square().floor().clamp(0, self.total)
        return self._counts.log_prob(count) + (2 * value).clamp_min(1e-12).log()


def observed_root(counts: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """An observed count, in the middle of its unit."""
    return (counts + 0.5).sqrt()
