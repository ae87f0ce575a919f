"""Architectures of networks, drawn for each dataset, with the samplers and options of the paper's appendix."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import InputError
from priorfit.fields import check_fields

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType({"tanh": torch.tanh, "relu": torch.relu})

LARGEST_SPARSITY = 0.999
"""Largest share of dropped weights. A larger draw is set to it, since the rest are divided by the share kept."""


class Sampler(ABC):
    """Draws one number for each dataset."""

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """The interval that holds every draw."""

    @abstractmethod
    def sample(self, count: int) -> Float[Tensor, " count"]:
        """Draw ``count`` numbers."""


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (value > 0 and isfinite(value)):
            raise InputError(f"{name} must be positive and finite; got {value}.")


def check_range(name: str, sampler: Sampler, low: float, high: float) -> None:
    """Refuse a sampler that may draw a number outside of an interval."""
    smallest, largest = sampler.range
    if not low <= smallest <= largest <= high:
        raise InputError(f"{name} must lie between {low} and {high}; got {sampler}.")


@dataclass(frozen=True)
class Constant(Sampler):
    """A constant.

    >>> Constant(3).sample(2)
    tensor([3., 3.], dtype=torch.float64)
    """

    value: float

    @property
    def range(self) -> tuple[float, float]:
        """See `Sampler.range`."""
        return self.value, self.value

    def sample(self, count: int) -> Float[Tensor, " count"]:
        """See `Sampler.sample`."""
        return torch.full((count,), float(self.value), dtype=torch.float64)


@dataclass(frozen=True)
class Beta(Sampler):
    """Beta(a, b): the table's ``beta_sampler_f``.

    >>> Beta(1.1, 1.4).sample(5).shape
    torch.Size([5])
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        _check_positive(a=self.a, b=self.b)

    @property
    def range(self) -> tuple[float, float]:
        """See `Sampler.range`."""
        return 0.0, 1.0

    def sample(self, count: int) -> Float[Tensor, " count"]:
        """See `Sampler.sample`."""
        a, b = (torch.tensor(value, dtype=torch.float64) for value in (self.a, self.b))
        return torch.distributions.Beta(a, b).sample((count,))


@dataclass(frozen=True)
class ScaledBeta(Sampler):
    """Whole numbers from minimum to maximum, Beta(a, b) between them: the table's ``scaled_beta_sampler_f``.

    >>> ScaledBeta(1.1, 1.3, maximum=4, minimum=3).sample(100).unique()
    tensor([3., 4.], dtype=torch.float64)
    """

    a: float
    b: float
    maximum: int
    minimum: int

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        _check_positive(a=self.a, b=self.b)
        if self.minimum > self.maximum:
            raise InputError(f"ScaledBeta needs minimum <= maximum; got {self.minimum} and {self.maximum}.")

    @property
    def range(self) -> tuple[float, float]:
        """See `Sampler.range`."""
        return self.minimum, self.maximum

    def sample(self, count: int) -> Float[Tensor, " count"]:
        """See `Sampler.sample`."""
        return self.minimum + (Beta(self.a, self.b).sample(count) * (self.maximum - self.minimum)).round()


@dataclass(frozen=True)
class GammaRange(Sampler):
    """Gamma of shape k and scale theta, both uniform on a range for each dataset.

    The table gives these ranges for a search; one point of it is a range without width: ``k=(2.0, 2.0)``.

    >>> GammaRange(k=(2.0, 2.0), theta=(0.1, 0.1)).sample(5).shape
    torch.Size([5])
    """

    k: tuple[float, float] = (1.5, 5.0)
    theta: tuple[float, float] = (0.01, 1.0)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        for name in ("k", "theta"):
            low, high = getattr(self, name)
            if not (0 < low <= high and isfinite(high)):
                raise InputError(f"{name} must be a range 0 < low <= high; got {getattr(self, name)}.")

    @property
    def range(self) -> tuple[float, float]:
        """See `Sampler.range`."""
        return 0.0, torch.inf

    def sample(self, count: int) -> Float[Tensor, " count"]:
        """See `Sampler.sample`."""
        k, theta = (low + (high - low) * torch.rand(count, dtype=torch.float64) for low, high in (self.k, self.theta))
        return theta * torch.distributions.Gamma(k, torch.ones_like(k)).sample()


@dataclass(frozen=True)
class Architecture:
    """The network of one dataset; its weights are not drawn yet."""

    layers: int
    width: int
    weight_scale: float
    noise_scale: float
    sparsity: float
    activation: str

    def outputs(self, x: Float[Tensor, "points features"], num_outputs: int) -> Float[Tensor, "points outputs"]:
        """Draw weights, biases and the noise of hidden units; return the outputs before their own noise."""
        units = x
        for layer in range(self.layers):
            width = num_outputs if layer == self.layers - 1 else self.width
            if layer > 0:
                noisy = units if layer == 1 else torch.add(units, torch.randn_like(units), alpha=self.noise_scale)
                units = ACTIVATIONS[self.activation](noisy)
            weight = self._drawn(x, units.shape[-1], width, sparsity=self.sparsity if layer > 0 else 0.0)
            units = torch.addmm(self._drawn(x, 1, width, self.sparsity), units, weight)  # (points, width)
        return units

    def _drawn(self, like: Tensor, rows: int, columns: int, sparsity: float) -> Tensor:
        """Weights of shape (rows, columns)."""
        values = torch.randn(rows, columns, dtype=like.dtype, device=like.device) * (self.weight_scale / (1 - sparsity))
        return values * (torch.rand_like(values) >= sparsity) if sparsity > 0 else values


@dataclass(frozen=True)
class ArchitecturePrior:
    """What `BayesianNetwork` draws for each dataset: layers, width, scales, sparsity, activation.

    As in the authors' code: weights and biases are N(0, scale^2), dropped with probability ``sparsity`` and
    otherwise divided by the share kept (the first layer's weights are never dropped); Gaussian noise of standard
    deviation ``noise_scale`` on every unit from the second layer on, the output included. ``layers`` counts the
    linear maps. The number of features varies by `PaddedFeatures`. The defaults are the first options of
    the table; `search_space` holds all of them.

    >>> [architecture] = ArchitecturePrior(width=Constant(100)).sample(1)
    >>> architecture.layers, architecture.width, architecture.activation
    (3, 100, 'tanh')
    """

    layers: Sampler = Constant(3)
    width: Sampler = ScaledBeta(1.1, 1.3, maximum=256, minimum=60)
    weight_scale: Sampler = GammaRange()
    noise_scale: Sampler = GammaRange()
    sparsity: Sampler = Constant(0.0)
    activations: Sequence[str] = ("tanh",)
    """The activation of each dataset is one of these, all equally likely."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        object.__setattr__(self, "activations", tuple(self.activations))
        if not self.activations or not set(self.activations) <= set(ACTIVATIONS):
            raise InputError(f"activations must be some of {', '.join(ACTIVATIONS)}; got {list(self.activations)}.")
        check_range("layers", self.layers, 1, torch.inf)
        check_range("width", self.width, 1, torch.inf)
        check_range("weight_scale", self.weight_scale, 0, torch.inf)
        check_range("noise_scale", self.noise_scale, 0, torch.inf)
        check_range("sparsity", self.sparsity, 0, 1)

    def sample(self, count: int) -> list[Architecture]:
        """Draw one architecture for each of ``count`` datasets."""
        columns = (
            self.layers.sample(count).round().long().tolist(),
            self.width.sample(count).round().long().tolist(),
            self.weight_scale.sample(count).tolist(),
            self.noise_scale.sample(count).tolist(),
            self.sparsity.sample(count).clamp_max(LARGEST_SPARSITY).tolist(),
            [self.activations[i] for i in torch.randint(len(self.activations), (count,)).tolist()],
        )
        return [Architecture(*row) for row in zip(*columns, strict=True)]


def search_space(max_features: int = 60) -> dict[str, tuple[object, ...]]:
    """The options of the paper's table for each field of an `ArchitecturePrior`; the first is the default.

    >>> from dataclasses import replace
    >>> replace(ArchitecturePrior(), layers=search_space()["layers"][1]).layers
    ScaledBeta(a=1.1, b=1.3, maximum=4, minimum=3)
    """
    shares = ((1.1, 1.4), (1.1, 2.0), (1.1, 4.0), (2.0, 1.4), (2.0, 4.0))
    return {
        "activations": (("tanh",), ("relu",)),
        "sparsity": (Constant(0.0), Constant(0.5), *(Beta(a, b) for a, b in shares)),
        "width": (
            ScaledBeta(1.1, 1.3, 256, max_features),
            ScaledBeta(1.1, 2.0, 256, max_features),
            ScaledBeta(1.1, 4.0, 256, max_features),
            ScaledBeta(2.0, 4.0, 100, 1 + max_features),
        ),
        "layers": (
            Constant(3),
            ScaledBeta(1.1, 1.3, 4, 3),
            ScaledBeta(1.1, 2.0, 5, 2),
            ScaledBeta(1.1, 4.0, 5, 2),
            ScaledBeta(2.0, 4.0, 4, 3),
        ),
        "noise_scale": (GammaRange(),),
        "weight_scale": (GammaRange(),),
    }
