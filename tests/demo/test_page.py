import re
from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np
import pytest
import torch
from bokeh.document import Document
from bokeh.events import ButtonClick, MenuItemClick
from tiny_recipes import tiny_recipe

import priorfit as pf
from priorfit.demo.background import Background
from priorfit.demo.page import Page
from priorfit.demo.state import MOST_POINTS, Points, answer, cross_section
from priorfit.demo.subject import Subject, subject_of
from priorfit.priors import HyperGaussianProcess


class HandedOver(Document):
    """A document whose next tick comes when a test says so: outside of a server there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks: list[Callable[[], None]] = []

    def add_next_tick_callback(self, callback):
        self.ticks.append(callback)

    def take_all(self, background: Background) -> None:
        """Wait until all that was asked is answered, and let the answers in."""
        background.submit(lambda: None).result(60)
        while self.ticks:
            self.ticks.pop(0)()


@pytest.fixture(scope="module")
def gp() -> Subject:
    return subject_of("gp-rbf-1d", pf.load("gp-rbf-1d"))


@pytest.fixture(scope="module")
def hyper() -> Subject:
    return subject_of("hyper", pf.train(tiny_recipe(steps=1, num_points=60, prior=HyperGaussianProcess())))


@pytest.fixture
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.stop()


@pytest.fixture
def page(gp: Subject, background: Background) -> Page:
    return Page([gp], background, Document())


def moved(page: Page, points: Points, cursor: float | None = None, serial: int = 1) -> None:
    """What the browser does after a drag."""
    page.view.sources.points.data = {"x": list(points.x), "y": list(points.y)}
    page.view.turn.data = {"serial": [serial], "cursor": [cursor]}


def test_the_document_builds_and_shows_an_example(gp: Subject, background: Background) -> None:
    document = Document()
    page = Page([gp], background, document)
    document.validate()
    assert document.title == "priorfit demo"
    assert len(page.view.sources.points.data["x"]) == 3
    (image,) = page.view.sources.heat.data["image"]
    assert image.shape == (len(gp.value_edges) - 1, len(gp.query_x)) and image.max() == 255
    assert (page.view.figures.window.x_range.start, page.view.figures.window.x_range.end) == gp.x_range
    assert (page.view.figures.window.y_range.start, page.view.figures.window.y_range.end) == gp.y_range


def test_all_that_is_drawn_is_the_answer_to_the_points(page: Page, gp: Subject) -> None:
    points = Points.of([0.3, 0.9], [0.5, -0.25])
    moved(page, points, cursor=0.6)
    curves, cut = page.view.sources.curves.data, page.view.sources.cut.data
    for who in ("model", "reference"):
        bands = answer(gp, points, who).bands
        for line in ("mean", "low95", "low50", "high50", "high95"):
            assert curves[f"{who}_{line}"] == pytest.approx(getattr(bands, line), abs=1e-6)
        assert cut[who] == pytest.approx(cross_section(gp, answer(gp, points, who), 0.6).density, abs=1e-4)
    assert page.view.figures.cursor.location == 0.6


def test_the_browser_hears_which_of_its_messages_is_answered(page: Page) -> None:
    moved(page, Points.of([0.3], [0.5]), serial=7)
    assert page.view.answer.data["serial"] == [7]


def test_the_browser_may_ask_again_even_after_a_failure(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("no answer")

    monkeypatch.setattr("priorfit.demo.page.answer", fail)
    with pytest.raises(RuntimeError, match="no answer"):
        moved(page, Points.of([0.3], [0.5]), serial=8)
    assert page.view.answer.data["serial"] == [8]


def test_a_moved_cursor_changes_the_cut_alone(page: Page) -> None:
    curves, heat, cut = (getattr(page.view.sources, name).data for name in ("curves", "heat", "cut"))
    page.view.turn.data = {"serial": [2], "cursor": [0.9]}
    assert page.view.sources.curves.data is curves and page.view.sources.heat.data is heat
    assert not np.array_equal(page.view.sources.cut.data["model"], cut["model"])


def test_buttons_clear_delete_and_bring_examples(page: Page, gp: Subject) -> None:
    controls, sources = page.view.controls, page.view.sources
    x = list(sources.points.data["x"])
    sources.points.selected.indices = [1]
    controls.delete._trigger_event(ButtonClick(controls.delete))
    assert sources.points.data["x"] == [x[0], x[2]] and sources.points.selected.indices == []
    controls.clear._trigger_event(ButtonClick(controls.clear))
    assert sources.points.data == {"x": [], "y": []}
    assert sources.curves.data["model_mean"] == pytest.approx(answer(gp, Points()).bands.mean, abs=1e-6)
    controls.examples._trigger_event(MenuItemClick(controls.examples, "a gap"))
    assert len(sources.points.data["x"]) == 8


def test_layers_can_be_hidden(page: Page) -> None:
    layers = page.view.figures.layers
    page.view.controls.layers.active = [0, 2]
    assert not any(line.visible for line in layers.bands)
    assert all(drawn.visible for drawn in [*layers.density, *layers.exact])
    page.view.controls.layers.active = [1]
    assert all(line.visible for line in layers.bands)
    assert not any(drawn.visible for drawn in [*layers.density, *layers.exact])


def test_another_model_brings_its_window_and_keeps_the_points_in_it(gp: Subject, background: Background) -> None:
    tiny = subject_of(
        "tiny", pf.train(tiny_recipe(steps=1, prior=pf.GaussianProcess(lengthscale=0.3, outputscale=0.01)))
    )
    page = Page([gp, tiny], background, Document())
    moved(page, Points.of([0.2, 0.4], [0.1, 2.0]))
    page.view.controls.model.value = "tiny"
    assert page.view.sources.points.data == {"x": [0.2], "y": [0.1]}
    assert page.view.figures.window.y_range.end == tiny.y_range[1] < 1
    assert page.view.sources.curves.data["model_mean"] == pytest.approx(
        answer(tiny, Points.of([0.2], [0.1])).bands.mean, abs=1e-6
    )
    assert "outputscale 0.01" in page.view.prior.text


def test_the_milliseconds_are_told(page: Page) -> None:
    moved(page, Points.of([0.3], [0.5]))
    assert re.fullmatch(
        r"1 point · network: \d+ ms · exact posterior: \d+ ms · all curves: \d+ ms", page.view.status.text
    )


def test_unlikely_points_get_a_remark_that_goes_away_again(page: Page) -> None:
    moved(page, Points.of([0.5, 0.51], [1.0, -1.0]))
    assert "hardly ever draw" in page.view.remarks.text
    moved(page, Points.of([0.5], [1.0]))
    assert page.view.remarks.text == ""


def test_functions_come_from_the_background_and_go_when_the_points_change(
    gp: Subject, background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priorfit.demo.functions.NUM_PLACES", 6)
    document = HandedOver()
    page = Page([gp], background, document)
    page.view.controls.count.value = 3
    page.view.controls.draw._trigger_event(ButtonClick(page.view.controls.draw))
    assert "drawing functions" in page.view.status.text
    document.take_all(background)
    first = page.view.sources.functions.data
    assert [len(y) for y in first["y"]] == [6, 6, 6] and "drawing" not in page.view.status.text
    page.draw_functions()
    document.take_all(background)
    assert not np.array_equal(first["y"], page.view.sources.functions.data["y"])
    moved(page, Points.of([0.3], [0.5]))
    assert page.view.sources.functions.data == {"x": [], "y": []}
    page.draw_functions()
    moved(page, Points.of([0.3], [0.6]))
    document.take_all(background)
    assert page.view.sources.functions.data == {"x": [], "y": []}


def test_functions_appear_point_by_point(gp: Subject, background: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("priorfit.demo.functions.NUM_PLACES", 4)
    document = HandedOver()
    page = Page([gp], background, document)
    page.draw_functions()
    background.submit(lambda: None).result(60)
    counts = []
    while document.ticks:
        counts.append([len(y) for y in page.view.sources.functions.data["y"]])
        document.ticks.pop(0)()
    seen = [count for count, _ in groupby(counts)]  # other words of the page arrive in between
    assert seen == [[], [2] * 5, [3] * 5, [4] * 5]


def test_a_page_that_is_closed_asks_nothing_more(hyper: Subject, background: Background) -> None:
    document = HandedOver()
    page = Page([hyper], background, document)
    page.draw_functions()
    for closed in document.session_destroyed_callbacks:
        closed(None)
    background.submit(lambda: None).result(60)
    assert not page.oracle.is_busy and not page.sampler.is_busy
    document.ticks.clear()  # of the time before
    background.submit(lambda: None).result(60)
    assert document.ticks == []


def test_functions_that_cannot_be_drawn_are_refused_with_a_reason(gp: Subject, background: Background) -> None:
    document = HandedOver()
    page = Page([gp], background, document)
    x = np.linspace(0, 1, 100)
    moved(page, Points.of(x, 0.1 * x))
    page.draw_functions()
    document.take_all(background)
    assert "there are 100 already" in page.view.remarks.text


@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")  # as the command does
def test_more_points_than_the_page_takes_are_cut_and_told(page: Page, gp: Subject) -> None:
    x = np.linspace(0, 1, 3_000)
    moved(page, Points.of(x, 0 * x))
    assert len(page.points) == len(page.view.sources.points.data["x"]) == MOST_POINTS == 200
    assert f"at most {MOST_POINTS} points" in page.view.remarks.text
    assert page.view.sources.curves.data["model_mean"] == pytest.approx(
        answer(gp, Points.of(x[:200], 0 * x[:200])).bands.mean, abs=1e-6
    )
    moved(page, Points.of(x[:20], 0 * x[:20]))
    assert "at most" not in page.view.remarks.text


def test_a_slow_oracle_comes_in_when_it_is_ready_and_stale_answers_are_dropped(
    hyper: Subject, background: Background
) -> None:
    document = HandedOver()
    page = Page([hyper], background, document)
    assert np.isnan(page.view.sources.curves.data["reference_mean"]).all()
    assert "oracle is at work" in page.view.status.text
    points = Points.of([0.3, 0.6], [1.0, -1.0])
    moved(page, points)
    document.take_all(background)
    oracle = answer(hyper, points, "reference")
    assert page.reference is not None and page.reference.points == points
    assert page.view.sources.curves.data["reference_mean"] == pytest.approx(oracle.bands.mean, abs=1e-6)
    assert "oracle is at work" not in page.view.status.text
    assert not np.isnan(page.view.sources.cut.data["reference"]).any()


def test_a_model_without_an_exact_posterior_says_so(background: Background) -> None:
    @pf.prior(num_features=1)
    def ramps(x):
        return x[..., 0] * torch.randn(len(x), 1)

    page = Page([subject_of("ramps", pf.train(tiny_recipe(steps=1, prior=ramps)))], background, Document())
    assert "no exact posterior is known" in page.view.legend.text
    assert np.isnan(page.view.sources.curves.data["reference_mean"]).all()
