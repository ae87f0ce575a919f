"""How soon the page that needs no server answers; wanted are 16 ms from event to curves, 0.5 s to the first paint.

    python benchmarks/speed/page_latency.py --save           a minute; needs chromium, chromedriver and selenium

The exported page from its file in headless Chromium, with 20 points. Each repetition moves one point, as a drag does,
and times the page's whole answer: the network on 101 inputs, quantiles, the density of 101 x 161 cells, the exact
posterior, the cut, and the drawing of both canvases (what the compositor does after that is not in it). Then it moves
the cursor alone. The first paint is Chromium's own first-contentful-paint, over fresh loads of the page. Printed are
medians with 95 % intervals and the least, in milliseconds of the clock, and the mean that the page's thread was on a
processor (Chromium's TaskDuration in thread ticks): beside other work, the clock also counts the waiting for a core.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # the harness of the page's tests
sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from web.browser import Browser

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval
from priorfit.provenance import load as machine_load
from priorfit.web import export_page
from priorfit.zoo import load

EXAMPLE = "twenty points"
WARMUP = 50
"""Events before the first that counts: a browser compiles what runs often."""

DRAG = """
const [kind, warmup, repetitions] = arguments, times = []
const {x, y} = page.points[0], [low, high] = page.subject.xRange
for (let i = 0; i < warmup + repetitions; i++) {
  const start = performance.now()
  if (kind === "a point moves") {
    page.move(0, {x, y: y + 0.02 * Math.sin(i)})
  } else {
    page.pointTo({x: low + (high - low) * ((0.618 * i) % 1), y})
  }
  times.push(performance.now() - start)
}
return times.slice(warmup)
"""


def measured_rows(model: str, repetitions: int) -> list[dict[str, Any]]:
    """Both kinds of event, and the first paint."""
    with tempfile.TemporaryDirectory() as folder:
        page = export_page({model: load(model)}, Path(folder) / "page")
        browser = Browser(Path(folder) / "profile")
        try:
            paints = [first_paint(browser, page) for _ in range(max(3, repetitions // 20))]
            browser.run("page.startFrom(arguments[0])", EXAMPLE)
            events = ("a point moves", "the cursor moves")
            times, processor = {}, {}
            for event in events:
                browser.run(DRAG, event, 0, WARMUP)
                before = browser.task_seconds()
                times[event] = browser.run(DRAG, event, 0, repetitions)
                processor[event] = 1e3 * (browser.task_seconds() - before) / repetitions
        finally:
            browser.driver.quit()
    return [
        {"name": name, "ms": median_interval(values), "least": min(values), "processor_ms": processor.get(name)}
        for name, values in {**times, "the first paint": paints}.items()
    ]


def line(row: dict[str, Any]) -> list[str]:
    """A row as it is printed."""
    processor = "" if row["processor_ms"] is None else f"{row['processor_ms']:.1f}"
    return [row["name"], f"{row['ms']:.1f}", f"{row['least']:.1f}", processor]


def first_paint(browser: Browser, page: Path) -> float:
    """Milliseconds from the start of a navigation to the first contentful paint."""
    browser.open(page)
    paint = "performance.getEntriesByName('first-contentful-paint')"
    browser.wait_for(lambda: browser.run(f"return {paint}.length"))
    return browser.run(f"return {paint}[0].startTime")


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("page_latency", __doc__)
    parser.add_argument("--model", default="gp-rbf-1d-short", help="a released model's name or a folder")
    arguments = parser.parse_args()
    print(f"load of the machine before: {machine_load()}")
    repetitions = arguments.repetitions or (20 if arguments.quick else 200)
    rows = measured_rows(arguments.model, repetitions)
    title = f"{arguments.model}, {EXAMPLE}, {repetitions} repetitions; 16 ms and a first paint at 500 ms are wanted"
    show(title, ["event", "ms", "least", "ms on a processor"], [line(row) for row in rows])
    if arguments.save:
        about = {"model": arguments.model, "example": EXAMPLE, "repetitions": repetitions}
        save("page_latency", [{**row, **about} for row in rows], arguments.seed)


if __name__ == "__main__":
    main()
