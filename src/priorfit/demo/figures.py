"""The two pictures of the page and the sources of what is drawn on them."""

from dataclasses import dataclass, field
from typing import Any

from priorfit.demo.subject import Subject
from priorfit.extras import needs_extra

with needs_extra("demo"):
    from bokeh.models import (
        ColumnDataSource,
        DataRange1d,
        Image,
        InlineStyleSheet,
        LinearColorMapper,
        Range1d,
        Span,
    )
    from bokeh.plotting import figure

# Okabe and Ito's palette, as in all pictures of this library: told apart with any kind of colour vision.
BLACK, ORANGE, GREEN, BLUE, VERMILION = "#000000", "#E69F00", "#009E73", "#0072B2", "#D55E00"
INK, GRID = "#333333", "#E6E6E6"

LIGHTEST, DARKEST = (255, 255, 255), (86, 180, 233)
"""The ends of the heat map: white to sky blue, light enough for every line on it."""
SHADES = [
    "#" + "".join(f"{round(a + (b - a) * step / 255):02x}" for a, b in zip(LIGHTEST, DARKEST, strict=True))
    for step in range(256)
]

EXACT_DASH = [7, 4]
CROSSHAIR = ":host { cursor: crosshair; }"
NARROW = ":host { max-width: 28vw; }"
ON_A_PHONE = (
    "@media (max-width: 640px) {{ :host {{ flex: 0 0 auto; width: 100% !important; max-width: none; height: {}px; }} }}"
)
"""Style for narrow screens: pictures stand below each other with a fixed height, and the page scrolls."""


def empty(*columns: str, name: str | None = None) -> ColumnDataSource:
    """A source with these columns and no rows."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


WIDTHS = {"mean": 2.6, "low50": 1.5, "high50": 1.5, "low95": 0.9, "high95": 0.9}
"""Widths of the lines of the mean and the limits of its intervals; inner lines are bolder."""


@dataclass(frozen=True)
class Sources:
    """Everything that changes while the page is open; few of them, as each change is a message of its own."""

    points: ColumnDataSource = field(default_factory=lambda: empty("x", "y", name="points"))
    heat: ColumnDataSource = field(default_factory=lambda: empty("image", "x", "y", "width", "height"))
    curves: ColumnDataSource = field(
        default_factory=lambda: empty(
            "x", *(f"{who}_{line}" for who in ("model", "reference") for line in WIDTHS), name="curves"
        )
    )
    functions: ColumnDataSource = field(default_factory=lambda: empty("x", "y", name="functions"))
    cut: ColumnDataSource = field(default_factory=lambda: empty("y", "model", "reference"))


@dataclass(frozen=True)
class Layers:
    """The layers that a visitor can show and hide."""

    density: list[Any]
    bands: list[Any]
    exact: list[Any]


@dataclass(frozen=True)
class Figures:
    """The window and, beside it on the same axis of y, the cut at the cursor."""

    window: figure
    cut: figure
    layers: Layers
    cursor: Span


def figures(sources: Sources) -> Figures:
    """Draw everything once, from sources that are still empty."""
    window = figure(
        name="window",
        tools="",
        toolbar_location=None,
        x_axis_label="x",
        y_axis_label="y",
        x_range=Range1d(start=0, end=1),
        y_range=Range1d(start=-1, end=1),
        sizing_mode="stretch_both",
        min_height=240,
        stylesheets=[InlineStyleSheet(css=CROSSHAIR + ON_A_PHONE.format(300))],
    )
    colours = LinearColorMapper(palette=SHADES, low=0, high=255)
    heat = Image(image="image", x="x", y="y", dw="width", dh="height", color_mapper=colours)
    density = window.add_glyph(sources.heat, heat, level="image")
    window.multi_line("x", "y", source=sources.functions, color=GREEN, line_width=1.3, alpha=0.8)
    bands = drawn_bands(window, sources.curves, "model", color=BLUE, line_dash="solid")
    reference = drawn_bands(window, sources.curves, "reference", color=VERMILION, line_dash=EXACT_DASH)
    draw_points(window, sources.points)
    cursor = Span(name="cursor", location=None, dimension="height", line_color=INK, line_dash="dotted", line_width=1)
    window.add_layout(cursor)
    tidy(window)
    cut, reference_cut = cut_figure(window, sources)
    layers = Layers([density], bands, [*reference, reference_cut])
    return Figures(window, cut, layers, cursor)


def drawn_bands(window: figure, source: ColumnDataSource, who: str, **style: Any) -> list[Any]:
    """Draw mean and limits as lines, since filled bands would hide the density."""
    return [
        window.line("x", f"{who}_{line}", source=source, line_width=width, **style) for line, width in WIDTHS.items()
    ]


def draw_points(window: figure, source: ColumnDataSource) -> None:
    """Draw points dark with a light rim; the selected one is orange and larger."""
    points = window.scatter(
        "x", "y", source=source, size=11, fill_color=BLACK, line_color="white", line_width=1.5, level="overlay"
    )
    points.selection_glyph = points.glyph.clone(fill_color=ORANGE, line_color=BLACK, size=16)
    points.nonselection_glyph = points.glyph


def cut_figure(window: figure, sources: Sources) -> tuple[figure, Any]:
    """The density of y at one x, lying on its side, so that y is the same height as in the window."""
    cut = figure(
        name="cut",
        tools="",
        toolbar_location=None,
        x_axis_label="density of y at the cursor",
        y_axis_location="right",
        x_range=DataRange1d(start=0),
        y_range=window.y_range,
        sizing_mode="stretch_height",
        width=300,
        min_height=200,
        stylesheets=[InlineStyleSheet(css=NARROW + ON_A_PHONE.format(220))],
    )
    cut.harea(x1=0, x2="model", y="y", source=sources.cut, fill_color=SHADES[-1], fill_alpha=0.7)
    cut.line("model", "y", source=sources.cut, color=BLUE, line_width=2)
    reference = cut.line("reference", "y", source=sources.cut, color=VERMILION, line_width=1.8, line_dash=EXACT_DASH)
    tidy(cut)
    return cut, reference


def tidy(one: figure) -> None:
    """Set large labels, a faint grid and no frame."""
    one.axis.axis_label_text_font_size = "15px"
    one.axis.axis_label_text_font_style = "normal"
    one.axis.major_label_text_font_size = "13px"
    one.axis.minor_tick_line_color = None
    one.axis.axis_line_color = one.axis.major_tick_line_color = INK
    one.axis.axis_label_text_color = one.axis.major_label_text_color = INK
    one.grid.grid_line_color = GRID
    one.outline_line_color = None


def show_window_of(subject: Subject, shown: Figures) -> None:
    """Set the axes to the window of a model."""
    window = shown.window
    window.x_range.update(start=subject.x_range[0], end=subject.x_range[1])
    window.y_range.update(start=subject.y_range[0], end=subject.y_range[1])
