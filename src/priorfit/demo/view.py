"""The contents of the page: the figures, the controls around them, and the text."""

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from priorfit.demo.figures import BLACK, BLUE, GREEN, SHADES, VERMILION, Figures, Sources, figures
from priorfit.demo.state import MOST_POINTS
from priorfit.extras import needs_extra

with needs_extra("demo"):
    from bokeh.document import Document
    from bokeh.layouts import column, row
    from bokeh.models import (
        Button,
        CheckboxButtonGroup,
        ColumnDataSource,
        CustomJS,
        Div,
        Dropdown,
        InlineStyleSheet,
        Select,
        Spinner,
        UIElement,
    )

GESTURES = Path(__file__).with_name("gestures.js")
EVENTS = ("tap", "doubletap", "press", "pressup", "panstart", "pan", "panend", "mousemove")
LAYERS = ("density", "bands", "exact")
MOST_FUNCTIONS = 20

TITLE = "Bayesian inference in one forward pass"
INTRODUCTION = (
    "This network was trained once, on datasets drawn from a prior; it has never seen your points. It reads them as "
    "its input and says at once how likely each y is at each x: that is <b>blue</b>. The exact posterior, which it "
    "should match, is <b>dashed</b>."
)
NO_REFERENCE = "no exact posterior is known"
HINTS = (
    "Click: add a point · drag: move it · click it, then Delete: remove it · move the mouse: cut through the density"
)

STYLE = ":host { font: 15px/1.45 system-ui, sans-serif; color: #333; } h1 { font-size: 20px; margin: 0 0 2px; }"
PHONE = "@media (max-width: 640px)"
PAGE_STYLE = f"""
:host {{ height: auto !important; min-height: 100vh; min-height: 100dvh; padding: 10px 18px; box-sizing: border-box;
  max-width: 1600px; margin: 0 auto; }}
{PHONE} {{ :host {{ padding: 8px; }} }}
"""
"""Style of the page: as high as the window, or higher, with scrolling, where its contents need more."""
WRAPPED = ":host { flex-wrap: wrap; }"
PICTURES_STYLE = f":host {{ flex: 1 0 auto; }} {PHONE} {{ :host {{ flex-direction: column; }} }}"
"""Style of the pictures: side by side, and below each other on a phone."""
BELOW = f"{PHONE} {{ :host {{ order: 1; }} }}"
"""Style of text that stands below the pictures on a phone, so that these are in sight."""


@dataclass(frozen=True)
class Controls:
    """The buttons and menus of the page."""

    model: Select
    examples: Dropdown
    delete: Button
    clear: Button
    layers: CheckboxButtonGroup
    count: Spinner
    draw: Button


@dataclass(frozen=True)
class View:
    """The page before the first answer of a model."""

    sources: Sources
    figures: Figures
    controls: Controls
    prior: Div
    legend: Div
    status: Div
    remarks: Div
    turn: ColumnDataSource = field(default_factory=lambda: ColumnDataSource({"serial": [0], "cursor": [None]}))
    """The browser sets it after its other changes, to request an answer."""
    answer: ColumnDataSource = field(default_factory=lambda: ColumnDataSource({"serial": [0]}))
    """The server sets it after its other changes, to allow the next request."""

    def add_to(self, document: Document) -> None:
        """Add the page to a document, and connect mouse and keys."""
        gestures = CustomJS(
            args={
                "figure": self.figures.window,
                "points": self.sources.points,
                "turn": self.turn,
                "answer": self.answer,
                "most": MOST_POINTS,
            },
            code=GESTURES.read_text(encoding="utf-8"),
        )
        for event in EVENTS:
            self.figures.window.js_on_event(event, gestures)
        self.answer.js_on_change("data", gestures)
        document.add_root(self._layout())
        document.title = "priorfit demo"

    def _layout(self) -> UIElement:
        controls = self.controls
        bar = row(
            controls.model,
            controls.examples,
            controls.clear,
            controls.delete,
            controls.layers,
            controls.count,
            controls.draw,
            spacing=6,
            sizing_mode="stretch_width",
            styles={"align-items": "end"},
            stylesheets=[InlineStyleSheet(css=WRAPPED)],
        )
        pictures = row(
            self.figures.window,
            self.figures.cut,
            sizing_mode="stretch_both",
            spacing=8,
            stylesheets=[InlineStyleSheet(css=PICTURES_STYLE)],
        )
        return column(
            words(f"<h1>{TITLE}</h1>"),
            words(f"{INTRODUCTION}<br><span style='color:#666'>{escape(HINTS)}</span>", css=BELOW),
            bar,
            self.legend,
            pictures,
            self.status,
            self.prior,
            self.remarks,
            name="page",
            sizing_mode="stretch_both",
            spacing=4,
            stylesheets=[InlineStyleSheet(css=PAGE_STYLE)],
        )


def words(text: str = "", name: str | None = None, css: str = "") -> Div:
    """Text over the whole width."""
    style = InlineStyleSheet(css=STYLE + css)
    return Div(text=text, name=name, sizing_mode="stretch_width", stylesheets=[style], margin=0)


def view_of(names: list[str], examples: list[str]) -> View:
    """A page with these models and examples to choose from."""
    sources = Sources()
    controls = Controls(
        model=Select(title="Model", options=list(names), value=names[0], width=190, name="model"),
        examples=Dropdown(label="Start from", menu=list(examples), width=105, name="examples"),
        delete=Button(label="Delete selected", width=120, name="delete"),
        clear=Button(label="Clear", width=60, name="clear"),
        layers=CheckboxButtonGroup(labels=list(LAYERS), active=[0, 1, 2], width=220, name="layers"),
        count=Spinner(title="Functions", low=1, high=MOST_FUNCTIONS, step=1, value=5, width=80, name="count"),
        draw=Button(label="Draw functions", width=130, button_type="primary", name="draw"),
    )
    remarks = words(name="remarks", css=":host { min-height: 24px; }")  # figures must not jump when one appears
    prior, legend, status = words(name="prior"), words(name="legend", css=BELOW), words(name="status")
    return View(sources, figures(sources), controls, prior, legend, status, remarks)


def prior_text(prior: str) -> str:
    """The text about the prior that the network was trained on."""
    return f"<b>Prior</b> {escape(prior)}"


def legend_text(reference: str | None) -> str:
    """The text about the colours. (Bokeh's own legend is rebuilt with each change of what it names.)"""
    entries = [
        (f"width:10px;height:10px;border-radius:50%;background:{BLACK}", "points"),
        (f"width:26px;height:12px;background:linear-gradient(90deg,{SHADES[0]},{SHADES[-1]})", "network: density of y"),
        (f"width:26px;border-top:3px solid {BLUE}", "its mean, 50 % and 95 % limits"),
        (
            f"width:26px;border-top:3px dashed {VERMILION}",
            f"{reference}: mean and limits" if reference else NO_REFERENCE,
        ),
        (f"width:26px;border-top:2px solid {GREEN}", "functions, drawn one point after the other"),
    ]
    swatch = (
        "<span style='display:inline-block;margin-right:20px'>"
        "<span style='display:inline-block;vertical-align:middle;margin-right:6px;{}'></span>{}</span>"
    )
    return f"<div>{''.join(swatch.format(css, escape(text)) for css, text in entries)}</div>"


def status_text(parts: list[str]) -> str:
    """The status line: facts side by side."""
    return " · ".join(map(escape, parts))


def remark_text(remarks: list[str]) -> str:
    """Warnings, one line each."""
    lines = "<br>".join(map(escape, remarks))
    return f"<span style='color:#A34700'><b>Note.</b> {lines}</span>" if remarks else ""
