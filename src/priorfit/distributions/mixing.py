"""Mixtures of several predictions with equal weights: what an ensemble states as one distribution."""

import math
from collections.abc import Sequence
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, constraints

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.values import Values, as_levels, as_values
from priorfit.errors import InputError

BISECTIONS = 200
"""Most halvings of a bracket: enough to reach the spacing of float64 from any bracket."""


class EqualMixture(Distribution):
    """The mixture of distributions over the reals, each with the same weight.

    Density, cdf and moments are those of the parts averaged; a quantile is found by bisection between the lowest and
    the highest quantile of the parts, where it must lie.

    >>> ppd = EqualMixture([Normal(torch.zeros(5), 1.0), Normal(torch.ones(5), 2.0)])
    >>> ppd.batch_shape, ppd.mean[0], ppd.cdf(ppd.icdf(0.9))[0]
    (torch.Size([5]), tensor(0.5000), tensor(0.9000))
    """

    arg_constraints = {}  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
    support = constraints.real  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __init__(self, parts: Sequence[Distribution], validate_args: bool | None = None) -> None:
        shapes = {tuple(part.batch_shape) for part in parts}
        if len(shapes) != 1:
            raise InputError(f"a mixture needs parts of one batch shape; got {sorted(shapes)}.")
        self.parts = tuple(parts)
        super().__init__(parts[0].batch_shape, validate_args=validate_args)

    def _stacked(self, values: Sequence[Float[Tensor, "..."]]) -> Float[Tensor, "parts ..."]:
        return torch.stack(list(values))

    def _values(self, value: Values) -> Float[Tensor, "..."]:
        return as_values(value, self.parts[0].mean, self.batch_shape)

    def expand(self, batch_shape: torch.Size | list[int] | tuple[int, ...], _instance: None = None) -> "EqualMixture":
        """See `Distribution.expand`."""
        return EqualMixture([part.expand(torch.Size(batch_shape)) for part in self.parts], validate_args=False)

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`."""
        y = self._values(value)
        return self._stacked([part.log_prob(y) for part in self.parts]).logsumexp(0) - math.log(len(self.parts))

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        y = self._values(value)
        return self._stacked([part.cdf(y) for part in self.parts]).mean(0)

    def icdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.icdf`; not differentiable."""
        level = as_levels(value, self.parts[0].mean, self.batch_shape)
        with torch.no_grad():
            ends = self._stacked([part.icdf(level) for part in self.parts])
            low, high = ends.amin(0), ends.amax(0)
            for _ in range(BISECTIONS):
                middle = low + (high - low) / 2
                if bool(((middle <= low) | (middle >= high) | middle.isnan()).all()):
                    break
                below = self.cdf(middle) < level
                low, high = torch.where(below, middle, low), torch.where(below, high, middle)
            return torch.where(low == high, low, high)

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.mean`."""
        return self._stacked([part.mean for part in self.parts]).mean(0)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.variance`: the mean variance of the parts, and the variance of their means."""
        means = self._stacked([part.mean for part in self.parts])
        return self._stacked([part.variance for part in self.parts]).mean(0) + means.var(0, correction=0)

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The point with half of the probability below it."""
        return self.icdf(0.5)

    def sample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.sample`: each number from a part that is drawn for it."""
        with torch.no_grad():
            draws = self._stacked([part.sample(torch.Size(sample_shape)) for part in self.parts])
            chosen = torch.randint(len(self.parts), draws.shape[1:], device=draws.device)
            return draws.gather(0, chosen[None])[0]


def mixed(parts: Sequence[Distribution]) -> Distribution:
    """The mixture of predictions of one kind with equal weights; within their family where that is closed under it.

    >>> mixed([Categorical(torch.tensor([0.2, 0.8])), Categorical(torch.tensor([0.6, 0.4]))]).probs
    tensor([0.4000, 0.6000])
    """
    return parts[0] if len(parts) == 1 else _mixed(parts[0], parts)


@singledispatch
def _mixed(first: Distribution, parts: Sequence[Distribution]) -> Distribution:
    return EqualMixture(parts)


@_mixed.register(Categorical)
def _mixed_classes(first: Categorical, parts: Sequence[Categorical]) -> Categorical:
    return Categorical(probs=torch.stack([part.probs for part in parts]).mean(0), validate_args=False)


@_mixed.register(Normal)
@_mixed.register(NormalMixture)
def _mixed_normals(first: Distribution, parts: Sequence[Normal | NormalMixture]) -> NormalMixture:
    components = [_components(part) for part in parts]
    logits, loc, scale = (torch.cat(part, dim=-1) for part in zip(*components, strict=True))
    return NormalMixture(logits, loc, scale, validate_args=False)


def _components(part: Normal | NormalMixture) -> tuple[Tensor, Tensor, Tensor]:
    """Log weights that sum to 1, means and standard deviations, on a last axis."""
    if isinstance(part, NormalMixture):
        return part.log_probs, part.loc, part.scale
    return torch.zeros_like(part.loc)[..., None], part.loc[..., None], part.scale[..., None]
