"""Where a point stands in its context: an ablation, since the order of a dataset means nothing."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

Positions = Literal["none", "sinusoidal"]
LONGEST_WAVE = 10_000.0
"""In turns of 2 pi points, as in Vaswani et al. (2017); the shortest wave has one."""


class SinusoidalPositions(nn.Module):
    """Adds sines (first half of the width) and cosines of a token's place, waves of geometric lengths, to the token.

    It has nothing to learn, and takes contexts of any size.
    """

    def forward(self, context: Float[Tensor, "batch context width"]) -> Float[Tensor, "batch context width"]:
        """The tokens of a context, told apart by their order."""
        count, width = context.shape[1:]
        half = math.ceil(width / 2)
        places = torch.arange(count, dtype=context.dtype, device=context.device)
        waves = torch.arange(half, dtype=context.dtype, device=context.device) / half
        angles = places[:, None] * LONGEST_WAVE**-waves  # (context, half)
        return context + torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :width]


POSITIONS: dict[Positions, type[nn.Module]] = {"none": nn.Identity, "sinusoidal": SinusoidalPositions}
