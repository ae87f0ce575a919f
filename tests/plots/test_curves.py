from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from priorfit.errors import InputError
from priorfit.plots import plot_gap, plot_nll
from priorfit.plots.canvas import unkept_axis


def rows(label: str | None = None, sizes: tuple[int, ...] = (20, 3, 5)) -> list[dict[str, Any]]:
    named = {} if label is None else {"label": label}
    return [{"n": n, "gap": n / 100, "low": n / 200, "high": n / 40, **named} for n in sizes]


def curves(ax: Axes) -> list[ErrorbarContainer]:
    return [container for container in ax.containers if isinstance(container, ErrorbarContainer)]


def test_points_and_intervals_are_those_of_the_rows_in_order_of_n() -> None:
    (curve,) = curves(plot_gap(rows()))
    line, _, (bars,) = curve.lines
    assert list(line.get_xdata()) == [3, 5, 20]
    assert list(line.get_ydata()) == [0.03, 0.05, 0.2]
    np.testing.assert_allclose([bar[:, 1] for bar in bars.get_segments()], [[n / 200, n / 40] for n in (3, 5, 20)])


def test_each_label_is_a_curve_of_its_own_colour_and_marker() -> None:
    ax = plot_gap(rows("sampled") + rows("expected"))
    first, second = (curve.lines[0] for curve in curves(ax))
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["exact", "sampled", "expected"]


def test_the_measured_sizes_are_the_ticks() -> None:
    ax = plot_gap(rows())
    assert list(ax.get_xticks()) == [3, 5, 20]
    assert ax.get_xscale() == "linear"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("context points n", "gap to exact NLL (nats)")


def test_sizes_over_a_factor_of_ten_get_a_logarithmic_axis() -> None:
    assert plot_gap(rows(sizes=(1, 10, 100))).get_xscale() == "log"
    assert plot_gap(rows(sizes=(0, 10, 100))).get_xscale() == "linear"


def test_a_given_axis_is_used_and_returned() -> None:
    _, ax = plt.subplots()
    assert plot_gap(rows(), ax=ax) is ax


def test_rows_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(InputError, match="rows is empty"):
        plot_gap([])
    with pytest.raises(InputError, match="one lacks low, high"):
        plot_gap([{"n": 3, "gap": 0.1}])
    with pytest.raises(InputError, match="low <= gap <= high"):
        plot_gap([{"n": 3, "gap": 0.1, "low": 0.2, "high": 0.3}])


def test_nll_is_drawn_as_given_and_without_a_line_at_zero() -> None:
    ax = plot_nll([{"n": n, "nll": -n / 10, "low": -n / 5, "high": 0.0, "label": "PFN"} for n in (4, 2)])
    (curve,) = curves(ax)
    assert list(curve.lines[0].get_ydata()) == [-0.2, -0.4]
    assert ax.get_ylabel() == "NLL (nats)"
    with pytest.raises(InputError, match="one lacks nll"):
        plot_nll(rows())


def test_curves_that_lie_on_each_other_differ_in_their_lines() -> None:
    first, second = (curve.lines[0] for curve in curves(plot_gap(rows("one") + rows("other"))))
    assert not first.is_dashed() and second.is_dashed()


def test_small_gaps_are_read_off_the_ticks_and_no_factor_lies_over_the_legend() -> None:
    rows = [{"n": n, "gap": gap, "low": 0.9 * gap, "high": 1.1 * gap} for n, gap in ((1, 5e-5), (10, 4e-6))]
    ax = plot_gap(rows, ax=unkept_axis(4.6, 3.4))
    ax.get_figure(root=True).canvas.draw()
    assert ax.yaxis.get_offset_text().get_text() == ""
    assert "1e-05" in [text.get_text() for text in ax.get_yticklabels()]
