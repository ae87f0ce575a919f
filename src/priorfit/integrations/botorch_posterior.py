"""What BoTorch asks of a posterior, answered by the joint predictive of a network."""

import warnings
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution
from torch.quasirandom import SobolEngine

from priorfit.distributions.normal_tails import normal_cdf
from priorfit.errors import ShapeError
from priorfit.extras import needs_extra
from priorfit.network import Model
from priorfit.network.units import Units

with needs_extra("botorch"), warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # of linear_operator
    from botorch.posteriors.posterior import Posterior
    from botorch.sampling.base import MCSampler
    from botorch.sampling.get_sampler import GetSampler
    from botorch.sampling.normal import IIDNormalSampler, SobolQMCNormalSampler


NO_DRAWS = torch.Size()
"""The sample shape of one draw."""


@runtime_checkable
class Joint(Protocol):
    """The joint predictive of q points, in the model's units: margins, and draws as functions of standard Normals."""

    @property
    def margins(self) -> Distribution:
        """The predictive of each point."""
        ...

    def transformed(
        self, normal: Float[Tensor, "*draws query"], level: Float[Tensor, "*draws"]
    ) -> Float[Tensor, "*draws query"]:
        """Draws from standard Normals, and from uniform levels for what else is random."""
        ...

    def sample(self, sample_shape: torch.Size) -> Float[Tensor, "*draws query"]:
        """Draws without gradients."""
        ...


@dataclass(frozen=True)
class PointAfterPoint:
    """Each point given those before it, for networks without a solver: noisy as data are, and a pass for each point."""

    model: Model
    x: Float[Tensor, "*batch points columns"]
    y: Float[Tensor, "*batch points"]
    query_x: Float[Tensor, "*batch query columns"]
    margins: Distribution

    def transformed(
        self, normal: Float[Tensor, "*draws query"], level: Float[Tensor, "*draws"]
    ) -> Float[Tensor, "*draws query"]:
        """See `Joint.transformed`; levels are not used, since Normals are enough for one point after the other."""
        draws = normal.shape[: normal.ndim - self.query_x.ndim + 1]
        x, y, query_x = (each.expand(*draws, *each.shape) for each in (self.x, self.y, self.query_x))
        drawn = []
        for place in range(normal.shape[-1]):
            here = query_x[..., [place], :]
            ppd = self.model.condition(x, y).predict(here)
            drawn.append(ppd.icdf(normal_cdf(normal[..., [place]])).to(y))
            x, y = torch.cat([x, here], dim=-2), torch.cat([y, drawn[-1]], dim=-1)
        return torch.cat(drawn, dim=-1)

    def sample(self, sample_shape: torch.Size) -> Float[Tensor, "*draws query"]:
        """See `Joint.sample`."""
        with torch.no_grad():
            shape = (*sample_shape, *self.query_x.shape[:-1])
            return self.transformed(torch.randn(shape).to(self.y), torch.rand(shape[:-1]).to(self.y))


class PFNPosterior(Posterior):
    """The posterior of one outcome at q points, in the user's units; shapes are BoTorch's, ``(*batch, q, 1)``.

    Base samples are ``(*batch, q + 1)`` standard Normals: one for each point, and one that chooses the component of the
    solver's mixture.
    """

    def __init__(self, joint: Joint, units: Units, tensor: Float[Tensor, "*batch q columns"]) -> None:
        """Wrap a joint predictive; outcomes are ``units.shift + units.scale`` times its own, ``tensor`` is X."""
        self.joint, self.units = joint, units
        self._like = tensor

    @property
    def batch_shape(self) -> torch.Size:
        """Batches of q points."""
        return self._like.shape[:-2]

    @property
    def device(self) -> torch.device:
        """See `Posterior.device`."""
        return self._like.device

    @property
    def dtype(self) -> torch.dtype:
        """See `Posterior.dtype`."""
        return self._like.dtype

    @property
    def event_shape(self) -> torch.Size:
        """The shape of one draw."""
        return torch.Size([*self._like.shape[:-1], 1])

    @property
    def base_sample_shape(self) -> torch.Size:
        """See `Posterior.base_sample_shape`."""
        return torch.Size([*self._like.shape[:-2], self._like.shape[-2] + 1])

    @property
    def batch_range(self) -> tuple[int, int]:
        """See `Posterior.batch_range`."""
        return (0, -1)

    def _extended_shape(self, sample_shape: torch.Size = NO_DRAWS) -> torch.Size:
        return torch.Size([*sample_shape, *self.event_shape])

    def _to_user(self, values: Float[Tensor, "*draws query"]) -> Float[Tensor, "*draws query 1"]:
        shift, scale = (part.to(self._like) for part in (self.units.shift, self.units.scale))
        return (shift + scale * values.to(self._like))[..., None]

    @property
    def mean(self) -> Float[Tensor, "*batch query 1"]:
        """The mean at each point."""
        return self._to_user(self.joint.margins.mean)

    @property
    def variance(self) -> Float[Tensor, "*batch query 1"]:
        """The variance at each point."""
        return (self.units.scale.to(self._like).square() * self.joint.margins.variance.to(self._like))[..., None]

    def quantile(self, value: Float[Tensor, " levels"]) -> Float[Tensor, "*levels_batch query 1"]:
        """See `Posterior.quantile`: those of each point, one for each level in front; exact, not those of a Normal."""
        level = torch.as_tensor(value).reshape(-1, *[1] * (len(self.event_shape) - 1))
        level = torch.where(self.units.scale.to(level) < 0, 1 - level, level)  # a mirrored outcome
        return self._to_user(self.joint.margins.icdf(level))

    def density(self, value: Float[Tensor, "*draws query 1"]) -> Float[Tensor, "*draws query 1"]:
        """See `Posterior.density`: that of each point."""
        shift, scale = (part.to(value) for part in (self.units.shift, self.units.scale))
        own = (value[..., 0] - shift) / scale
        return (self.joint.margins.log_prob(own).exp() / scale.abs())[..., None]

    def rsample(self, sample_shape: torch.Size | None = None) -> Float[Tensor, "*draws query 1"]:
        """See `Posterior.rsample`; without a gradient to X, the solver's weights are drawn once for any q."""
        shape = torch.Size() if sample_shape is None else torch.Size(sample_shape)
        if not (torch.is_grad_enabled() and self.joint.margins.mean.requires_grad):
            return self._to_user(self.joint.sample(shape))
        base = torch.randn(*shape, *self.base_sample_shape, dtype=self.dtype, device=self.device)
        return self.rsample_from_base_samples(shape, base)

    def rsample_from_base_samples(
        self, sample_shape: torch.Size, base_samples: Float[Tensor, "*draws numbers"]
    ) -> Float[Tensor, "*draws query 1"]:
        """See `Posterior.rsample_from_base_samples`; smooth in X, with exact gradients."""
        expected = (*sample_shape, *self.base_sample_shape)
        if tuple(base_samples.shape) != expected:
            raise ShapeError(f"base_samples must have shape {expected}; got {tuple(base_samples.shape)}.")
        return self._to_user(self.joint.transformed(base_samples[..., :-1], normal_cdf(base_samples[..., -1])))

    def transformed(self, weight: Float[Tensor, ""], offset: float) -> "PFNPosterior":
        """The posterior of ``offset + weight * outcome``; a negative weight turns a maximum into a minimum."""
        units = Units(offset + weight * self.units.shift, weight * self.units.scale)
        return PFNPosterior(self.joint, units, self._like)


@GetSampler.register(PFNPosterior)
def _sampler(posterior: PFNPosterior, sample_shape: torch.Size, *, seed: int | None = None) -> MCSampler:
    """Sobol points, or independent draws where there are more dimensions than Sobol points have."""
    kind = SobolQMCNormalSampler if posterior.base_sample_shape[-1] <= SobolEngine.MAXDIM else IIDNormalSampler
    return kind(sample_shape=sample_shape, seed=seed)
