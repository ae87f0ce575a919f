"""The models that come with the package, and one function that loads them or any saved folder."""

import difflib
import os
from pathlib import Path

from priorfit.baselines.neural_process.settings import NeuralProcessSettings
from priorfit.checkpoint import holds_checkpoint
from priorfit.errors import UnknownModelError
from priorfit.network import Model, NetworkSettings, TableSettings, load_model
from priorfit.network.binding import bound
from priorfit.network.kept import model_hash
from priorfit.priors import Prior
from priorfit.training.fit import fit_more

FOLDER = Path(__file__).parent
KINDS = (NetworkSettings, TableSettings, NeuralProcessSettings)
"""The settings of every kind of model that the library saves."""


def names() -> list[str]:
    """The released models.

    >>> "gp-rbf-1d" in names()
    True
    """
    return sorted(path.name for path in FOLDER.iterdir() if (path / "config.json").is_file())


def is_released(name: str | Path) -> bool:
    """Whether a model of this name comes with the package; `names` looks at all of them.

    >>> is_released("gp-rbf-1d"), is_released("zoo/gp-rbf-1d"), is_released("..")
    (True, False, False)
    """
    text = str(name)
    return Path(text).name == text and os.path.isfile(FOLDER / text / "config.json")  # noqa: PTH113  refuses no name


def released(name: str) -> Model:
    """A released model, which knows that it is one."""
    model = load_model(FOLDER / name, KINDS)
    model.released = (name, model_hash(model))
    return model


def load(name: str | Path, prior: Prior | None = None) -> Model:
    """A released model by its name, or any model by the folder that `Model.save` wrote; no network, no code.

    A file holds no code, so a prior of one's own is bound again by ``prior``, which must be the one that the model was
    trained on: names and supports of its latents and a few seeded draws are compared.

    >>> load("gp-rbf-1d").problem.num_features
    1
    """
    if prior is not None:
        model = bound(load(name), prior)
        model.more = fit_more
        return model
    if isinstance(name, str | Path) and is_released(name):
        return released(str(name))
    if holds_checkpoint(name) or Path(name).is_dir():  # which refuses what cannot be a path
        place = Path(name).resolve()
        return released(place.name) if place.parent == FOLDER.resolve() else load_model(name, KINDS)
    near = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.0)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownModelError(
        f"no model {str(name)!r}: it is neither a folder nor a released model ({', '.join(names()) or 'none'}).{hint}"
    )
