"""The page in a real browser: where things are on the screen, and what the browser believes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from threading import Thread
from typing import Any

from chromium import PATIENCE, Chromium
from selenium.webdriver.common.action_chains import ActionChains
from tornado.ioloop import IOLoop

from priorfit.demo.server import serve
from priorfit.demo.subject import Subject


@contextmanager
def served(subjects: Sequence[Subject]) -> Iterator[str]:
    """The address of a demo that runs in a thread of its own."""
    started: Queue[tuple[str, IOLoop]] = Queue()

    def run() -> None:
        serve(subjects, "127.0.0.1", 0, lambda address: started.put((address, IOLoop.current())))
        IOLoop.current().close(all_fds=True)

    thread = Thread(target=run)
    thread.start()
    address, loop = started.get(timeout=PATIENCE)
    try:
        yield address
    finally:
        loop.add_callback(loop.stop)
        thread.join(timeout=PATIENCE)
    assert not thread.is_alive()


class Browser(Chromium):
    """Headless Chromium with one page open, and what can be done to it."""

    def open(self, address: str) -> None:
        """Load a page and wait until all of it is there."""
        self.driver.get(address)
        self.wait_for(lambda: self.run("return !!(window.Bokeh && Bokeh.documents[0] && Bokeh.documents[0].is_idle)"))

    @contextmanager
    def sized(self, width: int, height: int) -> Iterator[None]:
        """A window in which the page itself has this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def boxes(self) -> dict[str, tuple[float, float, float, float]]:
        """Left, top, right and bottom of all that stands on the page, by name; of text, where its lines are."""
        return self.run(
            """
            const found = {}
            const add = (view) => {
              const inner = view.child_views ?? []
              if (inner.length && !("frame" in view)) {
                return inner.forEach(add)
              }
              const {left, top, right, bottom} = view.el.getBoundingClientRect()
              const text = view.el.shadowRoot.querySelector(".bk-clearfix")?.getBoundingClientRect()
              found[view.model.name ?? view.model.id] = [left + scrollX, top + scrollY,
                Math.max(right, text?.right ?? 0) + scrollX, Math.max(bottom, text?.bottom ?? 0) + scrollY]
            }
            add(Bokeh.index.find_one_by_id(named("page").id))
            return found
            """
        )

    def cut_labels(self) -> list[str]:
        """Of the buttons, those that are narrower than what is written on them."""
        return self.run(
            """
            return ["examples", "clear", "delete", "layers", "draw"].flatMap((name) =>
              [...Bokeh.index.find_one_by_id(named(name).id).el.shadowRoot.querySelectorAll("button, .bk-btn")]
                .filter((button) => button.scrollWidth > button.clientWidth + 1).map((button) => button.textContent))
            """
        )

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a script; ``named(name)`` gives a model of the document."""
        named = "const named = (name) => Bokeh.documents[0].get_model_by_name(name);"
        sources = "const source = (name) => [...Bokeh.documents[0]._all_models.values()].find((m) => m.name == name);"
        return self.driver.execute_script(named + sources + script, *arguments)

    def status(self) -> str:
        """The line below the pictures."""
        return self.run("return window.Bokeh && named('status')?.text")

    def column(self, source: str, name: str) -> list[float]:
        """A column of a source, as the browser has it."""
        return self.run("return [...source(arguments[0]).data[arguments[1]]]", source, name)

    def points(self) -> list[tuple[float, float]]:
        """The points on the page."""
        pairs = self.run("const {x, y} = source('points').data; return [...x].map((each, i) => [each, y[i]])")
        return [(x, y) for x, y in pairs]

    def pixel(self, x: float, y: float) -> tuple[int, int]:
        """Where a place of the window is on the screen."""
        return tuple(
            self.run(
                """
                const view = Bokeh.index.find_one_by_id(named("window").id), outer = view.el.getBoundingClientRect()
                const {left, top, width, height} = view.frame.bbox, {x_range, y_range} = view.model
                return [outer.left + left + width * (arguments[0] - x_range.start) / (x_range.end - x_range.start),
                        outer.top + top + height * (y_range.end - arguments[1]) / (y_range.end - y_range.start)]
                    .map(Math.round)
                """,
                x,
                y,
            )
        )

    def mouse(self, *path: tuple[float, float], press: bool = False, release: bool = False) -> None:
        """Move along a path, with the button pressed at its beginning or released at its end."""
        chain = ActionChains(self.driver, duration=20)
        pointer = chain.w3c_actions.pointer_action
        for step, place in enumerate(path):
            pointer.move_to_location(*self.pixel(*place))
            if press and step == 0:
                pointer.pointer_down()
        if release:
            pointer.pointer_up()
        chain.perform()

    def click(self, *places: tuple[float, float]) -> None:
        """Click on places of the window, at once after each other."""
        chain = ActionChains(self.driver, duration=20)
        for place in places:
            pointer = chain.w3c_actions.pointer_action.move_to_location(*self.pixel(*place))
            pointer.pointer_down()
            pointer.pointer_up()
        chain.perform()

    def press_key(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        ActionChains(self.driver).send_keys(key).perform()

    def press_button(self, name: str) -> None:
        """Click a button of the page."""
        self.run(
            "Bokeh.index.find_one_by_id(named(arguments[0]).id).el.shadowRoot.querySelector('button').click()", name
        )

    def choose_item(self, name: str, item: str) -> None:
        """Choose an item of a menu, as a user does."""
        self.press_button(name)
        self.run(
            """
            const {menu} = Bokeh.index.find_one_by_id(named(arguments[0]).id)
            const items = [...menu.el.shadowRoot.querySelectorAll("*")]
            items.filter((each) => each.textContent.trim() == arguments[1]).pop().click()
            """,
            name,
            item,
        )

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a select box, as a user does."""
        self.run(
            """
            const select = Bokeh.index.find_one_by_id(named(arguments[0]).id).el.shadowRoot.querySelector("select")
            select.value = arguments[1]
            select.dispatchEvent(new Event("change"))
            """,
            name,
            option,
        )

    def hosts(self) -> set[str]:
        """Whence all that the page loaded came."""
        script = "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).origin + '/')"
        return set(self.run(script))
