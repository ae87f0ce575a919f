"""``priorfit export MODEL [MODEL ...] --web FOLDER``."""

from pathlib import Path
from typing import Annotated

import typer

from priorfit.cli.arguments import MODEL
from priorfit.cli.terminal import answers, loading


def export(
    models: Annotated[list[str], MODEL],
    web: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the page goes.")],
) -> None:
    """Write a page that needs no server: it runs these models in the browser, from a file or from any host."""
    with loading():
        from priorfit.web import export_page
        from priorfit.zoo import load

    page = export_page({Path(name).name or name: load(name) for name in dict.fromkeys(models)}, web)
    size = page.stat().st_size / 1e6
    answers.print(
        f"The page is {page} ({size:.1f} MB): open it, or put it on any host.", highlight=False, soft_wrap=True
    )
