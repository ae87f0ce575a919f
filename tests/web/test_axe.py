"""What axe-core says about the page: names, roles, contrast and more, in light and dark, on desk and phone."""

from pathlib import Path

import pytest
from web.browser import Browser, in_a_browser

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    *in_a_browser,
    pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: npm install --no-save axe-core, as .ci/run does"),
]

PAGES = {
    "curves": "model=gp-rbf-1d-short",
    "map": "model=colours&points=0.2_0.3_0~0.6_0.7_2",
    "latents": "model=waves&points=0.1_0.5~0.4_90&known=decay~0.6",  # with a remark on a point far off
}


def violations(browser: Browser) -> list[str]:
    browser.run(AXE.read_text(encoding="utf-8"))
    browser.driver.set_script_timeout(120)
    return browser.driver.execute_async_script(
        """
        const done = arguments[0]
        axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => done(violations.flatMap(
          ({id, nodes}) => nodes.map(({html, failureSummary}) => `${id}: ${html.slice(0, 100)} ${failureSummary}`))))
        """
    )


@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_no_violation(kind: str, browser: Browser, site: Path) -> None:
    width, scheme = {"curves": (1280, "light"), "map": (768, "dark"), "latents": (390, "dark")}[kind]
    with browser.sized(width, 844, scheme):
        browser.open(site, PAGES[kind])
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
        assert violations(browser) == []
        if kind == "curves":  # a page with a fault is told from one without
            browser.run("document.querySelector('#lines').labels[0].remove()")
            assert any(found.startswith("label: <textarea") for found in violations(browser))
