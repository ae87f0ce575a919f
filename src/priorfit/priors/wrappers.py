"""Priors made of a prior: labels, unit scale, a varying number of features.

No statistic sees the queries. With the dataset's own median as threshold the last label follows from counting the
others; with its own mean, the last target follows by subtraction. So thresholds and scales come from
``num_reference`` extra points of the same function, which are drawn first and thrown away. The inner prior's
conditional given these and the context is then an exact target.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes, Datasets, Outcome, Real
from priorfit.errors import InputError
from priorfit.priors.conditionals import BinarizedConditional, StandardizedConditional
from priorfit.priors.inputs import Inputs, MixtureInputs, RescaledInputs
from priorfit.priors.mixture import Mixture
from priorfit.priors.prior import Prior

THRESHOLDS = ("reference_median", "dataset_median")


@dataclass(frozen=True)
class Binarized(Prior):
    """Two classes: whether a real target exceeds a threshold.

    ``threshold="reference_median"`` takes the median of ``num_reference`` extra points. ``"dataset_median"`` is the
    paper's: balanced labels, but they leak (n - 1 labels give the last one away), and there is no
    conditional; it is there for the study that shows this.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> labels = Binarized(GaussianProcess(num_features=2)).sample(batch_size=4, num_points=10)
    >>> labels.y.shape, labels.y.unique()
    (torch.Size([4, 10]), tensor([0., 1.]))
    """

    prior: Prior
    threshold: str = "reference_median"
    num_reference: int = 64

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    num_extra: int = field(init=False, repr=False)
    offers_expected: bool = field(init=False, repr=False)

    outcome = Classes(2)

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        _check_inner(self.prior, "Binarized", outcome=Real())
        _check_reference(self.num_reference)
        if self.threshold not in THRESHOLDS:
            raise InputError(f"threshold must be one of {', '.join(THRESHOLDS)}; got {self.threshold!r}.")
        by_reference = self.threshold == "reference_median"
        _take_over(self, self.prior, num_extra=self.num_reference if by_reference else 0)
        object.__setattr__(self, "offers_expected", by_reference and self.prior.offers_expected)

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`."""
        inner = self.prior.draw(x)
        if self.threshold == "dataset_median":
            median = inner.y.median(dim=-1, keepdim=True).values  # (batch, 1)
            return Datasets(inner.x, (inner.y > median).to(x.dtype))
        reference, x, y = _divided(inner, self.num_reference)
        median = reference.quantile(0.5, dim=-1, keepdim=True)  # (batch, 1)
        labels = (y > median).to(x.dtype)
        if inner.conditional is None:
            return Datasets(x, labels)
        return Datasets(x, labels, BinarizedConditional(inner.conditional, self.num_reference, median))


@dataclass(frozen=True)
class Standardized(Prior):
    """Real targets shifted and scaled by mean and standard deviation of ``num_reference`` extra points.

    A function that is constant on these points is shifted only.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> Standardized(GaussianProcess(outputscale=100.0)).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    prior: Prior
    num_reference: int = 64

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    num_extra: int = field(init=False, repr=False)
    offers_expected: bool = field(init=False, repr=False)

    outcome = Real()

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        _check_inner(self.prior, "Standardized", outcome=Real())
        _check_reference(self.num_reference)
        _take_over(self, self.prior, num_extra=self.num_reference)

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`."""
        inner = self.prior.draw(x)
        reference, x, y = _divided(inner, self.num_reference)
        shift = reference.mean(-1, keepdim=True)  # (batch, 1)
        spread = reference.std(-1, keepdim=True)  # (batch, 1)
        scale = torch.where(spread > 0, spread, 1)
        standardized = (y - shift) / scale
        if inner.conditional is None:
            return Datasets(x, standardized)
        return Datasets(x, standardized, StandardizedConditional(inner.conditional, self.num_reference, shift, scale))


@dataclass(frozen=True)
class PaddedFeatures(Prior):
    """A varying number of features in a table of fixed width, so that one network serves many tables.

    The number in use is uniform on min_features ... max_features for each dataset. The other columns are 0, for the
    function and for the network; what the network sees is multiplied by max_features / used, so that the
    size of its input does not depend on the number.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> PaddedFeatures(GaussianProcess(), max_features=6).sample(batch_size=4, num_points=10).x.shape
    torch.Size([4, 10, 6])
    """

    prior: Prior
    max_features: int
    min_features: int = 1

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    num_extra: int = field(init=False, repr=False)
    offers_expected: bool = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        _check_inner(self.prior, "PaddedFeatures", outcome=self.prior.outcome)
        if not 1 <= self.min_features <= self.max_features:
            raise InputError(
                "PaddedFeatures needs 1 <= min_features <= max_features; got "
                f"min_features={self.min_features}, max_features={self.max_features}."
            )
        _take_over(self, self.prior, num_extra=0)
        inputs = RescaledInputs(self.prior.inputs, self.max_features / self.min_features)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "num_features", self.max_features)
        object.__setattr__(self, "outcome", self.prior.outcome)

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`; ``x`` has ``max_features`` columns."""
        used = torch.randint(self.min_features, self.max_features + 1, (len(x), 1, 1), device=x.device)
        kept = torch.arange(x.shape[-1], device=x.device) < used  # (batch, 1, features)
        inner = self.prior.draw(x * kept)
        return Datasets(inner.x * (self.max_features / used).to(x.dtype), inner.y, inner.conditional)


def _take_over(wrapper: Prior, prior: Prior, num_extra: int) -> None:
    """Say what the inner prior says, with more extra points."""
    for name in ("num_features", "inputs", "offers_expected"):
        object.__setattr__(wrapper, name, getattr(prior, name))
    object.__setattr__(wrapper, "num_extra", prior.num_extra + num_extra)


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
    if isinstance(prior, Mixture) and isinstance(prior.inputs, MixtureInputs):
        raise InputError(
            f"{wrapper} draws the inputs, but the priors of this Mixture have inputs of their own. Wrap each of "
            f"them: Mixture([{wrapper}(first), {wrapper}(second), ...])."
        )
