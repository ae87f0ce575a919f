import time
from collections.abc import Iterator
from itertools import combinations

import pytest
from chromium import CHROMIUM, DRIVER
from demo.browser import Browser, served
from selenium.webdriver.common.keys import Keys
from tiny_recipes import tiny_recipe

import priorfit as pf
from priorfit.demo.state import Points, answer
from priorfit.demo.subject import Subject, subject_of

pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
    ),
    pytest.mark.timeout(600),  # on a busy machine; they take half a minute in sum
]


@pytest.fixture(scope="module")
def tiny() -> Subject:
    return subject_of("tiny", pf.train(tiny_recipe(steps=1, prior=pf.GaussianProcess(outputscale=9.0))))


@pytest.fixture(scope="module")
def gp() -> Subject:
    return subject_of("gp-rbf-1d", pf.load("gp-rbf-1d"))


@pytest.fixture(scope="module")
def address(tiny: Subject, gp: Subject) -> Iterator[str]:
    with served([gp, tiny]) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Browser]:
    browser.open(address)
    yield browser
    assert browser.complaints() == []


def shows_the_answer(page: Browser, subject: Subject) -> bool:
    """Whether the curves in the browser are the network's answer to the points in the browser."""
    places = page.points()
    expected = answer(subject, Points.of([x for x, _ in places], [y for _, y in places])).bands.mean
    return page.column("curves", "model_mean") == pytest.approx(expected, abs=1e-5)


def test_the_page_loads_from_its_own_server_alone_and_fits_the_screen(page: Browser, gp: Subject, address: str) -> None:
    assert page.hosts() == {address}
    assert page.driver.title == "priorfit demo"
    assert len(page.points()) == 3 and shows_the_answer(page, gp)
    size = page.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size[0] <= 1280 and size[1] <= 800


@pytest.mark.parametrize(("width", "height"), [(360, 740), (768, 1024), (1280, 600)])
def test_nothing_is_cut_off_or_lies_over_anything_else(
    width: int, height: int, browser: Browser, address: str, tiny: Subject
) -> None:
    with browser.sized(width, height):
        browser.open(address)
        browser.choose("model", "tiny")  # with a remark, for its training on few points
        browser.wait_for(lambda: shows_the_answer(browser, tiny))
        browser.choose_item("examples", "twenty points")
        boxes = browser.boxes()
        assert {"window", "cut", "status", "remarks", "legend", "draw", "delete"} <= set(boxes)
        wide, high = browser.run("return [document.documentElement.clientWidth, document.body.scrollHeight]")
        for name, (left, top, right, bottom) in boxes.items():
            assert left >= 0 and top >= 0 and right <= wide + 1 and bottom <= high + 1, name
        for (one, a), (other, b) in combinations(boxes.items(), 2):
            is_apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
            assert is_apart, f"{one} {a} lies over {other} {b}"
        assert browser.cut_labels() == []
        left, top, right, bottom = boxes["window"]
        assert right - left > 0.5 * min(width, 900) and bottom - top >= 220
        assert width < 700 or high <= height  # a phone scrolls, others need not
        assert bottom <= height  # the main picture is seen without
    assert browser.complaints() == []


@pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")  # as the command does
def test_a_click_beyond_the_most_points_adds_none(page: Browser) -> None:
    page.run(
        """
        const x = [...Array(200).keys()].map((i) => i / 200)
        source("points").data = {x, y: x.map(() => -1)}
        """
    )
    page.click((0.9, 1.5))
    page.mouse((0.3, 0.0), (0.5, 0.2))
    page.wait_for(lambda: "at most 200 points" in page.run("return named('remarks').text"))
    assert len(page.points()) == 200


def test_a_click_adds_a_point_and_the_curves_follow(page: Browser, gp: Subject) -> None:
    page.click((0.9, 0.5))
    page.wait_for(lambda: len(page.points()) == 4)
    assert page.points()[-1] == pytest.approx((0.9, 0.5), abs=0.02)
    page.wait_for(lambda: shows_the_answer(page, gp))


def test_the_curves_follow_while_a_point_is_dragged(page: Browser, gp: Subject) -> None:
    (x, y), before = page.points()[0], page.column("curves", "model_mean")
    path = [(x, y), *((x, y - 0.1 * step) for step in range(1, 11))]
    page.mouse(*path, press=True)
    page.wait_for(lambda: page.column("curves", "model_mean") != before)
    page.wait_for(lambda: shows_the_answer(page, gp))  # the button is still down
    assert page.points()[0] == pytest.approx((x, y - 1.0), abs=0.1)
    page.mouse((x, y - 0.5), release=True)
    page.wait_for(lambda: page.points()[0] == pytest.approx((x, y - 0.5), abs=0.1))
    page.wait_for(lambda: shows_the_answer(page, gp))
    assert len(page.points()) == 3


def test_a_hand_may_be_slow_or_fast(page: Browser, gp: Subject) -> None:
    """Bokeh tells long presses and double clicks apart from clicks and drags; here all of them do the same."""
    (x, y), *others = page.points()
    page.mouse((x, y), press=True)
    time.sleep(0.6)
    page.mouse((x, y + 0.5), (x, y + 1.0), release=True)
    page.wait_for(lambda: page.points()[0] == pytest.approx((x, y + 1.0), abs=0.1))
    page.mouse((0.9, 0.5), press=True)
    time.sleep(0.6)
    page.mouse((0.9, 0.5), release=True)
    page.wait_for(lambda: len(page.points()) == 4)
    page.click((0.1, 1.0), (0.2, 1.0))
    page.wait_for(lambda: len(page.points()) == 6)
    assert page.points()[1:3] == others
    page.wait_for(lambda: shows_the_answer(page, gp))


@pytest.mark.parametrize("key", [Keys.DELETE, Keys.BACKSPACE], ids=["Delete", "Backspace"])
def test_a_selected_point_can_be_deleted_by_key(key: str, page: Browser, gp: Subject) -> None:
    first, second, third = page.points()
    page.press_key(key)
    page.click(second)
    page.wait_for(lambda: page.run("return source('points').selected.indices[0] === 1"))
    assert len(page.points()) == 3
    page.press_key(key)
    page.wait_for(lambda: page.points() == [first, third])
    page.wait_for(lambda: shows_the_answer(page, gp))


def test_the_cut_follows_the_cursor(page: Browser) -> None:
    page.mouse((0.3, 0.0), (0.62, 0.2))
    page.wait_for(lambda: page.run("return named('cursor').location") == pytest.approx(0.62, abs=0.01))


def test_another_model_can_be_chosen_and_functions_drawn(page: Browser, tiny: Subject) -> None:
    page.choose("model", "tiny")
    page.wait_for(lambda: page.run("return named('window').y_range.end") == pytest.approx(tiny.y_range[1]))
    page.wait_for(lambda: shows_the_answer(page, tiny))
    page.press_button("draw")
    page.wait_for(lambda: len(page.run("return [...source('functions').data.y]")) == 5)
    page.press_button("clear")
    page.wait_for(lambda: page.points() == [] and page.run("return [...source('functions').data.y]") == [])
