"""The exported page in a real browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, DRIVER, Chromium
from selenium.webdriver.common.action_chains import ActionChains

RELEASED = ("gp-rbf-1d-short", "gp-rbf-1d", "gp-hyper-1d")
"""The released models in the page of the tests."""

in_a_browser = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
    ),
    pytest.mark.timeout(600),  # on a busy machine; they take half a minute in sum
]


class Browser(Chromium):
    """Headless Chromium with one page open, and what can be done to it."""

    def open(self, page: Path, behind: str = "") -> None:
        """Load a page from its file and wait until it is there; ``behind`` is what stands behind the #."""
        self.driver.get("about:blank")  # else only the part behind the # would change
        self.driver.get(page.as_uri() + (f"#{behind}" if behind else ""))
        self.wait_for(lambda: self.run("return !!globalThis.priorfit"))

    @contextmanager
    def sized(self, width: int, height: int, scheme: str = "light") -> Iterator[None]:
        """A window in which the page itself has this size, with light or dark colours and no motion."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def settle(self) -> None:
        """Wait for the oracle and the finest map; where functions can be drawn, draw five."""
        if not self.run("return document.getElementById('drawing').hidden"):
            self.push("draw")
        self.wait_for(lambda: self.run("return !page.oracle.isBusy && !page.sampler.isBusy"))
        self.wait_for(lambda: self.run("return page.subject.kind !== 'map' || page.view.size === 64"))

    def task_seconds(self) -> float:
        """Seconds that the tasks of the page have been on a processor, whatever else the machine does."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a script; ``page`` is the open page."""
        return self.driver.execute_script("const page = globalThis.priorfit?.page;" + script, *arguments)

    def status(self) -> str:
        """See `Chromium.status`."""
        return self.text("status")

    def text(self, name: str) -> str:
        """What an element of the page says."""
        return self.run("return document.getElementById(arguments[0]).textContent", name)

    def points(self) -> list[dict[str, float]]:
        """The points on the page."""
        return self.run("return page.points")

    def pixel(self, x: float, y: float) -> tuple[int, int]:
        """Where a place of the picture is on the screen."""
        return tuple(
            self.run(
                """
                const plot = page.plots.picture, outer = plot.canvas.getBoundingClientRect()
                return [outer.left + plot.x(arguments[0]), outer.top + plot.y(arguments[1])].map(Math.round)
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
        """Click on places of the picture."""
        for place in places:
            self.mouse(place, press=True, release=True)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a menu."""
        self.run(
            """
            const menu = document.getElementById(arguments[0])
            menu.value = arguments[1]
            menu.dispatchEvent(new Event("change"))
            """,
            name,
            option,
        )

    def type_points(self, lines: str) -> None:
        """Type the points as lines and apply them at once: the page writes its own into a field without focus."""
        self.run(
            """
            document.getElementById("lines").value = arguments[0]
            document.getElementById("apply").click()
            """,
            lines,
        )

    def push(self, name: str) -> None:
        """Push a button."""
        self.run("document.getElementById(arguments[0]).click()", name)
