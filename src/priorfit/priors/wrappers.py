"""Priors made of a prior: labels, unit scale, a varying number of features, features that count more than others.

No statistic sees the queries. With the dataset's own median as threshold the last label follows from counting the
others; with its own mean, the last target follows by subtraction. So thresholds and scales come from
``num_reference`` extra points of the same function, which are drawn first and thrown away. The inner prior's
conditional given these and the context is then an exact target.

A wrapped `Mixture` whose priors have inputs or features of their own is the mixture of the wrapped priors.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.data import Classes, Datasets, Outcome, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.architectures import GammaRange, Sampler, check_range
from priorfit.priors.conditionals import BinarizedConditional, StandardizedConditional
from priorfit.priors.inputs import Inputs, RescaledInputs
from priorfit.priors.latents import Latent
from priorfit.priors.mixture import Mixture
from priorfit.priors.prior import Prior

THRESHOLDS = ("reference_median", "dataset_median")


@dataclass(frozen=True)
class Wrapper(Prior):
    """A prior made of another one."""

    prior: Prior

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)
    num_extra: int = field(init=False, repr=False)
    offers_expected: bool = field(init=False, repr=False)
    latents: tuple[Latent, ...] = field(init=False, repr=False, compare=False)
    mixture: Mixture | None = field(init=False, repr=False, compare=False)
    """The same prior as a mixture of wrapped priors, where those of the inner one draw their own inputs."""

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`."""
        return self.prior.uses_whole_dataset

    @abstractmethod
    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """The datasets at ``x``, made of those that the inner prior draws there."""

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`."""
        return self.wrapped(x) if self.mixture is None else self.mixture.draw(x)

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`."""
        if self.mixture is not None:
            return self.mixture.sample(batch_size, num_points)
        return super().sample(batch_size, num_points)


@dataclass(frozen=True)
class Binarized(Wrapper):
    """Two classes: whether a real target exceeds a threshold.

    ``threshold="reference_median"`` takes the median of ``num_reference`` extra points. ``"dataset_median"`` is the
    paper's: balanced labels, but they leak (n - 1 labels give the last one away), and there is no
    conditional; it is there for the study that shows this.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> labels = Binarized(GaussianProcess(num_features=2)).sample(batch_size=4, num_points=10)
    >>> labels.y.shape, labels.y.unique()
    (torch.Size([4, 10]), tensor([0., 1.]))
    """

    threshold: str = "reference_median"
    num_reference: int = 64

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        check_fields(self)
        _check_inner(self.prior, "Binarized", outcome=Real())
        _check_reference(self.num_reference)
        if self.threshold not in THRESHOLDS:
            raise InputError(f"threshold must be one of {', '.join(THRESHOLDS)}; got {self.threshold!r}.")
        by_reference = self.threshold == "reference_median"
        settle(
            self,
            outcome=Classes(2),
            num_extra=self.prior.num_extra + (self.num_reference if by_reference else 0),
            offers_expected=by_reference and self.prior.offers_expected,
        )

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`."""
        return self.threshold == "dataset_median" or self.prior.uses_whole_dataset

    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Wrapper.wrapped`."""
        inner = self.prior.draw(x)
        if self.threshold == "dataset_median":
            median = inner.y.median(dim=-1, keepdim=True).values  # (batch, 1)
            return Datasets(inner.x, (inner.y > median).to(x.dtype), latents=inner.latents)
        reference, x, y = _divided(inner, self.num_reference)
        median = reference.quantile(0.5, dim=-1, keepdim=True)  # (batch, 1)
        labels = (y > median).to(x.dtype)
        if inner.conditional is None:
            return Datasets(x, labels, latents=inner.latents)
        conditional = BinarizedConditional(inner.conditional, self.num_reference, median)
        return Datasets(x, labels, conditional, inner.latents)


@dataclass(frozen=True)
class Standardized(Wrapper):
    """Real targets shifted and scaled by mean and standard deviation of ``num_reference`` extra points.

    A function that is constant on these points is shifted only.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> Standardized(GaussianProcess(outputscale=100.0)).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_reference: int = 64

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        check_fields(self)
        _check_inner(self.prior, "Standardized", outcome=Real())
        _check_reference(self.num_reference)
        settle(self, num_extra=self.prior.num_extra + self.num_reference)

    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Wrapper.wrapped`."""
        inner = self.prior.draw(x)
        reference, x, y = _divided(inner, self.num_reference)
        shift = reference.mean(-1, keepdim=True)  # (batch, 1)
        spread = reference.std(-1, keepdim=True)  # (batch, 1)
        scale = torch.where(spread > 0, spread, 1)
        standardized = (y - shift) / scale
        if inner.conditional is None:
            return Datasets(x, standardized, latents=inner.latents)
        conditional = StandardizedConditional(inner.conditional, self.num_reference, shift, scale)
        return Datasets(x, standardized, conditional, inner.latents)


@dataclass(frozen=True)
class PaddedFeatures(Wrapper):
    """A varying number of features in a table of fixed width, so that one network serves many tables.

    ``used`` draws the number in use for each dataset; without it the number is uniform on min_features ...
    max_features. The other columns are 0, for the function and for the network; what the network sees is multiplied by
    max_features / used, so that the size of its input does not depend on the number. With ``rescaled="for_both"`` the
    function sees the multiplied features too: the more of them there are, the smoother it is.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> PaddedFeatures(GaussianProcess(), max_features=6).sample(batch_size=4, num_points=10).x.shape
    torch.Size([4, 10, 6])
    """

    max_features: int
    min_features: int = 1
    used: Sampler | None = None
    rescaled: Literal["for_network", "for_both"] = "for_network"

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        check_fields(self)
        if not 1 <= self.min_features <= self.max_features:
            raise InputError(
                "PaddedFeatures needs 1 <= min_features <= max_features; got "
                f"min_features={self.min_features}, max_features={self.max_features}."
            )
        if self.used is not None:
            check_range("used", self.used, self.min_features, self.max_features)
        inputs = RescaledInputs(self.prior.inputs, self.max_features / self.min_features)
        settle(self, num_features=self.max_features, inputs=inputs)

    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Wrapper.wrapped`; ``x`` has ``max_features`` columns."""
        used = self._numbers(len(x), x.device)[:, None, None]
        kept = torch.arange(x.shape[-1], device=x.device) < used  # (batch, 1, features)
        factor = (self.max_features / used).to(x.dtype)
        if self.rescaled == "for_both":
            return self.prior.draw(x * (kept * factor))
        inner = self.prior.draw(x * kept)
        return Datasets(inner.x * factor, inner.y, inner.conditional, inner.latents)

    def _numbers(self, count: int, device: torch.device) -> Int[Tensor, " count"]:
        """The number of features in use of each dataset."""
        if self.used is None:
            return torch.randint(self.min_features, self.max_features + 1, (count,), device=device)
        return self.used.sample(count).round().long().to(device)

    def targets(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points"]:
        """See `Prior.targets`; ``x`` is what the network sees, so the columns in use are those that are not all 0."""
        if self.mixture is not None:
            return self.mixture.targets(x)
        column = torch.arange(1, x.shape[-1] + 1, device=x.device)
        used = ((x != 0).any(-2) * column).amax(-1).clamp(self.min_features, self.max_features)[:, None, None]
        extra = self.inputs.sample(len(x), self.num_extra, x.shape[-1]).to(x) * (column <= used)
        factor = (self.max_features / used).to(x.dtype)
        whole = [extra * factor, x] if self.rescaled == "for_both" else [extra, x / factor]
        return self.prior.draw(torch.cat(whole, dim=-2)).y


@dataclass(frozen=True)
class WeightedFeatures(Wrapper):
    """Features that count more than others: the function sees each multiplied by a weight of its own.

    The weights are drawn for each dataset; the network sees the features as they are, and has to find out which matter
    (in a Gaussian process: automatic relevance determination). By default they have mean 1 and are often close to 0.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> WeightedFeatures(GaussianProcess(num_features=3)).sample(batch_size=4, num_points=10).x.shape
    torch.Size([4, 10, 3])
    """

    weights: Sampler = GammaRange(k=(0.5, 0.5), theta=(2.0, 2.0))

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        check_fields(self)
        if self.weights.range[0] < 0:
            raise InputError(f"the weights of features must be at least 0; got {self.weights}.")
        settle(self)

    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Wrapper.wrapped`."""
        weights = self.weights.sample(len(x) * x.shape[-1]).unflatten(0, (len(x), 1, x.shape[-1]))
        inner = self.prior.draw(x * weights.to(x))
        return Datasets(x[:, self.prior.num_extra :], inner.y, inner.conditional, inner.latents)


def settle(wrapper: Wrapper, **own: object) -> None:
    """Take the fields of the inner prior, or of the mixture that the wrapper amounts to, except for ``own``."""
    inner = wrapper.prior.mixture if isinstance(wrapper.prior, Wrapper) else wrapper.prior
    mixture = None
    if isinstance(inner, Mixture) and inner.has_own_inputs:
        mixture = Mixture([replace(wrapper, prior=prior) for prior in inner.priors], inner.weights, inner.kinds)
    source = wrapper.prior if mixture is None else mixture
    for name in ("num_features", "inputs", "outcome", "num_extra", "offers_expected", "latents"):
        value = getattr(source, name) if mixture is not None or name not in own else own[name]
        object.__setattr__(wrapper, name, value)
    object.__setattr__(wrapper, "mixture", mixture)


def _divided(
    inner: Datasets, num_reference: int
) -> tuple[Float[Tensor, "batch reference"], Float[Tensor, "batch points features"], Float[Tensor, "batch points"]]:
    """The targets of the reference points, then the inputs and targets of the others."""
    return inner.y[:, :num_reference], inner.x[:, num_reference:], inner.y[:, num_reference:]


def _check_reference(num_reference: int) -> None:
    if num_reference < 2:
        raise InputError(f"num_reference must be at least 2, to say anything of a function; got {num_reference}.")


def _check_inner(prior: Prior, wrapper: str, outcome: Outcome) -> None:
    if prior.outcome != outcome:
        raise InputError(f"{wrapper} needs a prior over {outcome}; got one over {prior.outcome}.")
