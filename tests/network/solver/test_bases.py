import pytest
import torch

from priorfit.errors import InputError
from priorfit.network import Harmonics
from priorfit.network.solver.bases import SHORTEST_PERIOD, waves


def test_the_functions_are_waves_over_the_range():
    basis = Harmonics(order=3, period=SHORTEST_PERIOD).build(1, (1.0, 3.0))
    x = torch.tensor([[[1.0], [1.7], [3.0]]])
    found = basis(x)
    assert found.shape == (1, 3, 7)
    angles = 2 * torch.pi * (x - 2.0) / (2 * SHORTEST_PERIOD) * torch.arange(1, 4)
    torch.testing.assert_close(found, torch.cat([torch.ones(1, 3, 1), angles.cos(), angles.sin()], -1))


def test_frequencies_are_dense_where_low_and_spaced_by_the_range_where_high():
    lengths = Harmonics(order=40, period=4.0).build(1, (0.0, 1.0)).lengths[:41].double()
    spaces = lengths.diff()
    assert (spaces.diff() > 0).all()
    torch.testing.assert_close(spaces[0].item(), torch.pi / 4, rtol=0.05, atol=0)
    torch.testing.assert_close(spaces[-1].item(), torch.pi / SHORTEST_PERIOD, rtol=0.05, atol=0)


def test_a_function_that_is_not_periodic_is_a_sum_of_them():
    basis = Harmonics(order=12, period=3.0).build(1, (0.0, 1.0))
    x = torch.linspace(0, 1, 200)[None, :, None]
    functions, line = basis(x)[0].double(), x[0].double()
    found = functions @ torch.linalg.lstsq(functions, line).solution
    torch.testing.assert_close(found, line, atol=1e-4, rtol=0)


def test_several_features_have_all_vectors_of_frequencies_up_to_a_length():
    basis = Harmonics(order=2, period=2.0).build(2, (0.0, 1.0))
    assert basis(torch.rand(4, 3, 2)).shape == (4, 3, 2 * len(waves(2, 2)) + 1)
    assert len(basis.lengths) == 2 * len(waves(2, 2)) + 1
    assert basis.lengths[0] == 0 and (basis.lengths[1:] > 0).all()


def test_too_much_and_too_little_is_refused():
    with pytest.raises(InputError, match="order >= 1 and period >= 1.25"):
        Harmonics(order=0)
    with pytest.raises(InputError, match="order >= 1 and period >= 1.25"):
        Harmonics(period=1.0)
    for features, order in ((5, 6), (2, 40), (50, 1000)):
        with pytest.raises(InputError, match="at most 4096 functions"):
            Harmonics(order=order).build(features, (0.0, 1.0))
