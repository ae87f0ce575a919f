"""The joint Gaussian of a function over queries in each cell."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network.solver.joint import JointNormals
from priorfit.network.solver.local import Local, OfCells, Spread, State

OfPoints = Float[Tensor, "batch cells points"]


@dataclass(frozen=True)
class JointCells(JointNormals):
    """The function in each cell over some queries: linear in w, whose posterior is Normal."""

    local: Local
    state: State
    spread: Spread
    log_weights: OfCells

    @property
    def noise(self) -> OfPoints:  # pyright: ignore[reportIncompatibleVariableOverride]: it is the law's
        """See `JointNormals.noise`."""
        return self.local.variance[:, :, 0].sqrt()

    def moments(self) -> tuple[OfPoints, OfPoints]:
        """See `JointNormals.moments`."""
        mean = self.local.mean + self.local.fitted(self.state)
        return mean[:, :, 0], self.local.leverage(self.spread)[:, :, 0]

    def covariance(self) -> Float[Tensor, "batch cells points points"]:
        """See `JointNormals.covariance`."""
        slope = self.local.slope[:, :, 0]  # (batch, cells, dimensions, points)
        return slope.mT @ self.spread @ slope

    def draws(self, count: int) -> Float[Tensor, "count batch cells points"]:
        """See `JointNormals.draws`: w is drawn once, whatever the number of queries."""
        factor = torch.linalg.cholesky_ex(self.spread).L
        normal = torch.randn(*self.state.shape, count, dtype=factor.dtype, device=factor.device)
        slope = self.local.slope[:, :, 0]
        return (self.moments()[0][..., None] + slope.mT @ (factor @ normal)).movedim(-1, 0)
