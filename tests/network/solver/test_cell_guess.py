import pytest
import torch
from torch import Tensor

from priorfit.network.solver.cell_guess import guess_of
from priorfit.network.solver.solver import FirstGuess

CELLS, SHOWN, POINTS = 20, 4, 3


def guess(log_weights: Tensor) -> FirstGuess:
    """Cells whose means are their numbers, of one branch and unit variance."""
    shape = (1, len(log_weights), 1, POINTS)
    loc = torch.arange(len(log_weights), dtype=torch.float64)[:, None, None].expand(shape)
    weights = log_weights.log_softmax(0)[None, :, None].expand(1, -1, POINTS)
    return guess_of(weights, torch.zeros(shape).double(), loc, torch.ones(shape).double(), (SHOWN, torch.float64))


def shown(found: FirstGuess) -> list[int]:
    """The numbers of the cells that tokens are told of, from their standardised means."""
    means = found.features[0, 0, :SHOWN] * found.ppd.stddev[0, 0] + found.ppd.mean[0, 0]
    return means.round().int().tolist()


@pytest.mark.parametrize("rounding", [0.0, 1e-12])
def test_cells_of_equal_weights_are_shown_in_their_order(rounding: float) -> None:
    """Before the first point all are equal, and so they are for the only point of a context, but for rounding."""
    generator = torch.Generator().manual_seed(0)
    noise = rounding * torch.randn(CELLS, generator=generator, dtype=torch.float64)
    assert shown(guess(noise)) == [0, 1, 2, 3]


def test_cells_of_the_largest_weights_are_shown_first() -> None:
    log_weights = torch.zeros(CELLS, dtype=torch.float64)
    log_weights[[7, 3, 12]] = torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64)
    found = guess(log_weights)
    assert shown(found) == [7, 3, 12, 0]
    told = 4 * found.features[0, 0, 2 * SHOWN : 3 * SHOWN]
    assert torch.allclose(told, log_weights.log_softmax(0)[[7, 3, 12, 0]])


def test_where_cells_are_few_the_others_are_absent() -> None:
    found = guess(torch.tensor([1.0, 0.0], dtype=torch.float64))
    assert shown(found)[:2] == [0, 1]
    assert found.features[0, 0, 2:SHOWN].tolist() == [0.0, 0.0]
    assert found.features[0, 0, 2 * SHOWN + 2 : 3 * SHOWN].tolist() == [-5.0, -5.0]
