"""A mixture of Normals that is complete: torch's own lacks the inverse cdf, the entropy, the mode and rsample."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, constraints
from torch.distributions.utils import lazy_property

from priorfit.distributions.constraints import positive_vector, vector_without_nan

MAX_STEPS = 200
ASCENT_STEPS = 60
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
    >>> ppd.cdf(ppd.icdf(torch.tensor(0.9)))[0]
    tensor(0.9000)
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
        self.logits, self.loc, self.scale = torch.broadcast_tensors(logits, loc, scale)
        super().__init__(self.logits.shape[:-1], validate_args=validate_args)

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
        return (value[..., None] - self.loc) / self.scale

    def log_prob(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`."""
        log_normal = -(self._standardised(value) ** 2) / 2 - self.scale.log() - math.log(2 * math.pi) / 2
        return (self.log_probs + log_normal).logsumexp(-1)

    def cdf(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        return (self.probs * torch.special.ndtr(self._standardised(value))).sum(-1).clamp(max=1)

    def survival(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The probability above a value: 1 - cdf without its cancellation."""
        return (self.probs * torch.special.ndtr(-self._standardised(value))).sum(-1).clamp(max=1)

    def icdf(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.icdf`; Newton's method within a shrinking bracket, differentiable once."""
        level = value.to(self.logits.dtype).expand(torch.broadcast_shapes(value.shape, self.batch_shape))
        with torch.no_grad():
            root = _root_of_level(self, level)
        inside = torch.isfinite(root)
        point = torch.where(inside, root, self.mean.detach())
        lower = level < 0.5
        missing = torch.where(lower, level - self.cdf(point), self.survival(point) - (1 - level))
        return torch.where(inside, self._moved(point, missing), root)

    def _moved(self, point: Float[Tensor, "..."], missing: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The point itself, with the derivative of where ``missing`` mass below it would move it."""
        density = self.log_prob(point).exp().detach().clamp(min=torch.finfo(point.dtype).tiny)
        return point + (missing - missing.detach()) / density

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.mean`."""
        return (self.probs * self.loc).sum(-1)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.variance`."""
        return (self.probs * (self.scale**2 + (self.loc - self.mean[..., None]) ** 2)).sum(-1)

    @property
    def mode(self) -> Float[Tensor, "*batch"]:
        """The highest point that an ascent from the components' means reaches; not differentiable."""
        with torch.no_grad():
            return _highest_point(self)

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The point with half of the probability below it."""
        return self.icdf(self.logits.new_tensor(0.5))

    def entropy(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.entropy`; by piecewise Gauss-Legendre quadrature, to about 1e-10."""
        return _entropy_integral(self)

    def rsample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.rsample`; differentiable by implicit reparametrisation."""
        shape = self._extended_shape(torch.Size(sample_shape))
        with torch.no_grad():
            probs = self.probs.expand(*shape, self.probs.shape[-1])
            component = probs.flatten(0, -2).multinomial(1).reshape(*shape, 1)
            loc, scale = (part.expand_as(probs).gather(-1, component)[..., 0] for part in (self.loc, self.scale))
            point = loc + scale * torch.randn(shape, dtype=loc.dtype, device=loc.device)
        return self._moved(point, -self.cdf(point))


def _root_of_level(mixture: NormalMixture, level: Float[Tensor, "*points"]) -> Float[Tensor, "*points"]:
    """The points below which a mixture has the probabilities ``level``.

    Newton's method, kept within a bracket that begins as the lowest and highest quantile of a component; the bracket is
    halved wherever Newton's step leaves it, or is more than half as long as the step before. Above one half it solves
    for the probability above, which keeps its digits.
    """
    low, high = _quantile_bracket(mixture, level)
    side, sought = torch.where(level < 0.5, 1, -1).to(level.dtype), torch.minimum(level, 1 - level)
    resolution = torch.finfo(level.dtype).eps
    smallest = mixture.scale.amin(-1)
    point, stride, settled = (low + high) / 2, high - low, torch.zeros_like(level, dtype=torch.bool)
    for _ in range(MAX_STEPS):
        mass, density = _mass_and_density(mixture, point, side)
        excess = side * (mass - sought)
        low, high = torch.where(excess <= 0, point, low), torch.where(excess >= 0, point, high)
        newton = point - excess / density
        usable = (newton >= low) & (newton <= high) & ((newton - point).abs() <= stride / 2)
        following = torch.where(usable, newton, low + (high - low) / 2)
        stride = (following - point).abs()
        # the step is nothing beside the point, or what it mends is nothing beside the rounding of the mass
        near = (stride <= resolution * (point.abs() + smallest)) | (excess.abs() <= 4 * resolution * sought)
        point = torch.where(settled, point, following)
        settled = settled | near | ~torch.isfinite(point)
        if bool(settled.all()):
            break
    ends = torch.where(level == 0, -torch.inf, torch.inf)
    return torch.where((level == 0) | (level == 1), ends, point)


def _mass_and_density(
    mixture: NormalMixture, point: Float[Tensor, "*points"], side: Float[Tensor, "*points"]
) -> tuple[Float[Tensor, "*points"], Float[Tensor, "*points"]]:
    """The probability below each point where ``side`` is 1, above it where it is -1; and the density there."""
    standardised = side[..., None] * (point[..., None] - mixture.loc) / mixture.scale
    mass = (mixture.probs * torch.special.ndtr(standardised)).sum(-1)
    density = (mixture.probs / mixture.scale * (-(standardised**2) / 2).exp()).sum(-1) / math.sqrt(2 * math.pi)
    return mass, density


def _quantile_bracket(
    mixture: NormalMixture, level: Float[Tensor, "*points"]
) -> tuple[Float[Tensor, "*points"], Float[Tensor, "*points"]]:
    """The lowest and the highest quantile among the components that have weight."""
    quantile = mixture.loc + mixture.scale * torch.special.ndtri(level)[..., None]
    empty = mixture.probs == 0
    slack = 1 + 4 * torch.finfo(level.dtype).eps  # rounding must not leave the root outside
    low = quantile.masked_fill(empty, torch.inf).amin(-1)
    high = quantile.masked_fill(empty, -torch.inf).amax(-1)
    return torch.minimum(low * slack, low / slack), torch.maximum(high * slack, high / slack)


def _highest_point(mixture: NormalMixture) -> Float[Tensor, "*batch"]:
    """The highest of the local maxima above the components' means.

    Each step is the better of Newton's and the mean shift, which never descends.
    """
    point = mixture.loc.movedim(-1, 0)  # (starts, *batch)
    for _ in range(ASCENT_STEPS):
        newton, shifted = _ascents(mixture, point)
        better = mixture.log_prob(newton) > mixture.log_prob(shifted)
        point = torch.where(better, newton, shifted)
    highest = mixture.log_prob(point).argmax(0, keepdim=True)
    return point.gather(0, highest)[0]


def _ascents(
    mixture: NormalMixture, point: Float[Tensor, "starts *batch"]
) -> tuple[Float[Tensor, "starts *batch"], Float[Tensor, "starts *batch"]]:
    """Where a Newton step on the log density and a mean-shift step lead."""
    precision = mixture.scale**-2
    distance = point[..., None] - mixture.loc
    log_parts = mixture.log_probs - mixture.scale.log() - distance**2 * precision / 2
    share = log_parts.softmax(-1)  # of each component in the density at the point
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

    So no piece is wide for any component that it meets, however different their scales are.
    """
    reach = torch.arange(-ENTROPY_REACH, ENTROPY_REACH + 1, dtype=mixture.loc.dtype, device=mixture.loc.device)
    with torch.no_grad():
        marks = (mixture.loc[..., None] + mixture.scale[..., None] * reach).flatten(-2).sort(-1).values.movedim(-1, 0)
        start, length = marks[:-1], marks.diff(dim=0)  # (pieces, *batch)
    total = torch.zeros_like(mixture.probs[..., 0])
    for node, weight in zip(*_gauss_legendre(20), strict=True):
        log_density = mixture.log_prob(start + length * node).clamp(min=torch.finfo(marks.dtype).min)
        total = total - weight * (length * log_density.exp() * log_density).sum(0)
    return total
