"""Functions of one or two inputs by their values on a grid, linear in between."""

from itertools import product
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError

NODES, FEW_NODES = {1: 1024, 2: 48}, {1: 256, 2: 24}
"""Nodes along each axis, by the number of inputs; few of them tell of a function that is smooth."""


class Grid(nn.Module):
    """A grid over a box; beyond it functions keep their value at its border."""

    low: Tensor
    high: Tensor

    def __init__(self, num_features: int, has_few: bool = False) -> None:
        super().__init__()
        if num_features not in NODES:
            raise InputError(f"a grid is laid over 1 or 2 inputs; this problem has {num_features}.")
        self.axis = (FEW_NODES if has_few else NODES)[num_features]
        self.num_nodes = self.axis**num_features
        self.register_buffer("low", torch.zeros(num_features))
        self.register_buffer("high", torch.ones(num_features))

    def lay(self, low: Float[Tensor, " features"], high: Float[Tensor, " features"]) -> None:
        """Put the grid over a box."""
        self.low.copy_(low)
        self.high.copy_(high)

    def nodes(self) -> Float[Tensor, "nodes features"]:
        """The inputs at all nodes."""
        steps = torch.linspace(0, 1, self.axis, dtype=self.low.dtype, device=self.low.device)
        places = torch.cartesian_prod(*[steps] * len(self.low)).reshape(self.num_nodes, -1)
        return self.low + places * (self.high - self.low)

    def with_few(self) -> "Grid":
        """Few nodes over the same box."""
        few = Grid(len(self.low), has_few=True).to(self.low)
        few.lay(self.low, self.high)
        return few

    def interpolated(
        self, table: Float[Tensor, "nodes functions"], x: Float[Tensor, "*batch features"]
    ) -> Float[Tensor, "*batch functions"]:
        """Functions at inputs, from their values at the nodes."""
        place = ((x - self.low) / (self.high - self.low) * (self.axis - 1)).clamp(0, self.axis - 1)
        below = place.detach().floor().clamp_max(self.axis - 2).long()  # (*batch, features)
        beyond = place - below
        total: Tensor | float = 0.0
        for corner in product((0, 1), repeat=x.shape[-1]):
            index, share = torch.zeros_like(below[..., 0]), torch.ones_like(beyond[..., 0])
            for axis, side in enumerate(corner):
                index = index * self.axis + below[..., axis] + side
                share = share * (beyond[..., axis] if side else 1 - beyond[..., axis])
            total = total + share[..., None] * table[index]
        return cast(Tensor, total)
