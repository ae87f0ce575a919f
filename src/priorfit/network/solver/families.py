"""Families of regressions: from latents to the gains of a basis and the noise."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

Latents = Float[Tensor, "#batch regressions latents"]

FIRST_NOISE = 0.01
"""The noise before training, in units of the prior's spread of y."""
FIRST_POWER = 3.0
"""The power by which the spectral density of the first kernels falls: that of a Matern kernel with nu = 5/2."""
FIRST_VALUES, FIRST_SLOPES = (0.0, math.log(0.6), -12.0), (0.4, 0.6, 2.75)
"""Log scale, log lengthscale and log added noise at the middle of the latents before training, and what one latent each
adds to them."""
LARGEST_RATIO, MOST_NOISE = 12.0, 6.0
"""Bounds of log(scale / noise), beyond which a Cholesky factor loses its digits, and of the log added noise."""
HIDDEN = 32
"""Units between the latents and the gains that they decide."""
PACE = 2.0
"""Logarithms of gains and noise are learned divided by this."""


class Family(nn.Module):
    """From latents to the log gains of a basis and the log noise: stationary kernels, and what is learned beside them.

    The gains fall with the angular frequency w as (1 + (w lengthscale)^2)^(-power / 2), the root of the spectral
    density of a Matern kernel, times learned factors. Log scale, log lengthscale and a log noise that is added to the
    least one are quadratic in the latents plus a learned part, which is bounded as the factors are: so far from the
    middle of the latents, where training seldom comes, the family is still one of kernels, and curved as it is in the
    middle. Before training each of the three has a latent of its own.
    """

    log_lengths: Tensor

    def __init__(self, lengths: Float[Tensor, " functions"], latents: int) -> None:
        super().__init__()
        self.register_buffer("log_lengths", lengths.clamp_min(1e-6).log(), persistent=False)
        slope = torch.zeros(latents, 3)
        for latent, pace in enumerate(FIRST_SLOPES[:latents]):
            slope[latent, latent] = pace / PACE
        self.slope = nn.Parameter(slope)
        self.curvature = nn.Parameter(torch.zeros(latents, 3))
        self.start = nn.Parameter(torch.tensor(FIRST_VALUES) / PACE)
        self.log_power = nn.Parameter(torch.tensor(math.log(FIRST_POWER)))
        self.hidden = nn.Linear(latents, HIDDEN)
        self.output = nn.Linear(HIDDEN, len(lengths) + 4)
        self.log_prior = nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.log_prior.weight)
        nn.init.normal_(self.output.weight, std=0.01)
        nn.init.zeros_(self.output.bias)
        with torch.no_grad():
            self.output.bias[-1] = math.log(FIRST_NOISE) / PACE

    def forward(
        self, latents: Latents
    ) -> tuple[
        Float[Tensor, "#batch regressions functions"],
        Float[Tensor, "#batch regressions 1"],
        Float[Tensor, "#batch regressions"],
    ]:
        """Log gains, log noise, and the log prior density of the latents up to a constant.

        That density is a standard Normal times a learned factor: what is rare under the prior, such as a large noise,
        need not lie far out, where nothing is learned about it.
        """
        hidden, squares = torch.tanh(self.hidden(latents)), latents.square()
        learned = PACE * self.output(hidden)
        factors, bends, least = learned.split([len(self.log_lengths), 3, 1], dim=-1)
        values = self.start + latents @ self.slope + squares @ self.curvature
        log_scale, log_lengthscale, log_added = (bends + PACE * values).split(1, dim=-1)
        fall = nn.functional.softplus(2 * (self.log_lengths + log_lengthscale))  # log(1 + (w lengthscale)^2)
        shape = factors - 0.5 * self.log_power.exp() * fall
        log_gain = log_scale + shape - 0.5 * (2 * shape).logsumexp(-1, keepdim=True)  # the squares sum to the scale's
        added = torch.logaddexp(2 * log_added.clamp_max(MOST_NOISE), 2 * (log_scale - LARGEST_RATIO))
        log_noise = 0.5 * torch.logaddexp(2 * least, added)
        return log_gain, log_noise, PACE * self.log_prior(hidden)[..., 0] - 0.5 * squares.sum(-1)


def bounded(value: Float[Tensor, "*shape"], bound: float) -> Float[Tensor, "*shape"]:
    """Nearly the same near 0, and never beyond the bound."""
    return bound * torch.tanh(value / bound)


def spread_out(count: int, latents: int) -> Float[Tensor, "count latents"]:
    """Points that cover a standard Normal evenly; the first is its middle."""
    uniform = torch.quasirandom.SobolEngine(latents).draw(count + 1)[1:]
    return torch.special.ndtri(uniform.clamp(0.02, 0.98))
