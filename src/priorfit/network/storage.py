"""A network as a folder: its weights, and plain data that say how to build it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from priorfit.checkpoint import load_folder, save_folder
from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import CheckpointError, InputError, PriorfitError, RecipeError
from priorfit.network.card import ModelCard
from priorfit.network.embedding import FourierEncoder, LinearEncoder
from priorfit.network.harmonics import Harmonics
from priorfit.network.heads import NormalHead, NormalMixtureHead, RiemannHead, SigmoidHead, SoftmaxHead
from priorfit.network.latent_regression import LatentRegression
from priorfit.network.polynomials import PolynomialEncoder
from priorfit.network.problem import Columns, Problem, columns_of, fewest_features
from priorfit.network.regression import Regression
from priorfit.network.settings import NetworkSettings

Settings = TypeVar("Settings")

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Those of the weights in a file."""

NETWORK_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        NetworkSettings,
        Problem,
        Columns,
        Regression,
        LatentRegression,
        Harmonics,
        LinearEncoder,
        FourierEncoder,
        PolynomialEncoder,
        RiemannHead,
        NormalHead,
        NormalMixtureHead,
        SoftmaxHead,
        SigmoidHead,
        Real,
        Classes,
    )
}
"""The table that a saved network is built from; nothing else is ever constructed."""


def write_model(
    network: nn.Module, settings: object, problem: Problem, card: ModelCard, path: Path, dtype: torch.dtype | None
) -> None:
    """Save a network; ``dtype`` narrows the learned weights, never the buffers (borders, frequencies, units)."""
    config = {"network": describe(settings), "problem": describe(problem), "card": asdict(card)}
    save_folder(path, {"model": narrowed(network, dtype)}, config)


def narrowed(model: nn.Module, dtype: torch.dtype | None) -> dict[str, Tensor]:
    """The state of a module with its parameters in ``dtype``; what would not be finite there is refused."""
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(map(str, DTYPES))}; got {dtype!r}.")
    learned = {name for name, _ in model.named_parameters()}
    state = {
        name: value.to(dtype) if dtype is not None and name in learned else value
        for name, value in model.state_dict().items()
    }
    for name, value in state.items():
        if not bool(value.isfinite().all()):
            raise InputError(f"{name} has values that are not finite in {value.dtype}; nothing was saved.")
    return state


def read_model(
    path: Path, kind: type[Settings] = NetworkSettings
) -> tuple[Settings, Problem, ModelCard, dict[str, Tensor]]:
    """What `write_model` wrote, if its settings are of this kind, with the weights in float32 at least."""
    groups, config = load_folder(path)
    try:
        settings = build(config["network"], NETWORK_TYPES | {kind.__name__: kind})
        if not isinstance(settings, kind):
            raise RecipeError(f"expected {kind.__name__}, found {type(settings).__name__}")
        problem, card = build(problem_in(config), NETWORK_TYPES), card_from(config["card"])
    except (KeyError, TypeError, AttributeError, RecursionError, PriorfitError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint of priorfit, but not one of a model that this version can build ({error}). "
            "Load the folder that save wrote, with the class that wrote it, or upgrade priorfit."
        ) from error
    weights = {name: value.float() if is_half(value) else value for name, value in groups["model"].items()}
    return settings, problem, card, weights


def problem_in(config: dict[str, Any]) -> dict[str, Any]:
    """The description of a model's problem; older files have a shorter one and keep the rest in their card."""
    if "problem" in config:
        return config["problem"]
    task, card = config["task"], config["card"]
    prior, most = card.get("prior", {}), task["num_features"]
    columns = columns_of(prior)
    known = {} if columns is None else {"columns": describe(columns)}
    more = {"min_features": fewest_features(prior, most), "units": card.get("units", "fixed"), **known}
    return {**task, "type": "Problem", **more}


def is_half(value: Tensor) -> bool:
    """Whether a tensor was narrowed for storage."""
    return value.dtype in (torch.float16, torch.bfloat16)


def card_from(fields: dict[str, Any]) -> ModelCard:
    """A card from plain data; JSON knows no tuples."""
    trained = fields.get("trained_context")
    kept = {name: value for name, value in fields.items() if name != "units"}  # older files have them here
    return ModelCard(**{**kept, "trained_context": None if trained is None else tuple(trained)})
