"""Models from the folders that `Model.save` wrote."""

from collections.abc import Sequence
from pathlib import Path

from priorfit.network.allowance import network_of
from priorfit.network.model import Model, ModelSettings
from priorfit.network.pfn import PFN
from priorfit.network.settings import NetworkSettings
from priorfit.network.storage import read_model
from priorfit.paths import usable_path


def load_model(path: str | Path, kinds: Sequence[type[ModelSettings]]) -> Model:
    """Read a folder that `Model.save` wrote, if its settings are of one of these kinds; runs no code from it."""
    settings, problem, card, weights = read_model(usable_path(path), kinds)
    return network_of(lambda: settings.build(problem, card), weights, path).frozen()


def load_pfn(path: str | Path) -> PFN:
    """Read a folder that `PFN.save` wrote; runs no code from it."""
    model = load_model(path, [NetworkSettings])
    assert isinstance(model, PFN)  # the only model that these settings build
    return model
