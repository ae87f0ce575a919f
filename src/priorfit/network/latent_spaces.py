"""What a network knows of the latents of its prior: names, supports, and exact maps from the real line onto them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import (
    AffineTransform,
    Bernoulli,
    Categorical,
    ComposeTransform,
    Distribution,
    ExpTransform,
    MixtureSameFamily,
    Transform,
    constraints,
)
from torch.special import ndtr, ndtri

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.latents import Latent, support_of

Kind = Literal["real", "above", "below", "bounded", "classes"]

SPREAD = (0.1587, 0.5, 0.8413)
"""Levels of the quantiles of prior draws that give a latent's coordinate location 0 and scale 1."""


class NormalCdf(Transform):
    """From the real line to (0, 1) by the standard Normal cdf: through it a uniform latent has a standard Normal."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True

    @property
    def sign(self) -> int:
        """It is increasing."""
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NormalCdf)

    def _call(self, x: Tensor) -> Tensor:
        return ndtr(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return ndtri(y.clamp(1e-15, 1 - 1e-15))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The log density of the standard Normal."""
        return -x.square() / 2 - 0.5 * torch.log(torch.tensor(2 * torch.pi, dtype=x.dtype, device=x.device))


@dataclass(frozen=True)
class LatentSpace:
    """A latent as a network knows it: ``size`` numbers, each with a real coordinate that has about unit spread.

    The value is ``v = shift + scale * coordinate`` itself, ``origin + exp(v)``, ``origin - exp(v)`` or, with bounds,
    ``origin + extent * normal_cdf(v)``: for a Normal, a LogNormal or a Uniform latent exactly the quantile function of
    its prior. Classes have none of these.
    """

    name: str
    size: int
    kind: Kind
    origin: tuple[float, ...] = ()
    extent: tuple[float, ...] = ()
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    count: int = 0
    """The number of classes."""

    def __post_init__(self) -> None:
        check_fields(self)
        lengths = {len(each) for each in (self.origin, self.extent, self.shift, self.scale)}
        if self.size < 1 or (self.kind != "classes" and lengths != {self.size}):
            raise InputError(f"latent {self.name!r} needs origin, extent, shift and scale of its size; got {self}.")

    @property
    def support(self) -> str:
        """Where its values lie, in words."""
        if self.kind == "classes":
            return f"0 ... {self.count - 1}"
        low, high = (min(self.origin), max(a + b for a, b in zip(self.origin, self.extent, strict=True)))
        words = {"real": "any number", "above": f"above {low:g}", "below": f"below {low:g}"}
        return words.get(self.kind, f"{low:g} to {high:g}")

    def transform(self, like: Float[Tensor, "..."]) -> ComposeTransform:
        """From coordinates ``(..., size)`` to values."""
        fields = (self.origin, self.extent, self.shift, self.scale)
        origin, extent, shift, scale = (self._tensor(each, like) for each in fields)
        parts: list[Transform] = [AffineTransform(shift, scale)]
        if self.kind in ("above", "below"):
            parts += [ExpTransform(), AffineTransform(origin, 1.0 if self.kind == "above" else -1.0)]
        if self.kind == "bounded":
            parts += [NormalCdf(), AffineTransform(origin, extent)]
        return ComposeTransform(parts)

    def encoded(self, value: Num[Tensor, "... size"]) -> Float[Tensor, "... size"]:
        """Coordinates of values, in float32; of classes the labels."""
        if self.kind == "classes":
            return value.float()
        return cast(Tensor, self.transform(value.double()).inv(value.double())).float()

    def decoded(self, number: Float[Tensor, "... size"]) -> Num[Tensor, "... size"]:
        """Values at coordinates; classes are whole numbers."""
        if self.kind == "classes":
            return number.long()
        return cast(Tensor, self.transform(number.double())(number.double()))

    def log_slope(self, number: Float[Tensor, "... size"]) -> Float[Tensor, "... size"]:
        """``log |d value / d coordinate|``, in float64."""
        if self.kind == "classes":
            return torch.zeros_like(number, dtype=torch.float64)
        onto, u = self.transform(number.double()), number.double()
        return onto.log_abs_det_jacobian(u, onto(u))

    def contains(self, value: Num[Tensor, "..."]) -> Bool[Tensor, "..."]:
        """Whether values, whose last axis is that of a vector, lie in the support."""
        if self.kind == "classes":
            return (value == value.round()) & (value >= 0) & (value < self.count)
        origin, extent = (self._tensor(each, value.double()) for each in (self.origin, self.extent))
        if self.kind == "bounded":
            return (value >= origin) & (value <= origin + extent)
        return {"above": value > origin, "below": value < origin}.get(self.kind, value == value)

    def check(self, value: Num[Tensor, "... size"]) -> None:
        """Refuse values outside of the support."""
        inside = self.contains(value)
        if not bool(inside.all()):
            got = float(value[~inside].flatten()[0])
            raise InputError(f"latent {self.name!r} must be {self.support}; got {got:g}, which its prior never draws.")

    def _tensor(self, numbers: tuple[float, ...], like: Float[Tensor, "..."]) -> Float[Tensor, "*size"]:
        """Numbers of a vector, or a single one without an axis, so that it fits any batch."""
        made = torch.tensor(numbers, dtype=like.dtype, device=like.device)
        return made if self.size > 1 else made[0]


def spaces_of(latents: Sequence[Latent], draws: Mapping[str, Num[Tensor, "draws size"]]) -> tuple[LatentSpace, ...]:
    """The spaces of a prior's latents; ``draws`` of the prior give the units of their coordinates."""
    found = []
    for latent in latents:
        law = latent.law(draws, len(draws[latent.name]))
        if isinstance(law, Categorical | Bernoulli):
            count = law.probs.shape[-1] if isinstance(law, Categorical) else 2
            found.append(LatentSpace(latent.name, latent.size, "classes", count=int(count)))
        else:
            found.append(_real_space(latent, law, draws[latent.name].double()))
    return tuple(found)


def _real_space(latent: Latent, law: Distribution, draws: Float[Tensor, "draws size"]) -> LatentSpace:
    kind, origin, extent = _placed_support(latent.size, *(_constant(bound, draws) for bound in bounds(law)))
    space = partial(LatentSpace, latent.name, latent.size, kind, _plain(origin), _plain(extent))
    fixed = space(shift=(0.0,) * latent.size, scale=(1.0,) * latent.size)
    raw = cast(Tensor, fixed.transform(draws).inv(draws)).clamp(-1e6, 1e6)
    lower, middle, upper = torch.quantile(raw, torch.tensor(SPREAD, dtype=raw.dtype), dim=0)  # (size) each
    scale = ((upper - lower) / 2).clamp_min(1e-6)
    if kind == "bounded" and bool(((middle.abs() < 0.1) & ((scale - 1).abs() < 0.1)).all()):
        return fixed  # uniform: the map is the prior's own quantile function
    return space(shift=_plain(middle), scale=_plain(scale))


def _placed_support(
    size: int, low: Float[Tensor, " size"] | None, high: Float[Tensor, " size"] | None
) -> tuple[Kind, Float[Tensor, " size"], Float[Tensor, " size"]]:
    """The kind of a support with these bounds, its origin and its extent."""
    ones = torch.ones(size, dtype=torch.float64)
    if low is not None:
        return ("above", low, ones) if high is None else ("bounded", low, high - low)
    return ("real", 0 * ones, ones) if high is None else ("below", high, ones)


def bounds(law: Distribution) -> tuple[Tensor | None, Tensor | None]:
    """The lower and upper bound of a law's support, None where there is none; of a mixture those of its components."""
    support = support_of(law)
    low, high = (getattr(support, name, None) for name in ("lower_bound", "upper_bound"))
    tensors = (None if each is None else torch.as_tensor(each, dtype=torch.float64) for each in (low, high))
    low, high = tensors
    if isinstance(law, MixtureSameFamily):  # the last axis is that of the components
        low = low if low is None or low.ndim < 1 else low.amin(-1)
        high = high if high is None or high.ndim < 1 else high.amax(-1)
    return low, high


def _constant(bound: Tensor | None, draws: Float[Tensor, "draws size"]) -> Float[Tensor, " size"] | None:
    """A bound that is the same for all datasets; one that depends on other latents is none."""
    if bound is None:
        return None
    table = bound.expand(draws.shape)
    return table[0] if bool((table == table[:1]).all()) else None


def _plain(numbers: Float[Tensor, " size"]) -> tuple[float, ...]:
    return tuple(float(each) for each in numbers)
