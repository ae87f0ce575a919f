"""What both Riemann distributions share: a probability for each bucket, and a fixed shape of the density within it."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.utils import lazy_property
from torch.nn.functional import pad

from priorfit.distributions.constraints import increasing, vector_without_nan
from priorfit.distributions.lookup import at, bucket_of, points_first, points_last
from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.values import (
    Values,
    as_levels,
    as_values,
    broadcast_shape,
    check_parameters,
    readable_constraints,
)
from priorfit.errors import ShapeError


class Riemann(Distribution, ABC):
    """A distribution over buckets of the real line (the paper's Riemann distribution, section 3).

    Bucket k lies between ``borders[..., k]`` and ``borders[..., k + 1]`` and has probability ``probs[..., k]``.
    A subclass says how the probability lies within its bucket.

    Args:
        borders: strictly increasing; one vector for all, or one for each batch element (any broadcastable shape).
        logits: the log probabilities of the buckets up to a constant; -inf makes a bucket empty.
        validate_args: as in ``torch.distributions``. Values outside the support are never an error.
    """

    arg_constraints = {  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
        "borders": increasing,
        "logits": vector_without_nan,
    }
    has_rsample = True

    def __init__(
        self,
        borders: Float[Tensor, "*#batch borders"],
        logits: Float[Tensor, "*#batch buckets"],
        validate_args: bool | None = None,
    ) -> None:
        check_parameters(borders=borders, logits=logits)
        if borders.ndim < 1 or logits.ndim < 1 or borders.shape[-1] != logits.shape[-1] + 1:
            raise ShapeError(
                "borders must have one entry more than logits along the last axis; got shapes "
                f"{tuple(borders.shape)} and {tuple(logits.shape)}."
            )
        batch_shape = broadcast_shape(borders.shape[:-1], logits.shape[:-1])
        dtype = torch.promote_types(borders.dtype, logits.dtype)
        self.borders = borders.to(dtype)
        self.logits = logits.to(dtype).expand(*batch_shape, logits.shape[-1])
        with readable_constraints():
            super().__init__(batch_shape, validate_args=validate_args)

    @abstractmethod
    def _log_density_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        """The log density at points, given that their bucket is the one drawn."""

    @abstractmethod
    def _cdf_within(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        """The share of the bucket's probability that lies below points."""

    @abstractmethod
    def _icdf_within(
        self,
        below: Float[Tensor, "*batch points"],
        above: Float[Tensor, "*batch points"],
        index: Int64[Tensor, "*batch points"],
    ) -> Float[Tensor, "*batch points"]:
        """The points with a share ``below`` of the bucket's probability below them.

        ``above`` is the share above them, without the cancellation of ``1 - below``; it holds in the last bucket only.
        """

    @property
    @abstractmethod
    def ends(self) -> tuple[Float[Tensor, "*#batch"], Float[Tensor, "*#batch"]]:
        """The lowest and the highest point of the support."""

    @property
    @abstractmethod
    def bucket_means(self) -> Float[Tensor, "*#batch buckets"]:
        """The mean of each bucket's own density."""

    @property
    @abstractmethod
    def bucket_variances(self) -> Float[Tensor, "*#batch buckets"]:
        """The variance of each bucket's own density."""

    @property
    @abstractmethod
    def bucket_entropies(self) -> Float[Tensor, "*#batch buckets"]:
        """The entropy of each bucket's own density."""

    @property
    @abstractmethod
    def bucket_modes(self) -> Float[Tensor, "*#batch buckets"]:
        """A point of each bucket where its own density is highest."""

    @property
    @abstractmethod
    def log_heights(self) -> Float[Tensor, "*#batch buckets"]:
        """The log of each bucket's own density where it is highest."""

    @property
    def widths(self) -> Float[Tensor, "*#batch buckets"]:
        """The distances between neighbouring borders."""
        return self.borders.diff(dim=-1)

    @lazy_property
    def log_probs(self) -> Float[Tensor, "*batch buckets"]:
        """The log probabilities of the buckets."""
        return self.logits.log_softmax(-1)

    @lazy_property
    def probs(self) -> Float[Tensor, "*batch buckets"]:
        """The probabilities of the buckets."""
        return self.log_probs.exp()

    @lazy_property
    def _exact_probs(self) -> Float64[Tensor, "*batch buckets"]:
        """Probabilities in float64; in float32 a tail of 1e-4, a difference of sums, is off by half a percent."""
        return self.logits.double().softmax(-1)

    @lazy_property
    def _cumulative(self) -> Float64[Tensor, "*batch borders"]:
        return pad(self._exact_probs.cumsum(-1), (1, 0))

    def expand(self, batch_shape: torch.Size | list[int] | tuple[int, ...], _instance: None = None) -> "Riemann":
        """See `Distribution.expand`; the borders stay shared."""
        logits = self.logits.expand(*batch_shape, self.logits.shape[-1])
        expanded = type(self)(self.borders, logits, validate_args=False)
        expanded._validate_args = self._validate_args
        return expanded

    def _broadcast(self, value: Float[Tensor, "..."]) -> "Riemann":
        """This distribution, expanded along batch axes of size 1 where values have more entries."""
        shape = broadcast_shapes(value.shape, self.batch_shape)
        shape = shape[len(shape) - len(self.batch_shape) :]
        return self if shape == self.batch_shape else self.expand(shape)

    def _points(self, value: Values) -> tuple["Riemann", Float[Tensor, "*batch points"], torch.Size]:
        """This distribution broadcast with values, the values with their own axes last, and their shape."""
        values = as_values(value, self.logits, self.batch_shape).to(self.logits.dtype)
        expanded = self._broadcast(values)
        return expanded, *points_last(values, expanded.batch_shape)

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`; -inf outside the support."""
        self, points, shape = self._points(value)
        index = bucket_of(self.borders[..., 1:-1], points, side="right")
        log_prob = self.log_probs.gather(-1, index) + self._log_density_within(points, index)
        return points_first(torch.where(points.isnan(), points, log_prob), shape)

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`."""
        self, points, shape = self._points(value)
        index = bucket_of(self.borders[..., 1:-1], points, side="right")
        within = self._exact_probs.gather(-1, index) * self._cdf_within(points.double(), index)
        below = (self._cumulative.gather(-1, index) + within).clamp(max=1)
        return points_first(below.to(self.logits.dtype), shape)

    def icdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.icdf`; the levels 0 and 1 give the ends of the support, others outside (0, 1) NaN.

        Several levels go on an axis before the batch: ``levels[:, None]`` for a batch shape of one axis.
        """
        value = as_levels(value, self.logits, self.batch_shape)
        self = self._broadcast(value)
        levels, shape = points_last(value, self.batch_shape)
        inside = (levels > 0) & (levels < 1)
        safe = torch.where(inside, levels, 0.5)  # keeps infinite derivatives out of what is not selected below
        index = bucket_of(self._cumulative[..., 1:-1], safe, side="left")
        mass = self._exact_probs.gather(-1, index)
        mass = torch.where(mass > 0, mass, 1)
        below = ((safe - self._cumulative.gather(-1, index)) / mass).clamp(0, 1)
        result = self._icdf_within(below, ((1 - safe) / mass).clamp(0, 1), index)
        result = result.to(self.logits.dtype) - self._overshoot(result, index)
        low, high = self.ends
        result = torch.where(inside, result, torch.where(levels == 0, low[..., None], torch.nan))
        return points_first(torch.where(levels == 1, high[..., None], result), shape)

    @torch.no_grad()
    def _overshoot(
        self, points: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        """How far to go back from a bucket's upper border, which is part of the next bucket, if that one is empty."""
        rounded, border = points.to(self.borders.dtype), at(self.borders, index + 1)
        following = (index + 1).clamp(max=self.logits.shape[-1] - 1)
        outside = (rounded >= border) & (following > index) & (self.probs.gather(-1, following) == 0)
        return torch.where(outside, rounded - torch.nextafter(border, self.borders[..., :1]), 0)

    def _uniform_icdf(
        self, below: Float[Tensor, "*batch points"], index: Int64[Tensor, "*batch points"]
    ) -> Float[Tensor, "*batch points"]:
        """The points of uniform buckets, counted from the nearer border: rounding leads none out of its bucket."""
        width = at(self.widths, index)
        return torch.where(
            below < 0.5, at(self.borders, index) + width * below, at(self.borders, index + 1) - width * (1 - below)
        )

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.mean`."""
        return (self.probs * self.bucket_means).sum(-1)

    @property
    def variance(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.variance`."""
        deviations = self.bucket_means - self.mean[..., None]
        return (self.probs * (self.bucket_variances + deviations**2)).sum(-1)

    @property
    def mode(self) -> Float[Tensor, "*batch"]:
        """A point of the highest density: a bucket's middle, or the inner border of a tail, seen from the tail."""
        highest = (self.log_probs + self.log_heights).argmax(-1, keepdim=True)
        return at(self.bucket_modes, highest)[..., 0]

    @property
    def median(self) -> Float[Tensor, "*batch"]:
        """The point with half of the probability below it."""
        return self.icdf(0.5)

    def entropy(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.entropy`."""
        # An empty bucket adds 0; the clamp keeps 0 * -inf out of the value and of the gradient.
        log_probs = self.log_probs.clamp(min=torch.finfo(self.logits.dtype).min)
        return (self.probs * (self.bucket_entropies - log_probs)).sum(-1)

    def rsample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.rsample`: the inverse cdf of uniform levels."""
        shape = self._extended_shape(torch.Size(sample_shape))
        levels = torch.rand(shape, dtype=torch.float64, device=self.logits.device)
        return self.icdf(levels.clamp_(min=torch.finfo(levels.dtype).eps))
