"""The page of ``priorfit demo``: the chosen model first, then the released ones that it can show."""

from pathlib import Path

from priorfit.errors import InputError
from priorfit.network import Model
from priorfit.priors import Prior
from priorfit.web.answers import PythonAnswers
from priorfit.web.export import page_of, written
from priorfit.web.support import check_shown
from priorfit.zoo import load, names

FIRST = "gp-rbf-1d-short"
"""The released model that the page opens with, if it exists: points set by hand are likely under it."""


def shown_models(choice: str | Path | None = None, prior: Prior | None = None) -> dict[str, Model]:
    """The released models that the page can show, led by the one chosen: a name, or the folder of a saved model."""
    released = {name: model for name, model in ((name, load(name)) for name in names()) if is_shown(name, model)}
    if choice is None:
        choice = FIRST if FIRST in released else next(iter(released))
    chosen = released[str(choice)] if str(choice) in released and prior is None else load(choice, prior)
    check_shown(str(choice), chosen)
    name = str(choice) if str(choice) in released else folder_name(Path(choice))
    return {name: chosen} | {each: model for each, model in released.items() if each != name}


def folder_name(folder: Path) -> str:
    """A short name for the folder of a saved model; a run keeps it under ``model``.

    >>> folder_name(Path("runs/waves/model")), folder_name(Path("waves"))
    ('waves', 'waves')
    """
    whole = folder.absolute()
    return whole.parent.name if whole.name == "model" and whole.parent.name else whole.name


def is_shown(name: str, model: Model) -> bool:
    """Whether the page can run and show a model."""
    try:
        check_shown(name, model)
    except InputError:
        return False
    return True


def demonstration(models: dict[str, Model], answers: PythonAnswers) -> str:
    """The page of these models, which asks its own server for what only Python can say."""
    entries = [{**written(name, model), "asked": answers.asked_about(name)} for name, model in models.items()]
    return page_of(entries, "served.js")
