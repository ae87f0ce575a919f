"""Pictures of predictors over classes."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.plots import plot_density, plot_predictive


@dataclass(frozen=True)
class Steps:
    """P(class 1) = x for two classes; all classes alike for more."""

    count: int

    def condition(self, context_x: Tensor, context_y: Tensor) -> "Steps":
        return self

    def predict(self, query_x: Tensor) -> Distribution:
        x = query_x[..., 0]
        probs = torch.stack([1 - x, x], dim=-1) if self.count == 2 else torch.ones(*x.shape, self.count)
        return Categorical(probs)


X, Y = torch.tensor([[0.1], [0.5], [0.9]]), torch.tensor([0.0, 1.0, 1.0])


def test_of_two_classes_the_probability_of_the_second_is_drawn() -> None:
    ax = plot_predictive(Steps(2), X, Y, reference=Steps(2), query_range=(0.0, 1.0))
    curve, reference = (line for line in ax.get_lines() if line.get_label() == "Steps P(class 1)")
    np.testing.assert_allclose(curve.get_ydata(), curve.get_xdata(), atol=1e-6)
    assert reference.is_dashed() and not curve.is_dashed()
    assert ax.get_ylabel() == "probability"


def test_labels_of_the_context_are_told_apart_by_colour_and_mark() -> None:
    ax = plot_predictive(Steps(2), X, Y, query_range=(0.0, 1.0))
    marks = {line.get_label(): line for line in ax.get_lines() if line.get_label().startswith("context")}
    none, one = marks["context of class 0"], marks["context of class 1"]
    assert list(none.get_ydata()) == [0.0] and list(one.get_ydata()) == [1.0, 1.0]
    assert none.get_marker() != one.get_marker() and none.get_color() != one.get_color()


def test_of_three_classes_each_has_a_curve() -> None:
    ax = plot_predictive(Steps(3), X, torch.tensor([0.0, 2.0, 1.0]), query_range=(0.0, 1.0))
    curves = [line for line in ax.get_lines() if "P(class" in line.get_label()]
    assert len(curves) == 3
    for curve in curves:
        np.testing.assert_allclose(curve.get_ydata(), 1 / 3, atol=1e-6)


@pytest.mark.parametrize("count", [2, 3])
def test_the_map_of_classes_has_a_row_for_each_with_its_probability(count: int) -> None:
    ax = plot_density(Steps(count), X, Y, query_range=(0.0, 1.0))
    values = ax.collections[0].get_array().reshape(count, -1)
    np.testing.assert_allclose(values.sum(0), 1.0, atol=1e-6)
    assert ax.get_ylabel() == "class" and list(ax.get_yticks()) == list(range(count))
