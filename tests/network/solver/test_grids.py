import pytest
import torch

from priorfit.errors import InputError
from priorfit.network.solver.grids import Grid
from priorfit.seeding import seeded


@pytest.mark.parametrize("features", [1, 2])
def test_functions_that_are_linear_in_each_input_are_exact(features: int):
    grid = Grid(features).double()
    grid.lay(torch.full((features,), -1.0), torch.full((features,), 2.0))
    nodes = grid.nodes()
    table = torch.stack([1 + 3 * nodes[:, 0], nodes.prod(1)], dim=-1)
    with seeded(0):
        x = 3 * torch.rand(100_000, features).double() - 1
    expected = torch.stack([1 + 3 * x[:, 0], x.prod(1)], dim=-1)
    torch.testing.assert_close(grid.interpolated(table, x), expected)


def test_smooth_functions_are_nearly_exact():
    grid = Grid(1).double()
    with seeded(0):
        x = torch.rand(100_000, 1).double()
    found = grid.interpolated(torch.sin(10 * grid.nodes()), x)
    torch.testing.assert_close(found, torch.sin(10 * x), atol=2e-5, rtol=0)


def test_beyond_the_grid_functions_keep_the_value_at_its_border():
    grid = Grid(1).double()
    found = grid.interpolated(grid.nodes() ** 2, torch.tensor([[-3.0], [7.0]]).double())
    assert found.flatten().tolist() == [0.0, 1.0]


def test_gradients_to_inputs_are_slopes():
    grid, x = Grid(1).double(), torch.tensor([[0.3]]).double().requires_grad_()
    grid.interpolated(5 * grid.nodes(), x).sum().backward()
    assert x.grad is not None and float(x.grad) == pytest.approx(5.0)


def test_three_inputs_have_no_grid():
    with pytest.raises(InputError, match="over 1 or 2 inputs; this problem has 3"):
        Grid(3)
