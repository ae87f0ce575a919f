"""Encoders of inputs: linear, and Fourier features."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields

InputRange = tuple[float, float]

ENCODED_RMS = 0.7
"""Root mean square of an encoder's numbers before training, roughly."""


class InputEncoder(ABC):
    """The setting of an encoder of x; ``build`` makes the module."""

    @abstractmethod
    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """A module from ``(batch, points, features)`` to ``(batch, points, width)``."""

    def known(self, input_range: InputRange | None) -> InputRange:
        """The range, for an encoder that cannot do without one."""
        if input_range is None:
            raise InputError(
                f"{type(self).__name__} needs inputs of a known range, and this prior's inputs have none. "
                "Use LinearEncoder(), or a prior with UniformInputs."
            )
        return input_range


def to_unit(x: Float[Tensor, "*shape"], input_range: InputRange) -> Float[Tensor, "*shape"]:
    """The range of inputs mapped to [-1, 1]."""
    low, high = input_range
    return torch.add(origin(low, high, x.dtype), x, alpha=2 / (high - low))


@lru_cache
def origin(low: float, high: float, dtype: torch.dtype) -> Float[Tensor, ""]:
    """Where 0 is mapped to; a tensor, since torch would make one of a number each time."""
    with torch.inference_mode(mode=False):
        return torch.tensor(-(low + high) / (high - low), dtype=dtype, device="cpu")


@dataclass(frozen=True)
class LinearEncoder(InputEncoder):
    """The paper's encoder: one linear layer."""

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        return nn.Linear(num_features, width)


@dataclass(frozen=True)
class NoEncoder(InputEncoder):
    """Tokens hold nothing of their input but the features of a solver's guess."""

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        return NoTokens(width)


class NoTokens(nn.Module):
    """The module of a `NoEncoder`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points width"]:
        """Zeros."""
        return x.new_zeros(1, 1, 1).expand(*x.shape[:2], self.width)


@dataclass(frozen=True)
class FourierEncoder(InputEncoder):
    """Sines and cosines of random projections of x, and x itself, then a linear layer.

    For inputs of a known range, which is mapped to [-1, 1] first. ``scale`` is the standard deviation of the
    angular frequencies over that range of length 2.
    """

    num_frequencies: int = 64
    scale: float = 3.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.num_frequencies < 1 or self.scale <= 0:
            raise InputError(
                "FourierEncoder needs num_frequencies >= 1 and scale > 0; "
                f"got num_frequencies={self.num_frequencies}, scale={self.scale}."
            )

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        return FourierLayer(self, num_features, width, self.known(input_range))


class FourierLayer(nn.Module):
    """The module of a `FourierEncoder`; its frequencies are saved with the weights."""

    frequencies: Tensor

    def __init__(self, settings: FourierEncoder, num_features: int, width: int, input_range: InputRange) -> None:
        super().__init__()
        self.input_range = input_range
        frequencies = settings.scale * torch.randn(num_features, settings.num_frequencies)
        self.register_buffer("frequencies", frequencies)
        self.linear = nn.Linear(2 * settings.num_frequencies + num_features, width)

    def forward(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points width"]:
        """Tokens of inputs."""
        unit = to_unit(x, self.input_range)
        angles = unit @ self.frequencies
        return self.linear(torch.cat([angles.sin(), angles.cos(), unit], dim=-1))
