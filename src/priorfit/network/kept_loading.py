"""What a file kept of a conditioned network, read back; only the types named here can come out of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Shaped
from torch import Tensor

from priorfit.checkpoint import load_folder
from priorfit.errors import CheckpointError, PriorfitError
from priorfit.network.allowance import network_of
from priorfit.network.attention.attention import KeysValues
from priorfit.network.context_units import ColumnUnits, SameColumns
from priorfit.network.kept import (
    KINDS,
    Asked,
    KeptMemory,
    KeptPoints,
    KeptPosterior,
    model_hash,
    plain_hash,
)
from priorfit.network.model import Model, ModelSettings
from priorfit.network.reading import Reading
from priorfit.network.solver.cells_solved import CellStatistics
from priorfit.network.solver.class_regression import IndicatorStatistics
from priorfit.network.solver.features import FeatureStatistics
from priorfit.network.solver.gaussian import ByFeatures, ByPoints
from priorfit.network.solver.statistics import Moments, Rows
from priorfit.network.solver.steps_solved import StepStatistics
from priorfit.network.storage import model_from
from priorfit.network.tables.cells import CellFeatures, Cells, ColumnStatistics
from priorfit.network.tables.guesses import SolvedGuesses
from priorfit.network.tables.network import TableMemory
from priorfit.network.tables.standard import StandardColumns
from priorfit.network.units import NoUnits, Units
from priorfit.packing import Unpacker

TYPES = (
    KeptPosterior,
    KeptPoints,
    KeptMemory,
    Asked,
    KeysValues,
    Reading,
    ColumnUnits,
    SameColumns,
    Units,
    NoUnits,
    ByPoints,
    ByFeatures,
    FeatureStatistics,
    IndicatorStatistics,
    CellStatistics,
    StepStatistics,
    Rows,
    Moments,
    TableMemory,
    ColumnStatistics,
    Cells,
    CellFeatures,
    SolvedGuesses,
    StandardColumns,
)
"""All that a file of a posterior is built from."""

ARTICLES = {"posterior": "a posterior", "estimator": "an estimator"}
LOADERS = {"posterior": "priorfit.load_posterior", "estimator": "priorfit.estimators.load_estimator"}
READING_ERRORS = (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, RecursionError)


@dataclass(frozen=True)
class ModelRecord:
    """Which model a file was made by: its name, its hash, and whether it was one of the released ones."""

    name: str
    sha256: str
    released: bool


@dataclass(frozen=True)
class KeptFile:
    """What a file kept, the model that it was made by, and that model's config and weights unless it was released."""

    kept: Any
    record: ModelRecord
    config: dict[str, Any]
    weights: dict[str, Shaped[Tensor, "..."]] | None


def read_kept(path: str | Path, kind: str, more_types: Sequence[type] = ()) -> KeptFile:
    """Read what `write_kept` wrote; runs no code from it."""
    _, config = load_folder(path, groups=())
    check_kind(path, config, kind)
    try:
        record = ModelRecord(**config["model"])
        groups, _ = load_folder(path, groups=("context",) if record.released else ("context", "model"))
        if plain_hash(config["kept"]) != config["kept_sha256"]:
            raise CheckpointError("its description of the context was altered after it was saved")
        kept = Unpacker(groups["context"], (*TYPES, *more_types)).value(config["kept"])
    except READING_ERRORS as error:
        if isinstance(error, CheckpointError) and str(path) in str(error):
            raise
        raise CheckpointError(
            f"{path} is damaged, or was written by another version of priorfit ({error}). Copy it anew, or fit again."
        ) from error
    return KeptFile(kept, record, config, groups.get("model"))


def check_kind(path: str | Path, config: dict[str, Any], kind: str) -> None:
    """Refuse a folder that holds something else, and say how to read it."""
    found = config.get("kind")
    if found == kind:
        return
    if found in KINDS:
        raise CheckpointError(f"{path} holds the file of {ARTICLES[found]}; read it by {LOADERS[found]}.")
    raise CheckpointError(
        f"{path} holds a model or a training, not {ARTICLES[kind]}. Condition the model first: pf.load({str(path)!r})"
        ".condition(x, y).save(folder)."
    )


def own_model(file: KeptFile, path: str | Path, kinds: Sequence[type[ModelSettings]]) -> Model:
    """The model whose weights are in the file itself."""
    assert file.weights is not None  # else it is a released one
    settings, problem, card = model_from(file.config, path, kinds)
    network = network_of(lambda: settings.build(problem, card), file.weights, path)
    dtypes = {weight.dtype for weight in file.weights.values() if weight.is_floating_point()}
    if len(dtypes) == 1:
        network.to(dtypes.pop()).load_state_dict(file.weights)  # a network is built in float32
    return network.frozen()


def check_same(model: Model, record: ModelRecord, path: str | Path) -> Model:
    """The model, if it is the one that a file was made by."""
    try:
        found = model_hash(model)
    except PriorfitError as error:
        raise CheckpointError(f"{model.card.name!r} is not the model that {path} was made by ({error}).") from error
    if found != record.sha256:
        raise CheckpointError(
            f"{path} was made by the model {record.name!r} with the hash {record.sha256[:12]}; got {model.card.name!r} "
            f"with {found[:12]}, whose weights, settings or units differ. Pass the model that it was made by: "
            "load_posterior(path, model=...), or fit again."
        )
    return model
