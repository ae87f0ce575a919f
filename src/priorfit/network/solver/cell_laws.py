"""The laws of a program in its cells, as combinations of a few functions on a grid of inputs."""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from priorfit.importance.cells import LocalLaws
from priorfit.importance.moments import pairs
from priorfit.network.latent_spaces import LatentSpace
from priorfit.network.solver.cell_posterior import NumbersThere, chosen_numbers
from priorfit.network.solver.grids import Grid
from priorfit.network.solver.local import Curved, Local

Points = Float[Tensor, "batch points features"]

SPREAD_RANK = 16
"""Functions that the variances and shares of all cells are made of."""

FIRST_VARIANCE = 0.1
"""The variance of the noise before a program is read."""

FIRST_BEND = 0.0
"""The size of second-order terms before a program is read."""

LEAST_VARIANCE = 1e-6
"""The least variance of a latent's coordinate in its cell, beside what is not linear."""


class CellLaws(nn.Module):
    """In cell k, y = mean_k(x) + slope_k(x) . w + bends + noise; and the numbers of the latents, linear in w.

    Of classes y stands for log odds.

    Nothing of it is learned: `adopt` takes it from a program. Before that it holds random smooth functions.
    """

    log_weights: Tensor
    basis: Tensor
    curves: Tensor
    spread_basis: Tensor
    spreads: Tensor
    numbers: Tensor
    number_variance: Tensor

    def __init__(
        self, shape: tuple[int, int, int, int], rank: int, num_features: int, num_numbers: int, local: type[Local]
    ) -> None:
        """Build it; ``shape`` is that of the laws: cells, dimensions of w, means and branches of a law."""
        super().__init__()
        self.local = local
        self.cells, self.dimensions, self.num_curves, self.branches = shape
        self.grid, self.rank = Grid(num_features), rank
        self.register_buffer("log_weights", torch.full((self.cells,), -math.log(self.cells)))
        waves = torch.randn(num_features, rank) * 3
        self.register_buffer("basis", torch.cos(self.grid.nodes() @ waves + torch.rand(rank)))
        self.terms = 1 + self.dimensions + len(pairs(self.dimensions))
        curves = torch.randn(self.cells, self.num_curves, self.terms, rank) / rank**0.5
        curves[:, :, 0] = 0.0
        curves[:, :, 1 + self.dimensions :] *= FIRST_BEND
        self.register_buffer("curves", curves)
        self.register_buffer("spread_basis", torch.ones(self.grid.num_nodes, SPREAD_RANK))
        spreads = torch.zeros(self.cells, 3, self.branches, SPREAD_RANK)
        spreads[:, :2] = math.log(FIRST_VARIANCE) / SPREAD_RANK
        self.register_buffer("spreads", spreads)
        self.register_buffer("numbers", torch.randn(self.cells, num_numbers, self.dimensions + 1))
        self.register_buffer("number_variance", torch.full((self.cells, num_numbers), LEAST_VARIANCE))

    @property
    def dtype(self) -> torch.dtype:
        """The precision in which it is kept."""
        return self.curves.dtype

    def adopt(self, laws: LocalLaws, grid: Grid, shift: float, scale: float) -> None:
        """Take over the laws of cells at the nodes of a grid; the network's y is (y - shift) / scale."""
        curves = laws.curves.clone()
        curves[:, :, 0] -= shift
        coefficients, basis = compressed(curves / scale, self.rank)
        units = 2 * math.log(scale)
        spreads = torch.stack([laws.log_variance - units, laws.log_rest - units, laws.log_share], dim=1)
        spread_coefficients, spread_basis = compressed(spreads, SPREAD_RANK)
        self.log_weights.copy_(laws.log_weights)
        if grid.axis != self.grid.axis:
            basis, spread_basis = (grid.interpolated(each, self.grid.nodes()) for each in (basis, spread_basis))
        found = (coefficients, basis, spread_coefficients, spread_basis, laws.numbers, laws.number_variance)
        own = (self.curves, self.basis, self.spreads, self.spread_basis, self.numbers, self.number_variance)
        for mine, theirs in zip(own, found, strict=True):
            mine.copy_(theirs)
        self.number_variance.clamp_min_(LEAST_VARIANCE)

    def coarse(self, x: Points) -> Local:
        """The law at points in all cells, linear over the whole of each, in the precision that it is kept in."""
        linear = 1 + self.dimensions
        values = self._values(x, self.curves[:, :, :linear], linear)
        log_variance, _, share = self._spreads(x, self.spreads)
        return self.local(values[..., 0, :], values[..., 1:, :], log_variance.exp(), share)

    def fine(self, x: Points, index: Int[Tensor, "batch kept"]) -> Curved:
        """The law at points in some cells of each dataset, with its second-order terms, in float64."""
        values = self._values(x, self.curves[index], self.terms).double()
        log_variance, log_rest, share = (each.double() for each in self._spreads(x, self.spreads[index]))
        mean, slope, bends = values.split([1, self.dimensions, self.terms - 1 - self.dimensions], dim=3)
        local = self.local(mean[:, :, :, 0], slope, log_variance.exp(), share)
        return Curved(local, bends, log_rest.exp())

    def _values(self, x: Points, curves: Tensor, terms: int) -> Float[Tensor, "batch cells curves terms points"]:
        basis = self.grid.interpolated(self.basis, x).mT  # (batch, rank, points)
        rows = curves.flatten(curves.ndim - 4, curves.ndim - 2)
        return (rows @ basis).unflatten(1, (-1, self.num_curves, terms))

    def _spreads(self, x: Points, spreads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log variance, that of what is not quadratic, and log shares: (batch, cells, branches, points) each."""
        basis = self.grid.interpolated(self.spread_basis, x).mT
        rows = spreads.flatten(spreads.ndim - 4, spreads.ndim - 2)
        log_variance, log_rest, share = (rows @ basis).unflatten(1, (-1, 3, self.branches)).unbind(2)
        return log_variance, log_rest, share.log_softmax(2) if self.branches > 1 else torch.zeros_like(share)

    def numbers_in(self, cells: Int[Tensor, "batch kept"], which: Sequence[int]) -> NumbersThere:
        """Mean, slope and variance of some numbers of the latents in the cells of each dataset."""
        return chosen_numbers(self.numbers, self.number_variance, cells, which)


def compressed(
    functions: Float[Tensor, "*shape nodes"], rank: int
) -> tuple[Float[Tensor, "*shape rank"], Float[Tensor, "nodes rank"]]:
    """Functions as combinations of the ``rank`` that leave the least squared error."""
    table = functions.flatten(0, -2)
    values, vectors = torch.linalg.eigh(table.mT @ table)
    basis = vectors[:, -rank:]
    basis = nn.functional.pad(basis, (0, rank - basis.shape[1]))
    return (table @ basis).unflatten(0, functions.shape[:-1]), basis


def encoded(
    spaces: Mapping[str, LatentSpace], latents: Mapping[str, Num[Tensor, "draws size"]]
) -> Float[Tensor, "draws numbers"]:
    """The coordinates that a network has of latents; none where it has no tokens for them."""
    draws = len(next(iter(latents.values())))
    found = [space.encoded(latents[name]) for name, space in spaces.items()]
    return torch.cat(found, dim=-1) if found else torch.zeros(draws, 0)
