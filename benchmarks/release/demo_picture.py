"""Take the picture of the live page that the documentation shows, docs/images/demo.png, in a headless Chromium.

    python benchmarks/release/demo_picture.py           needs chromium, chromedriver and selenium

Three points of the first model, the cut at x = 0.62, five functions drawn. Cost: ten seconds.
"""

import sys
import tempfile
import warnings
from pathlib import Path

from priorfit.demo.subject import FIRST, subject_of
from priorfit.zoo import load

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "demo.png"
SIZE = (1280, 800)


def main() -> None:
    """Open the page, do what a visitor does first, and keep what is seen."""
    sys.path.insert(0, str(ROOT / "tests"))
    from demo.browser import Browser, served  # the harness of the demo's tests

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as profile, served([subject_of(FIRST, load(FIRST))]) as address:
        browser = Browser(Path(profile))
        try:
            with browser.sized(*SIZE):
                browser.open(address)
                browser.press_button("draw")
                browser.wait_for(lambda: len(browser.run("return [...source('functions').data.y]")) == 5)
                browser.wait_for(lambda: "drawing" not in browser.status())
                browser.mouse((0.5, 0.0), (0.62, 1.0))
                browser.wait_for(lambda: abs(browser.run("return named('cursor').location") - 0.62) < 0.01)
                browser.driver.save_screenshot(str(PICTURE))
        finally:
            browser.driver.quit()
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
