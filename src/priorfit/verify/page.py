"""A report as one HTML file with its pictures inside."""

import base64
import html
from pathlib import Path

from priorfit.checkpoint import write_atomically
from priorfit.plots.canvas import as_png, unkept_axis
from priorfit.plots.curves import plot_gap, plot_nll
from priorfit.plots.reliability import plot_calibration, plot_pit
from priorfit.verify.report import Report
from priorfit.verify.tasks import Examined

COLOURS = {"good": "#009E73", "doubtful": "#E69F00", "bad": "#D55E00", "not checked": "#777777"}

SIZE = (4.6, 3.4)
"""Width and height of a picture, in inches."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; width: 100%; }}
td, th {{ text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #ddd; }}
td:first-child {{ white-space: nowrap; font-weight: 600; }}
figure {{ display: inline-block; width: 46%; min-width: 20rem; margin: 1rem 2% 0 0; vertical-align: top; }}
figcaption {{ font-size: .9rem; }} img {{ max-width: 100%; }}
</style></head><body>
<h1>{title}</h1>
<p>{about}</p>
<table><tr><th>verdict</th><th>question</th><th>what was found</th></tr>
{rows}
</table>
{figures}
</body></html>
"""


def save_page(report: Report, path: str | Path) -> None:
    """Write the report to one file that needs no other."""
    rows = "\n".join(
        f'<tr><td style="color:{COLOURS[check.verdict]}">{check.verdict}</td>'
        f"<td>{html.escape(check.question)}</td><td>{html.escape(check.words)}</td></tr>"
        for check in report.checks
    )
    about = (
        f"On datasets of {html.escape(report.prior)}: {report.num_datasets:,} for each context size "
        f"({', '.join(map(str, report.context_sizes))}), one query each, seed {report.seed}. "
        "A line is good if what was found is what a right model would show, up to chance and a small tolerance."
    )
    title = f"{html.escape(report.name)}: {report.verdict}"
    write_atomically(Path(path), PAGE.format(title=title, about=about, rows=rows, figures="\n".join(figures(report))))


def figures(report: Report) -> list[str]:
    """All pictures, as HTML."""
    pictures = [_nll_picture(report), *(picture for some in report.examined.values() for picture in _of_size(some))]
    rows = [{"n": size, "gap": gap, "low": gap - width, "high": gap + width} for size, gap, width in _gaps(report)]
    if rows:
        png = as_png(plot_gap(rows, ax=unkept_axis(*SIZE)))
        pictures.insert(0, _embedded(png, "The gap to the exact posterior against the size of the context."))
    return pictures


def _nll_picture(report: Report) -> str:
    found = {size: some.nll for size, some in report.examined.items()}
    rows = [
        {
            "label": "this model",
            "n": n,
            "nll": nll.mean,
            "low": nll.mean - nll.half_width,
            "high": nll.mean + nll.half_width,
        }
        for n, nll in found.items()
    ]
    png = as_png(plot_nll(rows, ax=unkept_axis(*SIZE)))
    return _embedded(png, "The negative log likelihood against the size of the context: it should fall.")


def _gaps(report: Report) -> list[tuple[int, float, float]]:
    named = {check.question: check.numbers for check in report.checks}
    found = [(size, named.get(f"gap to exact at n = {size}", {})) for size in report.context_sizes]
    return [(size, _number(numbers["gap"]), _number(numbers["half_width"])) for size, numbers in found if numbers]


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value


def _of_size(some: Examined) -> list[str]:
    pictures = []
    for draw, words in (
        (plot_pit, "flat is right; a hollow: too narrow; a hill: too wide"),
        (plot_calibration, "on the diagonal is right; below it: too sure"),
    ):
        png = as_png(draw(some.ppd, some.tasks.query_y, ax=unkept_axis(*SIZE)))
        pictures.append(_embedded(png, f"n = {some.num_context}: {words}."))
    return pictures


def _embedded(png: bytes, caption: str) -> str:
    data, text = base64.b64encode(png).decode("ascii"), html.escape(caption)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'
