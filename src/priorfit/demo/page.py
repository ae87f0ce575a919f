"""One open page: what happens when something is clicked, dragged or chosen."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from priorfit.demo.background import Background, Newest
from priorfit.demo.figures import WIDTHS, show_window_of
from priorfit.demo.functions import EXAMPLES, Functions, draw_functions, example
from priorfit.demo.state import (
    MOST_POINTS,
    Answer,
    Points,
    answer,
    cell_density,
    cross_section,
    remarks,
    shades,
    surprise_status,
)
from priorfit.demo.subject import Subject
from priorfit.demo.view import LAYERS, legend_text, prior_text, remark_text, status_text, view_of
from priorfit.errors import PriorfitError
from priorfit.extras import needs_extra

with needs_extra("demo"):
    from bokeh.document import Document
    from bokeh.events import MenuItemClick

FIRST_EXAMPLE = "three points"
FIRST_CURSOR = 0.35
"""Input of the first cross-section, as a share of the window."""


class Page:
    """A document with the model, the points and the cursor that one browser has chosen."""

    def __init__(self, subjects: Sequence[Subject], background: Background, document: Document) -> None:
        self.subjects = {subject.name: subject for subject in subjects}
        self.subject = subjects[0]
        self.view = view_of(list(self.subjects), list(EXAMPLES))
        self.oracle = Newest(background, document.add_next_tick_callback, self._finished)
        self.sampler = Newest(background, document.add_next_tick_callback, self._finished)
        self.judge = Newest(background, document.add_next_tick_callback, self._finished)
        self._num_draws = 0
        self._connect()
        self.view.add_to(document)
        document.on_session_destroyed(lambda context: self.close())
        self.points = example(self.subject, FIRST_EXAMPLE)
        self.show_subject(self.subject.name)

    def _connect(self) -> None:
        controls = self.view.controls
        controls.model.on_change("value", lambda attr, old, new: self.show_subject(new))
        controls.examples.on_click(lambda event: self.start_from(str(cast(MenuItemClick, event).item)))
        controls.clear.on_click(lambda: self.place(Points()))
        controls.delete.on_click(self.delete_selected)
        controls.layers.on_change("active", lambda attr, old, new: self.show_layers(new))
        controls.draw.on_click(self.draw_functions)
        self.view.turn.on_change("data", lambda attr, old, new: self.take_turn(new["serial"][0], new["cursor"][0]))

    def close(self) -> None:
        """Stop all work for this page, since its browser is gone."""
        for asked in (self.oracle, self.sampler, self.judge):
            asked.drop()

    def take_turn(self, serial: int, cursor: float | None) -> None:
        """Handle new points or a new cursor of the browser, and always tell it that it may send the next."""
        try:
            data = self.view.sources.points.data
            points = Points.of(data["x"][:MOST_POINTS], data["y"][:MOST_POINTS])
            if cursor is not None:
                self.cursor = min(max(cursor, self.subject.x_range[0]), self.subject.x_range[1])
            if len(data["x"]) > MOST_POINTS:
                self.place(points)
            elif points == self.points:
                self.show_cut()
            else:
                self.redraw(points)
        finally:
            self.view.answer.data = {"serial": [serial]}

    def show_subject(self, name: str) -> None:
        """Choose a model; the points inside of its window stay."""
        self.subject = self.subjects[name]
        left, right = self.subject.x_range
        self.cursor = left + FIRST_CURSOR * (right - left)
        show_window_of(self.subject, self.view.figures)
        reference = self.subject.reference
        self.view.prior.text = prior_text(self.subject.prior_words)
        self.view.legend.text = legend_text(None if reference is None else reference.name)
        self.place(self.points.inside(self.subject))

    def place(self, points: Points) -> None:
        """Put these points on the page."""
        self.view.sources.points.selected.indices = []
        self.view.sources.points.data = {"x": list(points.x), "y": list(points.y)}
        self.redraw(points)

    def start_from(self, name: str) -> None:
        """Put an example on the page."""
        self.place(example(self.subject, name))

    def delete_selected(self) -> None:
        """Take the selected points away."""
        self.place(self.points.without(self.view.sources.points.selected.indices))

    def redraw(self, points: Points) -> None:
        """Condition the network on new points, and show everything that depends on its answer."""
        start = time.perf_counter()
        self.points, self.answer, self.reference = points, answer(self.subject, points), None
        self.surprise = ""
        self._ask_reference()
        self.judge.ask(lambda: [surprise_status(self.answer)], self._show_surprise)
        (left, right), (low, high) = self.subject.x_range, self.subject.y_range
        place = {"x": [left], "y": [low], "width": [right - left], "height": [high - low]}
        image = shades(cell_density(self.answer.ppd, self.subject.value_edges))
        self.view.sources.heat.data = {"image": [image], **place}
        self._clear_functions()
        self._show_curves()
        self._milliseconds = 1e3 * (time.perf_counter() - start)
        self._show_words()

    def _ask_reference(self) -> None:
        self.oracle.drop()
        if self.subject.reference is None:
            return
        work = partial(answer, self.subject, self.points, "reference")
        if self.subject.reference.is_slow:
            self.oracle.ask(lambda: [work()], self._show_late_reference)
        else:
            self.reference = work()

    def _show_surprise(self, words: str) -> None:
        self.surprise = words

    def _show_late_reference(self, reference: Answer) -> None:
        self.reference = reference
        self._show_curves()

    def _show_curves(self) -> None:
        queries = self.subject.query_x[:, 0].numpy()
        columns: dict[str, Any] = {"x": queries}
        for who, given in (("model", self.answer), ("reference", self.reference)):
            for line in WIDTHS:
                columns[f"{who}_{line}"] = (
                    np.full_like(queries, np.nan) if given is None else getattr(given.bands, line)
                )
        self.view.sources.curves.data = columns
        self.show_cut()

    def show_cut(self) -> None:
        """Cut through the density at the cursor."""
        self.view.figures.cursor.location = self.cursor
        cut = cross_section(self.subject, self.answer, self.cursor)
        reference = None if self.reference is None else cross_section(self.subject, self.reference, self.cursor)
        missing = np.full_like(cut.values, np.nan)
        self.view.sources.cut.data = {
            "y": cut.values,
            "model": cut.density,
            "reference": missing if reference is None else reference.density,
        }

    def show_layers(self, active: Sequence[int]) -> None:
        """Show some of the layers and hide the others."""
        for index, name in enumerate(LAYERS):
            for drawn in getattr(self.view.figures.layers, name):
                drawn.visible = index in active

    def draw_functions(self) -> None:
        """Draw functions in the background; another press draws others."""
        self._num_draws += 1
        count = int(self.view.controls.count.value or 1)
        work = partial(draw_functions, self.subject, self.points, count, self._num_draws)
        self.sampler.ask(work, self._show_functions)
        self._show_words()

    def _show_functions(self, drawn: Functions) -> None:
        self.view.sources.functions.data = {"x": [drawn.x] * len(drawn.y), "y": list(drawn.y)}

    def _clear_functions(self) -> None:
        self.sampler.drop()
        if len(self.view.sources.functions.data["x"]):
            self.view.sources.functions.data = {"x": [], "y": []}

    def _finished(self, error: PriorfitError | None) -> None:
        self._show_words()
        if error is not None:
            self.view.remarks.text = remark_text([str(error)])

    def _show_words(self) -> None:
        parts = [
            f"{len(self.points)} point{'s' * (len(self.points) != 1)}",
            f"network: {self.answer.milliseconds:.0f} ms",
            f"all curves: {self._milliseconds:.0f} ms",
        ]
        if self.reference is not None and self.subject.reference is not None:
            parts.insert(2, f"{self.subject.reference.name}: {self.reference.milliseconds:.0f} ms")
        if self.surprise:
            parts.append(self.surprise)
        if self.oracle.is_busy:
            parts.append("the oracle is at work ...")
        if self.sampler.is_busy:
            parts.append("drawing functions ...")
        self.view.status.text = status_text(parts)
        self.view.remarks.text = remark_text(remarks(self.subject, self.points))
