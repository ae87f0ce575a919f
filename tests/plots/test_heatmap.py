import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from torch import Tensor
from torch.distributions import Normal

from priorfit.errors import InputError, ShapeError
from priorfit.plots import plot_density
from priorfit.predictor import Predictor

Context = tuple[Tensor, Tensor]


def test_each_column_is_the_density_at_its_input(predictor: Predictor, context: Context) -> None:
    ax = plot_density(predictor, *context, query_range=(0.0, 1.0), value_range=(-8.0, 8.0))
    density = np.asarray(ax.collections[0].get_array())
    values = torch.linspace(-8, 8, len(density))
    np.testing.assert_allclose(density[:, -1], Normal(1.0, 2.0).log_prob(values).exp(), rtol=1e-4)
    np.testing.assert_allclose(density.sum(0) * 16 / (len(density) - 1), 1.0, atol=1e-3)


def test_the_limits_are_those_asked_for(predictor: Predictor, context: Context) -> None:
    ax = plot_density(predictor, *context, query_range=(0.0, 1.0), value_range=(-2.0, 3.0))
    assert ax.get_ylim() == (-2.0, 3.0)
    np.testing.assert_allclose(ax.get_xlim(), (0.0, 1.0), atol=0.01)


def test_by_default_nearly_all_mass_and_every_point_is_in_view(predictor: Predictor) -> None:
    x, y = torch.tensor([[0.0], [1.0]]), torch.tensor([-20.0, 0.0])
    low, high = plot_density(predictor, x, y).get_ylim()
    assert low < -20
    assert high > Normal(1.0, 2.0).icdf(torch.tensor(0.99))


def test_everything_is_labelled(predictor: Predictor, context: Context) -> None:
    ax = plot_density(predictor, *context)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    bar = ax.collections[0].colorbar
    assert bar is not None
    assert bar.ax.get_ylabel() == "density p(y | x, context)"


def test_a_given_axis_is_used_and_returned(predictor: Predictor, context: Context) -> None:
    _, ax = plt.subplots()
    assert plot_density(predictor, *context, ax=ax) is ax


def test_what_cannot_be_drawn_is_refused(predictor: Predictor, context: Context) -> None:
    with pytest.raises(ShapeError, match="one dataset of one feature"):
        plot_density(predictor, torch.rand(5, 2), torch.rand(5))
    with pytest.raises(InputError, match="value_range must be"):
        plot_density(predictor, *context, value_range=(1.0, 1.0))
