"""Families of regressions: from latents to the gains of a basis and the noise."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

Latents = Float[Tensor, "#batch regressions latents"]

FIRST_NOISE = 0.01
"""The noise before training, in units of the prior's spread of y."""
HIDDEN = 32
"""Units between the latents and the gains that they decide."""
PACE = 2.0
"""Logarithms of gains and noise are learned divided by this."""


class Family(nn.Module):
    """From latents to the log gains of a basis and the log noise.

    Before training the first latent is the scale of all gains, the second how soon they fall with the frequency.
    """

    def __init__(self, lengths: Float[Tensor, " functions"], latents: int) -> None:
        super().__init__()
        fall = -1.5 * torch.log1p((0.6 * lengths).square())
        start = fall - 0.5 * (2 * fall).logsumexp(0)  # the gains' squares sum to 1
        self.slope = nn.Parameter(torch.zeros(latents, len(lengths)))
        with torch.no_grad():
            self.slope[0] = 0.4 / PACE
            self.slope[1:2] = 0.1 * (fall - fall.mean()) / PACE
        self.hidden = nn.Linear(latents, HIDDEN)
        self.output = nn.Linear(HIDDEN, len(lengths) + 1)
        nn.init.normal_(self.output.weight, std=0.01)
        with torch.no_grad():
            self.output.weight[-1] = 0.0
            self.output.bias[:-1] = start / PACE
            self.output.bias[-1] = math.log(FIRST_NOISE) / PACE

    def forward(
        self, latents: Latents
    ) -> tuple[Float[Tensor, "#batch regressions functions"], Float[Tensor, "#batch regressions 1"]]:
        """Log gains and log noise."""
        log_gain, log_noise = self.output(torch.tanh(self.hidden(latents))).split([self.slope.shape[1], 1], dim=-1)
        return PACE * (log_gain + latents @ self.slope), PACE * log_noise


def spread_out(count: int, latents: int) -> Float[Tensor, "count latents"]:
    """Points that cover a standard Normal evenly; the first is its middle."""
    uniform = torch.quasirandom.SobolEngine(latents).draw(count + 1)[1:]
    return torch.special.ndtri(uniform.clamp(0.02, 0.98))
