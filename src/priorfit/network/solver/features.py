"""Learned features of x, which linear solvers regress on."""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.network.encoders.inputs import ENCODED_RMS
from priorfit.network.solver.gaussian import Phi
from priorfit.network.solver.solver import Points, linear_maps

PACE = 10.0
"""Noise and gains are learned as logarithms divided by this, so that Adam's small steps cross orders of magnitude."""

GELU_RMS = 0.35
"""Root mean square of the hidden units before training, roughly."""


class LearnedFeatures(nn.Module):
    """From x to ``features`` numbers for each of several components, each in units of its component's noise.

    The features are those of a network with one hidden layer on the encoded x, or, where ``hidden`` is 0, linear in
    what the encoder makes of x.
    """

    def __init__(
        self, encoder: nn.Module, sizes: tuple[int, int, int], log_spread: Float[Tensor, " components"]
    ) -> None:
        """Build them; ``sizes`` are components, features, hidden units; ``log_spread`` is that of w . phi at first."""
        super().__init__()
        self.components, features, hidden = sizes
        self.encoder = encoder
        self.output: nn.Linear | None = None
        length = ENCODED_RMS * features**0.5
        if hidden:
            self.output = nn.Linear(hidden, self.components * features)
            nn.init.normal_(self.output.weight, std=features**-0.5)  # phi is as long as the hidden layer
            nn.init.zeros_(self.output.bias)
            length = GELU_RMS * hidden**0.5
        log_gain = log_spread - math.log(length)
        self.slow_log_gain = nn.Parameter((log_gain / PACE)[:, None, None].repeat(1, 1, features))

    def phi(self, x: Points, precision: torch.dtype) -> Phi:
        """The features of inputs, in ``precision`` at least."""
        encoded, gain = self.encoder(x), (PACE * self.slow_log_gain).exp().flatten()
        if self.output is None:
            phi = encoded * gain
        else:
            weight, bias = gain[:, None] * self.output.weight, gain * self.output.bias
            phi = nn.functional.linear(nn.functional.gelu(encoded), weight, bias)
        phi = phi.unflatten(2, (self.components, -1)).transpose(1, 2)  # (batch, components, points, features)
        dtype = torch.promote_types(phi.dtype, precision)
        return phi.to(dtype, memory_format=torch.contiguous_format)  # products would copy it each time

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        return [*linear_maps(self.encoder), *([] if self.output is None else linear_maps(self.output))]


def log_ladder(ends: tuple[float, float], components: int, alone: float) -> Float[Tensor, " components"]:
    """Logarithms from one end to the other; a single component lies at ``alone`` of the way.

    >>> log_ladder((1.0, 100.0), 3, alone=0.5).exp().round()
    tensor([  1.,  10., 100.])
    """
    first, last = (math.log(end) for end in ends)
    return torch.linspace(first, last, components) if components > 1 else torch.tensor([first + alone * (last - first)])


def mixed_log_evidence(log_evidence: Float[Tensor, "batch components"]) -> Float[Tensor, " batch"]:
    """The log evidence of a mixture whose components have equal weights before the context."""
    return log_evidence.logsumexp(1) - math.log(log_evidence.shape[1])
