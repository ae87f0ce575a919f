"""What can be done with the exported page, in Chromium, from its file."""

import json
import math
from pathlib import Path

import pytest
import torch
from selenium.webdriver.common.keys import Keys
from web.browser import RELEASED, Browser, in_a_browser
from web.fixtures import write_fixture

import priorfit as pf
from priorfit.network import PFN

pytestmark = in_a_browser


def log_densities(page: Browser, name: str, fixture: Path) -> float:
    """The largest difference between the log densities of a fixture and those of a model in the page."""
    cases = json.loads(fixture.read_text())["cases"]
    return page.run(
        """
        const {model} = priorfit.models.subject(arguments[0]), Matrix = page.subject.queries.constructor
        const matrix = (rows, columns) => new Matrix(rows.length, columns, Float64Array.from(rows.flat()))
        return Math.max(...arguments[1].flatMap((one) => {
          const posterior = model.condition(matrix(one.x, one.columns), Float64Array.from(one.y), one.known)
          const [ppd, laws] = [posterior.predict(matrix(one.query_x, one.columns)), posterior.latents()]
          const latents = one.latents.flatMap(({name, index, values, log_prob}) =>
            log_prob.map((value, i) => Math.abs(value - laws[name][index].logProb(values[i]))))
          return [...latents, ...one.log_prob.map((value, i) => Math.abs(value - ppd.logProb(i, one.query_y[i])))]
        }))
        """,
        name,
        [{key: value for key, value in one.items() if key != "layers"} for one in cases],
    )


@pytest.mark.parametrize("name", [*RELEASED, "colours", "waves"])
def test_a_model_in_the_page_says_what_it_says_in_python(
    name: str, page: Browser, classes: PFN, latents: PFN, tmp_path: Path
) -> None:
    own = {"colours": classes, "waves": latents}
    (own[name] if name in own else pf.load(name)).save(tmp_path / name, torch.float16)
    assert log_densities(page, name, write_fixture(tmp_path / name, (0, 7, 40))) < 1e-5


def test_the_page_loads_nothing_and_shows_three_points(page: Browser) -> None:
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert len(page.points()) == 3 and "3 points" in page.text("status")
    assert page.text("prior").startswith("GaussianProcess: kernel rbf, lengthscale 0.1")


def test_clicks_add_points_and_drags_move_them(page: Browser) -> None:
    before = page.run("return [...page.view.bands.network.mean]")
    page.click((0.9, 0.5))
    assert page.points()[-1] == pytest.approx({"x": 0.9, "y": 0.5}, abs=0.02)
    assert page.run("return [...page.view.bands.network.mean]") != before
    first = page.points()[0]
    path = [(first["x"], first["y"] + 0.1 * step) for step in range(6)]
    page.mouse(*path, press=True)
    assert page.points()[0]["y"] == pytest.approx(first["y"] + 0.5, abs=0.05)  # the button is still down
    page.mouse(path[-1], release=True)
    assert len(page.points()) == 4


def test_a_click_on_a_point_selects_it_and_delete_removes_it(page: Browser) -> None:
    first, *others = page.points()
    page.click((first["x"], first["y"]))
    assert page.run("return page.selected") == 0 and not page.run("return document.getElementById('delete').disabled")
    page.push("delete")
    assert page.points() == others


def test_all_can_be_done_by_keys(page: Browser) -> None:
    page.run("document.getElementById('picture').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ENTER)
    assert len(page.points()) == 4 and "point 4 added" in page.text("live")
    page.press("p")
    assert page.run("return page.selected") == 3
    before = page.points()[3]
    page.press(Keys.ARROW_LEFT, Keys.ARROW_DOWN)
    after = page.points()[3]
    assert after["x"] < before["x"] and after["y"] < before["y"] and "point 4 at" in page.text("live")
    page.press(Keys.DELETE)
    assert len(page.points()) == 3
    page.press("n", Keys.ESCAPE)
    assert page.run("return page.selected") is None


def test_the_cursor_cuts_and_layers_hide(page: Browser) -> None:
    page.mouse((0.6, 0.0))
    cut = page.run("return {x: page.view.cut.x, network: [...page.view.cut.network], exact: [...page.view.cut.exact]}")
    assert cut["x"] == pytest.approx(0.6, abs=0.01)
    width = page.run("return (page.subject.yRange[1] - page.subject.yRange[0]) / 600")
    assert sum(cut["network"]) * width == pytest.approx(1, abs=0.01)
    assert max(abs(a - b) for a, b in zip(cut["network"], cut["exact"], strict=True)) < 0.2 * max(cut["exact"])
    page.run("document.querySelector('#layers input[name=exact]').click()")
    assert page.run("return page.layers") == {"density": True, "bands": True, "exact": False}


def test_functions_are_drawn_through_the_points(page: Browser) -> None:
    page.push("draw")
    page.wait_for(lambda: page.run("return !page.sampler.isBusy && page.view.functions.length === 5"))
    drawn = page.run("return page.view.functions[0]")
    assert len(drawn) == 40 and [one["x"] for one in drawn] == sorted(one["x"] for one in drawn)
    assert all(math.isfinite(one["y"]) for one in drawn)
    page.click((0.9, 0.5))
    assert page.run("return page.view.functions.length") == 0


def test_functions_that_are_asked_for_at_once_are_drawn_to_the_end(browser: Browser, site: Path) -> None:
    ask = "addEventListener('DOMContentLoaded', () => document.getElementById('draw')?.click())"
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": ask})
    try:
        browser.open(site)
        browser.wait_for(lambda: browser.run("return !page.sampler.isBusy && page.view.functions.length === 5"))
        assert len(browser.run("return page.view.functions[0]")) == 40
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_the_oracle_comes_in_when_it_is_ready(page: Browser) -> None:
    said = page.run(
        """
        const menu = document.getElementById("model")
        menu.value = "gp-hyper-1d"
        menu.dispatchEvent(new Event("change"))
        return document.getElementById("status").textContent
        """
    )
    assert "the oracle is at work" in said
    page.wait_for(lambda: page.run("return !page.oracle.isBusy"))
    network, exact = page.run("return [page.view.bands.network, page.view.bands.exact].map((one) => [...one.mean])")
    wide = page.run("return page.view.bands.network.high95[50] - page.view.bands.network.low95[50]")
    assert max(abs(a - b) for a, b in zip(network[10:-10], exact[10:-10], strict=True)) < 0.3 * wide


def test_inputs_outside_of_the_trained_range_are_said_to_be(page: Browser) -> None:
    page.click((-0.05, 0.0))
    assert "trained on inputs in [0, 1]" in page.text("remarks")
    assert page.run("return [page.subject.isUntrained(-0.05), page.subject.isUntrained(0.5)]") == [True, False]


def test_points_that_the_prior_would_not_draw_are_remarked_on(page: Browser) -> None:
    page.run("page.place([{x: 0.5, y: 2}, {x: 0.501, y: -2}])")
    page.wait_for(lambda: "hardly ever draw such points" in page.text("remarks"))


def test_classes_are_a_map_and_digits_choose_them(page: Browser) -> None:
    page.choose("model", "colours")
    assert page.points() == [] and page.run("return page.subject.kind") == "map"
    page.click((0.2, 0.3))
    page.run("document.getElementById('picture').focus()")
    page.press("2")
    page.click((0.7, 0.6))
    assert [point["label"] for point in page.points()] == [0, 2]
    page.wait_for(lambda: page.run("return page.view.size") == 64)
    probs = page.run("return [...page.view.probs.slice(0, 3)]")
    assert sum(probs) == pytest.approx(1)
    page.choose("examples", "twenty points")
    assert len(page.points()) == 20


def test_a_link_carries_model_and_points(browser: Browser, site: Path) -> None:
    browser.open(site, "model=gp-rbf-1d&points=0.25_0.5~0.75_-0.5")
    assert browser.run("return page.subject.name") == "gp-rbf-1d"
    assert browser.points() == [{"x": 0.25, "y": 0.5}, {"x": 0.75, "y": -0.5}]
    browser.click((0.5, 1.0))
    browser.wait_for(
        lambda: browser.run("return location.hash").count("%7E") + browser.run("return location.hash").count("~") == 2
    )
    address = browser.run("return location.hash.slice(1)")
    browser.open(site, address)
    assert len(browser.points()) == 3
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("behind", "sentence"),
    [
        ("model=none", "The link names the model none, which this page does not have."),
        ("model=gp-rbf-1d&points=1_2_3", "Point 1 of the link is not 2 numbers"),
        (
            "model=gp-rbf-1d&points=" + "~".join(f"{i / 500}_0" for i in range(500)),
            "takes at most 200 points and was given 500",
        ),
        ("model=colours&points=0.1_0.2_7", "has class 7; the classes of this model are 0 ... 2"),
    ],
)
def test_a_wrong_link_is_a_sentence(behind: str, sentence: str, browser: Browser, site: Path) -> None:
    browser.open(site, behind)
    assert sentence in browser.text("remarks")
    assert browser.complaints() == []


def test_points_can_be_typed(page: Browser) -> None:
    page.type_points("0.1, 0.2\n0.5\t-1\n")
    assert page.points() == [{"x": 0.1, "y": 0.2}, {"x": 0.5, "y": -1}]
    page.type_points("0.1 a")
    assert "Line 1 is not 2 numbers (x y)" in page.text("remarks")


def test_an_answer_that_is_no_number_is_said_to_be_none(page: Browser) -> None:
    page.run("page.place([{x: 0.5, y: 1e200}, {x: 0.6, y: -1e200}])")
    assert "answer is not a number" in page.text("remarks")
    page.run("page.place([{x: 0.5, y: 1}])")
    assert page.text("remarks") == ""
