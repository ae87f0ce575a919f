"""The encoder of smooth functions: all polynomials of x up to a degree."""

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import ENCODED_RMS, InputEncoder, InputRange, to_unit

MOST = 4096
"""Polynomials that an encoder may have."""


@dataclass(frozen=True)
class PolynomialEncoder(InputEncoder):
    """All polynomials of x up to a total ``degree``, then a linear layer: for smooth functions of few features.

    For inputs of a known range, over which the polynomials are orthonormal (products of Legendre's). One of degree k is
    multiplied by ``decay`` to the power of k, as smooth functions have less of it: so the linear layer, orthogonal at
    first, begins with a sensible prior for a `LinearSolver` with ``hidden=0``, and need not learn orders of magnitude.
    """

    degree: int = 4
    decay: float = 0.3

    def __post_init__(self) -> None:
        check_fields(self)
        if self.degree < 1 or not 0 < self.decay <= 1:
            raise InputError(
                "PolynomialEncoder needs degree >= 1 and decay in (0, 1]; "
                f"got degree={self.degree}, decay={self.decay}."
            )

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        is_countable = max(num_features, self.degree) < MOST  # else there are more, and counting them takes for ever
        count = math.comb(num_features + self.degree, self.degree) if is_countable else "many more"
        if isinstance(count, str) or count > MOST:
            raise InputError(
                f"PolynomialEncoder may have at most {MOST} polynomials; {num_features} features have {count} up to "
                f"degree {self.degree}. Lower the degree, or use FourierEncoder()."
            )
        return PolynomialLayer(self, num_features, width, self.known(input_range))


class PolynomialLayer(nn.Module):
    """The module of a `PolynomialEncoder`; outside of the range, polynomials keep their values at its edge."""

    degrees: Tensor
    scale: Tensor

    def __init__(self, settings: PolynomialEncoder, num_features: int, width: int, input_range: InputRange) -> None:
        super().__init__()
        self.input_range, self.degree = input_range, settings.degree
        degrees = torch.tensor(
            [
                [chosen.count(feature) for feature in range(num_features)]
                for total in range(settings.degree + 1)
                for chosen in combinations_with_replacement(range(num_features), total)
            ]
        )
        scale = settings.decay ** degrees.sum(-1).double()
        scale = scale * ENCODED_RMS * (max(width, len(degrees)) / scale.square().sum()).sqrt()
        self.register_buffer("degrees", degrees, persistent=False)  # (polynomials, features)
        self.register_buffer("scale", scale, persistent=False)
        self.linear = nn.Linear(len(degrees), width)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points width"]:
        """Tokens of inputs."""
        return self.linear((self.scale * self.polynomials(x)).to(self.linear.weight.dtype))

    def polynomials(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points polynomials"]:
        """Their values, in float64; the constant is the first."""
        unit = to_unit(x.double(), self.input_range).clamp(-1.0, 1.0)
        orders = legendre_polynomials(unit, self.degree)  # (batch, points, features, degree + 1)
        product = orders[:, :, 0, self.degrees[:, 0]]
        for feature in range(1, unit.shape[-1]):
            product = product * orders[:, :, feature, self.degrees[:, feature]]
        return product


def legendre_polynomials(unit: Float[Tensor, "*shape"], degree: int) -> Float[Tensor, "*shape orders"]:
    """Legendre polynomials of degrees 0 to ``degree`` on [-1, 1], of mean square 1, by Bonnet's recursion."""
    values = [torch.ones_like(unit), unit]
    for order in range(2, degree + 1):
        values.append(((2 * order - 1) * unit * values[-1] - (order - 1) * values[-2]) / order)
    return torch.stack([math.sqrt(2 * order + 1) * values[order] for order in range(degree + 1)], dim=-1)
