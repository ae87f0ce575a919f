"""Families of regressions: from latents to the gains of a basis and the noise."""

import math
from dataclasses import dataclass

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
        self, latents: Latents, folded: "Folded | None" = None
    ) -> tuple[
        Float[Tensor, "#batch regressions functions"],
        Float[Tensor, "#batch regressions 1"],
        Float[Tensor, "#batch regressions"],
    ]:
        """Log gains in units of the noise, log noise, and the log prior density of the latents up to a constant.

        That density is a standard Normal times a learned factor: what is rare under the prior, such as a large noise,
        need not lie far out, where nothing is learned about it. ``folded`` is what `folded` gave for these weights;
        all is in float64.
        """
        maps, latents = folded or self.folded(), latents.double()
        hidden = nn.functional.linear(latents, maps.hidden_weight, maps.hidden_bias).tanh()
        seen = torch.cat([hidden, latents, latents.square()], dim=-1)
        numbers = nn.functional.linear(seen, maps.weight, maps.bias).split_with_sizes(
            [maps.lengths.shape[0], 1, 1, 1, 1, 1, 1], dim=-1
        )
        factors, scale, ratio, lengthscale, added, least, prior = numbers  # all but the last are twice a logarithm
        fall = nn.functional.softplus(maps.lengths + lengthscale)  # log(1 + (w lengthscale)^2)
        share = torch.addcmul(factors, maps.power, fall, value=-1).log_softmax(-1)  # of the squared scale
        noise = torch.logaddexp(least, torch.logaddexp(added.clamp_max(2 * MOST_NOISE), ratio))
        return 0.5 * (share + (scale - noise)), 0.5 * noise, prior.squeeze(-1)

    def folded(self) -> "Folded":
        """All maps to log gains, noise and prior as one, from the hidden units, the latents and their squares."""
        learned = PACE * torch.cat([self.output.weight, self.log_prior.weight])  # (functions + 5, hidden)
        bends = PACE * torch.cat([self.slope, self.curvature]).T  # (3, 2 latents)
        normal = torch.cat([torch.zeros_like(self.slope[:, 0]), torch.full_like(self.slope[:, 0], -0.5)])[None]
        above = bends.new_zeros(len(self.log_lengths), bends.shape[1])
        weight = torch.cat([learned, torch.cat([above, bends, above[:1], normal])], dim=1)
        start = nn.functional.pad(self.start, (len(self.log_lengths), 2))
        bias = PACE * (torch.cat([self.output.bias, self.log_prior.bias]) + start)
        return Folded(
            self.hidden.weight.double(),
            self.hidden.bias.double(),
            self._doubled(weight, 0.0),
            self._doubled(bias, 2 * LARGEST_RATIO),
            2 * self.log_lengths.double(),
            self.log_power.double().exp(),
        )

    def _doubled(self, rows: Float[Tensor, "numbers *inputs"], ratio: float) -> Float[Tensor, "rows *inputs"]:
        """Rows as those of `Folded`, in which the scale has a second row, less a ratio."""
        twice, scale = 2 * rows[:-1], len(self.log_lengths)
        least = twice[scale : scale + 1] - ratio
        return torch.cat([twice[: scale + 1], least, twice[scale + 1 :], rows[-1:]]).double()


@dataclass(frozen=True)
class Folded:
    """The maps of a `Family` as one, in float64.

    ``lengths`` and all rows but the last, the log prior, are twice a logarithm. Behind the row of the scale is that of
    the noise which the `LARGEST_RATIO` asks for.
    """

    hidden_weight: Float[Tensor, "hidden latents"]
    hidden_bias: Float[Tensor, " hidden"]
    weight: Float[Tensor, "numbers inputs"]
    bias: Float[Tensor, " numbers"]
    lengths: Float[Tensor, " functions"]
    power: Float[Tensor, ""]


def spread_out(count: int, latents: int) -> Float[Tensor, "count latents"]:
    """Points that cover a standard Normal evenly; the first is its middle."""
    uniform = torch.quasirandom.SobolEngine(latents).draw(count + 1)[1:]
    return torch.special.ndtri(uniform.clamp(0.02, 0.98))
