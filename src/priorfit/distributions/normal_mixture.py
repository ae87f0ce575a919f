"""A mixture of Normals that is complete: torch's own lacks the inverse cdf, the entropy, the mode and rsample."""

import math
from contextlib import nullcontext
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, constraints
from torch.distributions.utils import lazy_property

from priorfit.distributions.constraints import positive_vector, vector_without_nan
from priorfit.distributions.normal_tails import normal_cdf
from priorfit.distributions.quantiles import mixture_quantiles
from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.values import (
    Values,
    as_levels,
    as_values,
    broadcast_shape,
    check_parameters,
    readable_constraints,
)

UNCHECKED = nullcontext()
ASCENT_STEPS = 60
MODE_REACH = 2
"""Standard deviations on either side of a component within which points are tried as starts of the ascent."""
ENTROPY_REACH = 10
"""Standard deviations on either side of a component that the integral of the entropy covers."""


class NormalMixture(Distribution):
    """A mixture of Normals over the real line.

    Args:
        logits: the log weights of the components up to a constant; -inf drops a component.
        loc: the means of the components.
        scale: their standard deviations.
        validate_args: as in ``torch.distributions``.

    >>> ppd = NormalMixture(logits=torch.zeros(5, 2), loc=torch.tensor([-1.0, 1.0]), scale=torch.tensor([0.1, 1.0]))
    >>> ppd.batch_shape, ppd.mean.shape, ppd.sample((7,)).shape
    (torch.Size([5]), torch.Size([5]), torch.Size([7, 5]))
    >>> ppd.cdf(ppd.icdf(0.9))[0]
    tensor(0.9000)
    >>> ppd.icdf(torch.tensor([0.05, 0.5, 0.95])[:, None]).shape
    torch.Size([3, 5])
    """

    arg_constraints = {  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
        "logits": vector_without_nan,
        "loc": vector_without_nan,
        "scale": positive_vector,
    }
    support = constraints.real  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    has_rsample = True

    def __init__(
        self,
        logits: Float[Tensor, "*#batch #components"],
        loc: Float[Tensor, "*#batch #components"],
        scale: Float[Tensor, "*#batch #components"],
        validate_args: bool | None = None,
    ) -> None:
        is_checked = validate_args is not False
        if is_checked:
            check_parameters(logits=logits, loc=loc, scale=scale)
        shape = logits.shape
        if loc.shape != shape or scale.shape != shape:
            shape = broadcast_shape(shape, loc.shape, scale.shape)
            logits, loc, scale = (part.expand(shape) for part in (logits, loc, scale))
        self.logits, self.loc, self.scale = logits, loc, scale
        with readable_constraints() if is_checked else UNCHECKED:
            super().__init__(shape[:-1], validate_args=validate_args)

    @lazy_property
    def log_probs(self) -> Float[Tensor, "*batch components"]:
        """The log weights of the components."""
        return self.logits.log_softmax(-1)

    @lazy_property
    def probs(self) -> Float[Tensor, "*batch components"]:
        """The weights of the components."""
        return self.log_probs.exp()

    def expand(self, batch_shape: torch.Size | list[int] | tuple[int, ...], _instance: None = None) -> "NormalMixture":
        """See `Distribution.expand`."""
        shape = (*batch_shape, self.logits.shape[-1])
        parameters = (parameter.expand(shape) for parameter in (self.logits, self.loc, self.scale))
        expanded = NormalMixture(*parameters, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    def _standardised(self, value: Float[Tensor, "..."]) -> Float[Tensor, "... components"]:
        return (value.unsqueeze(-1) - self.loc) / self.scale

    def _values(self, value: Values) -> Float[Tensor, "..."]:
        return as_values(value, self.logits, self.batch_shape)

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`."""
        distance = self._standardised(self._values(value))
        log_heights = self.logits.log_softmax(-1) - self.scale.log()
        log_parts = torch.addcmul(log_heights, distance, distance, value=-0.5)
        return log_parts.logsumexp(-1) - math.log(2 * math.pi) / 2

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        return (self.probs * normal_cdf(self._standardised(self._values(value)))).sum(-1).clamp(max=1)

    def survival(self, value: Values) -> Float[Tensor, "..."]:
        """The probability above a value: 1 - cdf without its cancellation."""
        return (self.probs * normal_cdf(-self._standardised(self._values(value)))).sum(-1).clamp(max=1)

    def icdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.icdf`; Newton's method within a shrinking bracket, differentiable once.

        Several levels go on an axis before the batch: ``levels[:, None]`` for a batch shape of one axis. The levels 0
        and 1 give infinities, others outside (0, 1) NaN.
        """
        level = as_levels(value, self.logits, self.batch_shape)
        level = level.expand(broadcast_shapes(level.shape, self.batch_shape))
        below, above = (tail.to(self.logits.dtype) for tail in (level, 1 - level))
        with torch.no_grad():
            shape = (*level.shape, self.logits.shape[-1])
            probs, loc, scale = (part.expand(shape) for part in (self.probs, self.loc, self.scale))
            root = mixture_quantiles(probs, loc, scale, below, above)
        inside = torch.isfinite(root)
        point = torch.where(inside, root, self.mean.detach())
        missing = torch.where(below < above, below - self.cdf(point), self.survival(point) - above)
        return torch.where(inside, self._moved(point, missing), root)

    def _moved(self, point: Float[Tensor, "..."], missing: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The point itself, with the derivative of a quantile: ``missing`` mass divided by the density."""
        density = self.log_prob(point).exp().detach().clamp(min=torch.finfo(point.dtype).tiny)
        return point + (missing - missing.detach()) / density

    def with_moments(
        self, mean: Float[Tensor, "*batch"], variance: Float[Tensor, "*batch"], stddev: Float[Tensor, "*batch"]
    ) -> "NormalMixture":
        """This mixture, whose moments are known where it comes from: they need not be computed again."""
        vars(self).update(mean=mean, variance=variance, stddev=stddev)
        return self

    def with_own_units(
        self, loc: Float[Tensor, "*batch components"], log_scale: Float[Tensor, "*batch components"]
    ) -> "NormalMixture":
        """This mixture, whose components are known `in_own_units` where it comes from."""
        vars(self).update(in_own_units=(loc, log_scale))
        return self

    @lazy_property
    def in_own_units(self) -> tuple[Float[Tensor, "*batch components"], Float[Tensor, "*batch components"]]:
        """Means and log scales of the components, in units of the mixture's mean and standard deviation."""
        mean, stddev = self.mean.unsqueeze(-1), self.stddev.unsqueeze(-1)
        return (self.loc - mean) / stddev, (self.scale / stddev).log()

    @lazy_property
    def mean(self) -> Float[Tensor, "*batch"]:  # pyright: ignore[reportIncompatibleMethodOverride]: it is kept
        """See `Distribution.mean`."""
        return (self.probs * self.loc).sum(-1)

    @lazy_property
    def variance(self) -> Float[Tensor, "*batch"]:  # pyright: ignore[reportIncompatibleMethodOverride]: it is kept
        """See `Distribution.variance`."""
        return (self.probs * (self.scale**2 + (self.loc - self.mean[..., None]) ** 2)).sum(-1)

    @lazy_property
    def stddev(self) -> Float[Tensor, "*batch"]:  # pyright: ignore[reportIncompatibleMethodOverride]: it is kept
        """See `Distribution.stddev`."""
        return self.variance.sqrt()

    @property
    def mode(self) -> Float[Tensor, "*batch"]:
        """The highest maximum that ascents from the components and from points near them reach; not differentiable."""
        with torch.no_grad():
            return _highest_point(self)

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The point with half of the probability below it."""
        return self.icdf(0.5)

    def entropy(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.entropy`; by piecewise Gauss-Legendre quadrature in float64, to about 1e-10."""
        return _entropy_integral(self).to(self.logits.dtype)

    def rsample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.rsample`; differentiable by implicit reparametrisation."""
        shape = self._extended_shape(torch.Size(sample_shape))
        with torch.no_grad():
            probs = self.probs.expand(*shape, self.probs.shape[-1])
            component = probs.flatten(0, -2).multinomial(1).reshape(*shape, 1)
            loc, scale = (part.expand_as(probs).gather(-1, component)[..., 0] for part in (self.loc, self.scale))
            point = loc + scale * torch.randn(shape, dtype=loc.dtype, device=loc.device)
        return self._moved(point, -self.cdf(point))


def _highest_point(mixture: NormalMixture) -> Float[Tensor, "*batch"]:
    """The highest of the local maxima above the components' means and above the highest of some points between them.

    Each step is the better of Newton's and the mean shift, which never descends. The means alone are not enough: two
    components may merge into a mode between them while each mean is held by a small peak of its own.
    """
    point = torch.cat([mixture.loc.movedim(-1, 0), _highest_mark(mixture)[None]])  # (starts, *batch)
    for _ in range(ASCENT_STEPS):
        newton, shifted = _ascents(mixture, point)
        better = mixture.log_prob(newton) > mixture.log_prob(shifted)
        point = torch.where(better, newton, shifted)
    highest = mixture.log_prob(point).argmax(0, keepdim=True)
    return point.gather(0, highest)[0]


def _highest_mark(mixture: NormalMixture) -> Float[Tensor, "*batch"]:
    """The densest of the points half a standard deviation apart around each component."""
    reach = torch.arange(-MODE_REACH, MODE_REACH + 0.5, 0.5, dtype=mixture.loc.dtype, device=mixture.loc.device)
    marks = (mixture.loc[..., None] + mixture.scale[..., None] * reach).flatten(-2).movedim(-1, 0)  # (marks, *batch)
    log_prob = torch.stack([mixture.log_prob(mark) for mark in marks])  # one by one: components times marks are many
    return marks.gather(0, log_prob.argmax(0, keepdim=True))[0]


def _ascents(
    mixture: NormalMixture, point: Float[Tensor, "starts *batch"]
) -> tuple[Float[Tensor, "starts *batch"], Float[Tensor, "starts *batch"]]:
    """The points after a Newton step on the log density and after a mean-shift step."""
    precision = mixture.scale**-2
    distance = point[..., None] - mixture.loc
    log_parts = mixture.log_probs - mixture.scale.log() - distance**2 * precision / 2
    share = log_parts.softmax(-1)  # the responsibility of each component for the point
    pull = -distance * precision
    slope = (share * pull).sum(-1)
    curvature = (share * (pull**2 - precision)).sum(-1) - slope**2
    mean_shift = point + slope / (share * precision).sum(-1)
    newton = torch.where(curvature < 0, point - slope / curvature, mean_shift)
    return newton, mean_shift


@lru_cache
def _gauss_legendre(num_nodes: int) -> tuple[list[float], list[float]]:
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


def _entropy_integral(mixture: NormalMixture) -> Float[Tensor, "*batch"]:
    """Minus the integral of p log p, piece by piece between marks one standard deviation apart of every component.

    No piece is then wide for any component that it meets, however different their scales are.
    """
    # In float64, since the nodes of a narrow component far from 0 are hardly distinct in float32.
    mixture = NormalMixture(mixture.logits.double(), mixture.loc.double(), mixture.scale.double(), validate_args=False)
    reach = torch.arange(-ENTROPY_REACH, ENTROPY_REACH + 1, dtype=mixture.loc.dtype, device=mixture.loc.device)
    with torch.no_grad():
        marks = (mixture.loc[..., None] + mixture.scale[..., None] * reach).flatten(-2).sort(-1).values.movedim(-1, 0)
        start, length = marks[:-1], marks.diff(dim=0)  # (pieces, *batch)
    total = torch.zeros_like(mixture.probs[..., 0])
    for node, weight in zip(*_gauss_legendre(20), strict=True):
        log_density = mixture.log_prob(start + length * node).clamp(min=torch.finfo(marks.dtype).min)
        total = total - weight * (length * log_density.exp() * log_density).sum(0)
    return total
