"""``priorfit export MODEL [MODEL ...] --web FOLDER`` and ``priorfit export MODEL --onnx FILE``."""

from pathlib import Path
from typing import Annotated

import typer

from priorfit.cli.arguments import MODEL
from priorfit.cli.terminal import answers, loading


def export(
    models: Annotated[list[str], MODEL],
    web: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where a page of these models goes.")] = None,
    onnx: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the ONNX graph of one model goes.")] = None,
) -> None:
    """Write a page that runs these models in the browser without a server, or one model as an ONNX graph."""
    if web is None and onnx is None:
        raise typer.BadParameter("Say what to write: --web FOLDER, --onnx FILE, or both.")
    if onnx is not None and len(models) > 1:
        raise typer.BadParameter(f"An ONNX file holds one model; got {len(models)}.")
    with loading():
        from priorfit.zoo import load

        found = {Path(name).name or name: load(name) for name in dict.fromkeys(models)}
    if web is not None:
        from priorfit.web import export_page

        page = export_page(found, web)
        size = page.stat().st_size / 1e6
        say(f"The page is {page} ({size:.1f} MB): open it, or put it on any host.")
    if onnx is not None:
        from priorfit.onnx import export_onnx  # needs an extra

        (model,) = found.values()
        outputs = export_onnx(model, onnx)
        latents = " Latents are integrated out." if model.problem.latents else ""
        names = ", ".join(outputs.outputs)
        say(f"The graph is {onnx}: context_x, context_y, query_x in; {names} out ({outputs.meaning}).{latents}")


def say(words: str) -> None:
    """Write one line of the answer."""
    answers.print(words, highlight=False, soft_wrap=True)
