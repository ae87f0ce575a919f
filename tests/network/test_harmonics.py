import pytest
import torch

from priorfit.errors import InputError
from priorfit.network import Harmonics
from priorfit.network.harmonics import waves


def test_the_functions_are_waves_of_whole_frequencies_over_the_period():
    basis = Harmonics(order=3, period=2.0).build(1, (1.0, 3.0))
    x = torch.tensor([[[1.0], [1.7], [3.0]]])
    found = basis(x)
    assert found.shape == (1, 3, 7)
    angles = 2 * torch.pi * (x - 2.0) / 4.0 * torch.arange(1, 4)  # the period is twice the range of 2
    torch.testing.assert_close(found, torch.cat([torch.ones(1, 3, 1), angles.cos(), angles.sin()], -1))


def test_over_a_whole_period_they_are_orthogonal():
    basis = Harmonics(order=4, period=2.0).build(2, (0.0, 1.0))
    line = 2 * torch.arange(16) / 16
    x = torch.cartesian_prod(line, line)[None]
    gram = basis(x)[0].mT @ basis(x)[0] / 256
    torch.testing.assert_close(gram, torch.diag(gram.diagonal()), atol=1e-5, rtol=0)


def test_lengths_are_those_of_the_frequencies():
    basis = Harmonics(order=2, period=2.0).build(2, (0.0, 1.0))
    assert len(basis.lengths) == 2 * len(waves(2, 2)) + 1
    assert basis.lengths[0] == 0
    torch.testing.assert_close(basis.lengths[1:].min(), torch.tensor(torch.pi / 2))
    torch.testing.assert_close(basis.lengths.max(), torch.tensor(torch.pi))


def test_too_much_and_too_little_is_refused():
    with pytest.raises(InputError, match="order >= 1 and a period above 1"):
        Harmonics(order=0)
    with pytest.raises(InputError, match="order >= 1 and a period above 1"):
        Harmonics(period=1.0)
    for features, order in ((5, 6), (2, 40), (50, 1000)):
        with pytest.raises(InputError, match="at most 4096 functions"):
            Harmonics(order=order).build(features, (0.0, 1.0))
