import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

from priorfit.errors import InputError
from priorfit.plots import plot_prior
from priorfit.priors import Binarized, GaussianProcess, LinearRegression, Strokes, UniformInputs
from priorfit.priors.function import prior


@prior(num_features=2, inputs=UniformInputs(-1.0, 3.0))
def first_alone(x: torch.Tensor) -> torch.Tensor:
    """A slope along the first feature, the second as offset."""
    return torch.ones(len(x), 1) * x[..., 0] + 100 * x[..., 1]


def test_functions_run_over_the_range_of_the_inputs_and_keep_the_other_features() -> None:
    ax = plot_prior(first_alone, num_functions=3, num_points=5)
    for line in ax.get_lines():
        x, y = line.get_data()
        np.testing.assert_allclose(x, [-1, 0, 1, 2, 3])
        np.testing.assert_allclose(np.diff(y), 1.0, atol=1e-3)  # but for the offset, the first feature
    assert len(ax.get_lines()) == 3
    assert ax.get_xlabel() == "first feature (the others fixed)"


def test_one_seed_draws_the_same_functions_and_another_others() -> None:
    gp = GaussianProcess(lengthscale=0.3)
    first, again, other = (plot_prior(gp, seed=seed).get_lines()[0].get_ydata() for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_inputs_without_a_range_are_drawn_where_most_of_them_lie() -> None:
    x = plot_prior(LinearRegression()).get_lines()[0].get_xdata()
    assert -3 < x[0] < -1.8 and 1.8 < x[-1] < 3


def test_labels_lie_near_their_class_and_functions_do_not_hide_each_other() -> None:
    ax = plot_prior(Binarized(GaussianProcess()), num_functions=4)
    heights = [line.get_ydata() for line in ax.get_lines()]
    assert all(np.abs(each - each.round()).max() < 0.3 for each in heights)
    assert len({float(height) for each in heights for height in each}) >= 4
    assert ax.get_ylabel() == "class" and list(ax.get_yticks()) == [0, 1]


def test_a_given_axis_is_used_and_returned() -> None:
    _, ax = plt.subplots()
    assert plot_prior(GaussianProcess(), ax=ax) is ax


def test_what_has_no_functions_or_no_points_is_refused() -> None:
    with pytest.raises(InputError, match="no functions to draw"):
        plot_prior(Strokes(num_ways=3, image_size=8))
    with pytest.raises(InputError, match="num_functions must be at least 1"):
        plot_prior(GaussianProcess(), num_functions=0)
