import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from torch import Tensor
from torch.distributions import Normal

from priorfit.errors import InputError, ShapeError
from priorfit.plots import plot_predictive
from priorfit.predictor import Predictor

Context = tuple[Tensor, Tensor]


def test_mean_and_bands_are_those_of_the_distribution(predictor: Predictor, context: Context) -> None:
    ax = plot_predictive(predictor, *context, query_range=(0.0, 2.0))
    lines = {line.get_label(): line for line in ax.get_lines()}
    x, mean = lines["Bump mean"].get_data()
    assert (x[0], x[-1]) == (0.0, 2.0)
    np.testing.assert_allclose(mean, x, rtol=1e-6)
    bands = {band.get_label(): band for band in ax.collections if isinstance(band, PolyCollection)}
    for mass in (0.5, 0.95):
        corners = bands[f"Bump {mass:.0%} interval"].get_paths()[0].vertices
        at_two = corners[np.isclose(corners[:, 0], 2.0), 1]
        expected = Normal(2.0, 3.0).icdf(torch.tensor([0.5 - mass / 2, 0.5 + mass / 2])).numpy()
        np.testing.assert_allclose([at_two.min(), at_two.max()], expected, rtol=1e-5)


def test_the_context_is_drawn_as_points(predictor: Predictor, context: Context) -> None:
    ax = plot_predictive(predictor, *context)
    (points,) = [line for line in ax.get_lines() if line.get_label() == "context"]
    np.testing.assert_array_equal(points.get_xdata(), context[0][:, 0])
    np.testing.assert_array_equal(points.get_ydata(), context[1])
    assert points.get_linestyle() == "None"


def test_the_reference_is_drawn_as_dashed_lines(predictor: Predictor, reference: Predictor, context: Context) -> None:
    ax = plot_predictive(predictor, *context, reference=reference)
    lines = {line.get_label(): line for line in ax.get_lines()}
    x, mean = lines["Ridge mean"].get_data()
    np.testing.assert_allclose(mean, x + 0.5, rtol=1e-6)
    assert all(lines[label].is_dashed() for label in ("Ridge mean", "Ridge 95% limits"))
    assert not lines["Bump mean"].is_dashed()


def test_everything_is_labelled_and_the_legend_covers_nothing(
    predictor: Predictor, reference: Predictor, context: Context
) -> None:
    ax = plot_predictive(predictor, *context, reference=reference)
    ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "context",
        "Bump mean",
        "Bump 50% interval",
        "Bump 95% interval",
        "Ridge mean",
        "Ridge 95% limits",
    ]
    assert legend.get_window_extent().y0 >= ax.get_window_extent().y1
    assert legend.get_window_extent().x1 <= ax.figure.bbox.x1


def test_a_given_axis_is_used_and_returned(predictor: Predictor, context: Context) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert plot_predictive(predictor, *context, ax=right) is right
    assert not left.has_data()
    assert plt.get_fignums() == [figure.number]


def test_queries_span_the_context_unless_told_otherwise(predictor: Predictor, context: Context) -> None:
    x = plot_predictive(predictor, *context).get_lines()[1].get_xdata()
    assert (x[0], x[-1]) == (0.25, 1.0)


def test_no_context_at_all_is_drawn_where_told(predictor: Predictor) -> None:
    empty = torch.zeros(0, 1), torch.zeros(0)
    assert plot_predictive(predictor, *empty, query_range=(0, 1)).has_data()
    with pytest.raises(InputError, match="say where to draw: query_range"):
        plot_predictive(predictor, *empty)


@pytest.mark.parametrize("shape", [(5, 2), (4, 5, 1)])
def test_two_features_or_many_datasets_are_refused(predictor: Predictor, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"must have shape \(context, 1\); got"):
        plot_predictive(predictor, torch.rand(shape), torch.rand(shape[:-1]))


def test_a_range_upside_down_is_refused(predictor: Predictor, context: Context) -> None:
    with pytest.raises(InputError, match=r"low < high; got \(1\.0, 0\.0\)"):
        plot_predictive(predictor, *context, query_range=(1.0, 0.0))


def test_float64_and_tensors_with_gradients_are_drawn(predictor: Predictor, context: Context) -> None:
    x, y = (values.double().requires_grad_() for values in context)
    assert plot_predictive(predictor, x, y).has_data()
