"""The model that an estimator is given: a name, a folder, or the network itself."""

from pathlib import Path

import torch

from priorfit.checkpoint import load_folder
from priorfit.data import Classes
from priorfit.errors import InputError, PriorfitError, UnknownModelError
from priorfit.network import Model
from priorfit.network.storage import problem_in
from priorfit.zoo import load
from priorfit.zoo.catalogue import FOLDER, names

REGRESSION = "tabular-regression-small"
"""The default model of a `PFNRegressor`."""

BINARY = "tabular-binary-small"
"""The default model of a `PFNClassifier`."""


def loaded(model: object) -> Model:
    """The network of a released name, a folder or a `PFN`; random generators keep their state."""
    if isinstance(model, Model):
        return model
    name = as_name(model)
    check_default(name)
    with torch.random.fork_rng(devices=[]):  # a network is built with random weights before it gets its own
        return load(name)


def check_default(name: str | Path) -> None:
    """Say what to do where the default model of an estimator is not among the released ones."""
    if name in (REGRESSION, BINARY) and not Path(name).exists() and name not in names():
        raise UnknownModelError(
            f"the default model {name!r} does not come with this version. Train it, an hour on one core: "
            f"priorfit train recipes/{name}.toml; then pass its folder, model='runs/{name}/model'. Or pass another: "
            f"{', '.join(names())}, or a PFN."
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
        name = as_name(model)
        _, config = load_folder(FOLDER / name if str(name) in names() else name, groups=())
    except PriorfitError:  # a tag of an estimator must not fail; `fit` says what is wrong
        return None
    return problem_in(config).get("outcome", {}).get("count")
