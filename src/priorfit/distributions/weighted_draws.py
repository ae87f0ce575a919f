"""The empirical distribution of weighted draws."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution, constraints

from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.values import Values, as_levels, as_values


class WeightedDraws(Distribution):
    """Point masses: ``draws (*batch, count)`` with weights; it has quantiles and moments, but no density.

    >>> found = WeightedDraws(torch.zeros(3), torch.tensor([1.0, 2.0, 3.0]))
    >>> found.mean, found.cdf(2.5), found.icdf(0.5)
    (tensor(2., dtype=torch.float64), tensor(0.6667), tensor(2.))
    """

    arg_constraints = {}  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
    support = constraints.real  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __init__(self, logits: Float[Tensor, "*batch count"], draws: Num[Tensor, "*batch count"]) -> None:
        order = draws.argsort(-1)
        self.draws = draws.gather(-1, order)
        self.probs = logits.double().softmax(-1).gather(-1, order)
        super().__init__(draws.shape[:-1], validate_args=False)

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.mean`."""
        return (self.probs * self.draws).sum(-1)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.variance`."""
        return (self.probs * (self.draws - self.mean[..., None]).square()).sum(-1)

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """The weight of the draws up to a value."""
        values = as_values(value, self.draws, self.batch_shape)
        return (self.probs * (self.draws <= values[..., None])).sum(-1).to(self.draws.dtype)

    def icdf(self, value: Values) -> Float[Tensor, "..."]:
        """The smallest draw with at least this weight up to it."""
        level = as_levels(value, self.draws, self.batch_shape).double()
        level = level.expand(broadcast_shapes(level.shape, self.batch_shape))
        place = (self.probs.cumsum(-1) < level[..., None]).sum(-1, keepdim=True).clamp(max=self.draws.shape[-1] - 1)
        return self.draws.expand(*level.shape, -1).gather(-1, place)[..., 0]

    def sample(self, sample_shape: torch.Size | Sequence[int] = ()) -> Num[Tensor, "..."]:
        """See `Distribution.sample`."""
        return self.icdf(torch.rand(torch.Size((*sample_shape, *self.batch_shape)), dtype=torch.float64))

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """Weighted draws have no density."""
        raise NotImplementedError("weighted draws have no density; ask for cdf, icdf, mean, stddev or sample.")
