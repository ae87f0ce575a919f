"""Take the pictures of the page that the documentation shows, docs/images/page-*.png, in a headless Chromium.

    python benchmarks/release/page_pictures.py           needs chromium, chromedriver and selenium

A desk in light colours with five functions drawn, a tablet with a map of classes, and a phone in dark colours.
Cost: half a minute.
"""

import sys
import tempfile
from pathlib import Path

from priorfit.web import export_page
from priorfit.zoo import load

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
MODELS = ("gp-rbf-1d-short", "gp-hyper-1d", "tabular-binary-small")
PICTURES = {
    "desk": ((1280, 800), "light", "gp-rbf-1d-short"),
    "tablet": ((768, 1024), "light", "tabular-binary-small"),
    "phone": ((390, 844), "dark", "gp-hyper-1d"),
}
"""For each picture the size of the window, the colours and the model."""


def main() -> None:
    """Open the page at each size, do what a visitor does first, and keep what is seen."""
    sys.path.insert(0, str(ROOT / "tests"))
    from web.browser import Browser  # the harness of the page's tests

    with tempfile.TemporaryDirectory() as folder:
        page = export_page({name: load(name) for name in MODELS}, Path(folder) / "page")
        browser = Browser(Path(folder) / "profile")
        try:
            for name, (size, scheme, model) in PICTURES.items():
                with browser.sized(*size, scheme):
                    browser.open(page, f"model={model}")
                    browser.settle()
                    browser.driver.save_screenshot(str(IMAGES / f"page-{name}.png"))
                print(f"wrote docs/images/page-{name}.png")
        finally:
            browser.driver.quit()


if __name__ == "__main__":
    main()
