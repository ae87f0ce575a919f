"""Arguments that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from priorfit.priors import Prior

PriorPlace = Annotated[str | None, typer.Option("--prior", help="Its prior, as FILE.py:NAME, where it is your own.")]


def beginning_with(start: str) -> list[str]:
    """The released models whose names have this prefix; for shell completion, which offers files besides.

    >>> beginning_with("gp-rbf-1d-s")
    ['gp-rbf-1d-short']
    """
    from priorfit.zoo import names  # imports torch

    return [name for name in names() if name.startswith(start)]


def prior_at(place: str) -> "Prior":
    """The prior that ``my_priors.py:name`` names: the file is run as a module, as Python would import it.

    Its folder is put on the path, so that background workers find the module too.
    """
    import sys
    from importlib import import_module

    from priorfit.errors import InputError
    from priorfit.priors import Prior

    file, _, name = place.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not path.is_file() or not name:
        raise InputError(f"expected a prior as FILE.py:NAME, such as my_priors.py:damped_waves; got {place!r}.")
    sys.path.insert(0, str(path.resolve().parent))
    found = getattr(import_module(path.stem), name, None)
    if not isinstance(found, Prior):
        got = "nothing of that name" if found is None else type(found).__name__
        raise InputError(
            f"{name} in {file} must be a prior, a function decorated with @pf.prior(num_features=...); got {got}."
        )
    return found


def is_prior(place: str) -> bool:
    """Whether an argument names a prior in a file of Python."""
    return ".py:" in place


MODEL = typer.Argument(
    metavar="MODEL", help="A released model's name, or the folder of a saved one.", autocompletion=beginning_with
)
ModelName = Annotated[str, MODEL]

MODEL_OR_FIT = typer.Argument(
    metavar="MODEL",
    help="A released model's name, the folder of a saved one, or what `priorfit fit` wrote.",
    autocompletion=beginning_with,
)

DataFile = Annotated[Path, typer.Argument(metavar="DATA.CSV", help="A CSV file with a header.")]
TargetColumn = Annotated[str | None, typer.Option(help="The target column; by default the last.")]
TooManyRows = Annotated[
    Literal["auto", "local", "subsample", "use_all", "error"],
    typer.Option(help="With more rows than the model was trained for."),
]
TooManyColumns = Annotated[
    Literal["auto", "select", "error"], typer.Option(help="With more columns than the model takes.")
]
SubsampleSeed = Annotated[int, typer.Option(help="Decides which rows a subsample has.")]
