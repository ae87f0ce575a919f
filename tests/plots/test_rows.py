import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from torch import Tensor
from torch.distributions import Categorical, Normal

from priorfit.errors import InputError
from priorfit.plots import plot_answer, plot_rows
from priorfit.plots.canvas import unkept_axis
from priorfit.predictor import Predictor


def test_means_and_intervals_are_those_of_the_distribution() -> None:
    ax = plot_rows(Normal(torch.tensor([1.0, -2.0]), torch.tensor([1.0, 3.0])))
    (mean,) = ax.get_lines()
    np.testing.assert_allclose(mean.get_ydata(), [1.0, -2.0])
    wide, narrow = (each for each in ax.collections if isinstance(each, LineCollection))
    np.testing.assert_allclose([line[:, 1] for line in wide.get_segments()], [[-0.96, 2.96], [-7.88, 3.88]], atol=0.01)
    assert wide.get_label() == "95% interval" and narrow.get_label() == "50% interval"


def test_bars_of_classes_are_their_probabilities_and_fill_the_height() -> None:
    ppd = Categorical(torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
    ax = plot_rows(ppd)
    heights = np.array([[bar.get_height() for bar in container] for container in ax.containers])
    np.testing.assert_allclose(heights.T, ppd.probs, atol=1e-6)
    assert [container.get_label() for container in ax.containers] == ["class 0", "class 1", "class 2"]
    assert len(plot_rows(Categorical(torch.tensor([[0.7, 0.3]]))).containers) == 2


def test_rows_carry_their_numbers_and_many_of_them_few_ticks() -> None:
    ax = plot_rows(Normal(torch.zeros(2), 1.0), labels=[7, 9])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["7", "9"]
    ax = plot_rows(Normal(torch.zeros(100), 1.0), labels=range(200, 300))
    ax.figure.draw_without_rendering()
    shown = [text.get_text() for text in ax.get_xticklabels() if text.get_text()]
    assert "200" in shown and len(shown) < 15


def test_a_given_axis_is_used_and_a_batch_of_datasets_refused() -> None:
    _, ax = plt.subplots()
    assert plot_rows(Normal(torch.zeros(2), 1.0), ax=ax) is ax
    with pytest.raises(InputError, match="queries of one dataset"):
        plot_rows(Normal(torch.zeros(2, 3), 1.0))


def test_an_answer_over_one_feature_spans_context_and_queries_and_marks_what_was_asked(
    predictor: Predictor, context: tuple[Tensor, Tensor]
) -> None:
    ax = plot_answer(predictor, *context, torch.tensor([[2.0], [-1.0]]))
    lines = {line.get_label(): line for line in ax.get_lines()}
    x = lines["Bump mean"].get_xdata()
    assert x[0] < -1 and x[-1] > 2
    assert list(lines["asked"].get_xdata()) == [2.0, -1.0]
    assert ax.get_xlabel() == "x"


def test_an_answer_over_several_features_is_drawn_row_by_row(predictor: Predictor) -> None:
    ax = plot_answer(predictor, torch.rand(4, 3), torch.rand(4), torch.rand(2, 3), labels=[5, 6])
    assert ax.get_xlabel() == "row"


def test_one_place_alone_can_be_asked_about(predictor: Predictor) -> None:
    assert plot_answer(predictor, torch.zeros(1, 1), torch.zeros(1), torch.zeros(1, 1)).has_data()


@pytest.mark.parametrize("first", [1, 71, 1171, 123_451])
@pytest.mark.parametrize("count", [2, 12, 29, 30, 31, 200])
def test_the_labels_of_rows_do_not_lie_over_each_other(first: int, count: int) -> None:
    ax = plot_rows(Normal(torch.zeros(count), 1.0), labels=range(first, first + count), ax=unkept_axis(7.2, 4.2))
    figure = ax.get_figure(root=True)
    figure.canvas.draw()
    drawn = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    drawn = sorted((box for box in drawn if box.width > 1), key=lambda box: box.x0)
    assert len(drawn) >= 2
    assert all(one.x1 + 2 < other.x0 for one, other in zip(drawn, drawn[1:], strict=False))
