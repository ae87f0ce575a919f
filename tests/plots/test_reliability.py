import pytest
import torch
from matplotlib import pyplot as plt
from torch.distributions import Categorical, Normal

from priorfit.errors import InputError
from priorfit.plots import plot_calibration, plot_pit
from priorfit.seeding import seeded


def heights(ax):
    return torch.tensor([bar.get_height() for bar in ax.containers[0]], dtype=torch.float32)


def test_the_bars_are_the_density_of_the_quantiles():
    y = torch.tensor([-3.0, -3.0, 0.01, 3.0])
    ax = plot_pit(Normal(torch.zeros(4), 1.0), y)
    torch.testing.assert_close(heights(ax), torch.tensor([5.0, 0, 0, 0, 0, 2.5, 0, 0, 0, 2.5]))
    plt.close("all")


def test_a_right_model_lies_on_the_diagonal():
    with seeded(0):
        reals, probs = torch.randn(20_000), torch.rand(20_000)
        labels = torch.bernoulli(probs)
    for ppd, y in (
        (Normal(torch.zeros(20_000), 1.0), reals),
        (Categorical(torch.stack([1 - probs, probs], dim=-1)), labels),
    ):
        curve = plot_calibration(ppd, y).lines[1]
        stated, found = (torch.tensor(list(data)) for data in curve.get_data())
        torch.testing.assert_close(found, stated, rtol=0, atol=0.03)
    plt.close("all")


def test_a_given_axis_is_used_and_nothing_to_draw_is_said():
    _, (left, right) = plt.subplots(1, 2)
    assert plot_pit(Normal(torch.zeros(5), 1.0), torch.zeros(5), ax=left) is left
    assert plot_calibration(Normal(torch.zeros(5), 1.0), torch.zeros(5), ax=right) is right
    for plot in (plot_pit, plot_calibration):
        with pytest.raises(InputError, match="no targets"):
            plot(Normal(torch.zeros(0), 1.0), torch.zeros(0))
    plt.close("all")
