"""Arguments that several commands share."""

from typing import Annotated

import typer


def beginning_with(start: str) -> list[str]:
    """The released models whose names have this prefix; for shell completion, which offers files besides.

    >>> beginning_with("gp-rbf-1d-s")
    ['gp-rbf-1d-short']
    """
    from priorfit.zoo import names  # imports torch

    return [name for name in names() if name.startswith(start)]


MODEL = typer.Argument(
    metavar="MODEL", help="A released model's name, or the folder of a saved one.", autocompletion=beginning_with
)
ModelName = Annotated[str, MODEL]
