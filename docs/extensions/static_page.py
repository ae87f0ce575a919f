"""Writes the page that needs no server into the site, for the frame on its first page."""

from pathlib import Path

from sphinx.application import Sphinx

from priorfit.web import export_page
from priorfit.zoo import load

FOLDER = "page"
SHOWN = ("gp-rbf-1d-short", "gp-rbf-1d", "gp-hyper-1d", "tabular-binary-small")


def write_page(app: Sphinx, error: Exception | None) -> None:
    """Export the released models beside the finished HTML."""
    if error is None and app.builder.format == "html":
        export_page({name: load(name) for name in SHOWN}, Path(app.outdir) / FOLDER)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect it to the end of a build."""
    app.connect("build-finished", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
