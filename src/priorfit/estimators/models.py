"""The model that an estimator is given: a name, a folder, or the network itself."""

from functools import lru_cache
from pathlib import Path

from priorfit.checkpoint import load_folder
from priorfit.data import Classes
from priorfit.errors import InputError, PriorfitError, UnknownModelError
from priorfit.estimators.kept_models import MOST_KEPT, Stamp, kept_model, stamp_of
from priorfit.network import Model
from priorfit.network.storage import problem_in
from priorfit.paths import usable_path
from priorfit.zoo import catalogue, load

REGRESSION = "tabular-regression"
"""The default model of a `PFNRegressor`."""

CLASSES = "tabular"
"""The default model of a `PFNClassifier`."""


def loaded(model: object) -> Model:
    """The network of a released name or a folder, read once in a process, or the `PFN` itself."""
    if isinstance(model, Model):
        return model
    name = as_name(model)
    check_default(name)
    folder = folder_of(name)
    if folder.is_dir():
        return kept_model(folder)
    return load(name)  # which says what is wrong, or finds what a save that was killed left


def folder_of(name: str | Path) -> Path:
    """Where a model lies: among the released ones, or at a path."""
    return catalogue.FOLDER / name if catalogue.is_released(name) else usable_path(name)


def check_default(name: str | Path) -> None:
    """Say what to do where the default model of an estimator is not among the released ones."""
    if name in (REGRESSION, CLASSES) and not Path(name).exists() and name not in catalogue.names():
        raise UnknownModelError(
            f"the default model {name!r} does not come with this version. Train it, two hours on one core: "
            f"priorfit train recipes/{name}.toml; then pass its folder, model='runs/{name}/model'. Or pass another: "
            f"{', '.join(catalogue.names())}, or a PFN."
        )


def as_name(model: object) -> str | Path:
    """A name or a folder, or an error."""
    if not isinstance(model, str | Path):
        raise InputError(
            "model must be the name of a released model, the folder of a saved one, or a PFN; got "
            f"{type(model).__name__}."
        )
    return model


def num_classes(model: object) -> int | None:
    """How many classes a model knows, without loading its weights; None where there is no such model."""
    if isinstance(model, Model):
        return model.problem.outcome.count if isinstance(model.problem.outcome, Classes) else None
    try:
        folder = folder_of(as_name(model)).resolve()
        return _count_in(folder, stamp_of(folder) if folder.is_dir() else ())
    except PriorfitError:  # a tag of an estimator must not fail; `fit` says what is wrong
        return None


@lru_cache(maxsize=MOST_KEPT)
def _count_in(folder: Path, stamp: Stamp) -> int | None:
    """The number of classes that a folder states, read once for each state of it: tags are asked for at every call."""
    _, config = load_folder(folder, groups=())
    return problem_in(config).get("outcome", {}).get("count")
