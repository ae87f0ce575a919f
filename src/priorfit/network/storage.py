"""A network as a folder: its weights, and plain data that say how to build it."""

from collections.abc import Sequence
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
from priorfit.network.encoders.images import ConvolutionEncoder, ImageEncoder, NormalisedEncoder
from priorfit.network.encoders.inputs import FourierEncoder, LinearEncoder, NoEncoder
from priorfit.network.encoders.polynomials import PolynomialEncoder
from priorfit.network.heads.classes import SigmoidHead, SoftmaxHead, TemperedHead
from priorfit.network.heads.guess import AdjustedGuessHead
from priorfit.network.heads.mixture import CorrectedMixtureHead, NormalHead, NormalMixtureHead
from priorfit.network.heads.riemann import RiemannHead
from priorfit.network.latent_spaces import LatentSpace
from priorfit.network.older_files import problem_in, settings_in, weights_in
from priorfit.network.problem import Columns, Problem
from priorfit.network.solver.bases import Harmonics
from priorfit.network.solver.cells import CellSolver
from priorfit.network.solver.class_regression import ClassRegression
from priorfit.network.solver.classes import ClassSolver
from priorfit.network.solver.kernel import KernelSolver
from priorfit.network.solver.latent import LatentSolver
from priorfit.network.solver.linear import LinearSolver
from priorfit.network.solver.steps import StepSolver

Settings = TypeVar("Settings")

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""The dtypes that weights may have in a file."""

NETWORK_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Problem,
        Columns,
        LatentSpace,
        LinearSolver,
        LatentSolver,
        KernelSolver,
        CellSolver,
        StepSolver,
        ClassSolver,
        ClassRegression,
        Harmonics,
        LinearEncoder,
        NoEncoder,
        FourierEncoder,
        PolynomialEncoder,
        ImageEncoder,
        ConvolutionEncoder,
        NormalisedEncoder,
        RiemannHead,
        NormalHead,
        NormalMixtureHead,
        CorrectedMixtureHead,
        AdjustedGuessHead,
        SoftmaxHead,
        SigmoidHead,
        TemperedHead,
        Real,
        Classes,
    )
}
"""The parts that a saved network is built from, beside its settings; nothing else is ever constructed."""


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


def read_model(path: Path, kinds: Sequence[type[Settings]]) -> tuple[Settings, Problem, ModelCard, dict[str, Tensor]]:
    """What `write_model` wrote, if its settings are of one of these kinds, with the weights in float32 at least."""
    _, config = load_folder(path, groups=())
    if "kept" in config:
        raise CheckpointError(
            f"{path} holds a model that was conditioned on data, not a model alone. Read it by "
            "priorfit.load_posterior, by priorfit.estimators.load_estimator, or in a shell by priorfit predict."
        )
    groups, _ = load_folder(path)
    settings, problem, card = model_from(config, path, kinds)
    weights = {name: value.float() if is_half(value) else value for name, value in groups["model"].items()}
    return settings, problem, card, weights_in(weights)


def model_from(
    config: dict[str, Any], path: str | Path, kinds: Sequence[type[Settings]]
) -> tuple[Settings, Problem, ModelCard]:
    """How a config says that a model is built, if its settings are of one of these kinds."""
    try:
        settings = build(settings_in(config["network"]), NETWORK_TYPES | {kind.__name__: kind for kind in kinds})
        if not isinstance(settings, tuple(kinds)):
            expected = " or ".join(kind.__name__ for kind in kinds)
            raise RecipeError(f"expected {expected}, found {type(settings).__name__}")
        problem, card = build(problem_in(config), NETWORK_TYPES), card_from(config["card"])
    except (KeyError, TypeError, AttributeError, RecursionError, PriorfitError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint of priorfit, but not one of a model that this version can build ({error}). "
            "Load the folder that save wrote, with the class that wrote it, or upgrade priorfit."
        ) from error
    return settings, problem, card


def is_half(value: Tensor) -> bool:
    """Whether a tensor was narrowed for storage."""
    return value.dtype in (torch.float16, torch.bfloat16)


def card_from(fields: dict[str, Any]) -> ModelCard:
    """A card from plain data; JSON knows no tuples."""
    trained = fields.get("trained_context")
    kept = {name: value for name, value in fields.items() if name != "units"}  # older files have them here
    return ModelCard(**{**kept, "trained_context": None if trained is None else tuple(trained)})
