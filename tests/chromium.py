"""Headless Chromium with one page open, for the tests of the pages."""

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-dev-shm-usage",
    "disable-sync",
    "window-size=1280,943",  # the page itself then has 1280 x 800
)
PATIENCE = 120
"""Seconds that a busy machine may need."""


class Chromium(ABC):
    """A browser with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in (*FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    @abstractmethod
    def status(self) -> str:
        """The line in which the page says how it is."""

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Look again and again until it is so."""
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"not within {PATIENCE} s; the page says: {self.status()}"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """What the console says beyond mere information."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
