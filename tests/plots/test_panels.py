import pytest
import torch
from torch import Tensor

from priorfit.errors import InputError
from priorfit.plots import plot_panels
from priorfit.predictor import Predictor

Context = tuple[Tensor, Tensor]


def contexts(*sizes: int) -> list[Context]:
    return [(torch.linspace(0, 1, size)[:, None], torch.zeros(size)) for size in sizes]


def test_each_context_gets_a_panel_titled_by_its_size(predictor: Predictor) -> None:
    figure = plot_panels(predictor, contexts(3, 5, 10), query_range=(0, 1))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["n = 3", "n = 5", "n = 10"]
    assert all(ax.has_data() for ax in figure.axes)


def test_one_legend_serves_all_panels(predictor: Predictor, reference: Predictor) -> None:
    figure = plot_panels(predictor, contexts(3, 5), reference=reference)
    assert all(ax.get_legend() is None for ax in figure.axes)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][::4] == ["context", "Ridge mean"]
    figure.draw_without_rendering()
    assert all(legend.get_window_extent().y0 >= ax.get_tightbbox().y1 for ax in figure.axes)


def test_a_single_context_fills_the_figure(predictor: Predictor) -> None:
    (ax,) = plot_panels(predictor, contexts(4)).axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")


def test_no_context_is_nothing_to_draw(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="contexts is empty"):
        plot_panels(predictor, [])
