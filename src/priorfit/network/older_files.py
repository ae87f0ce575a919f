"""Names that earlier versions of this library wrote into files, as they are now."""

from typing import Any

from jaxtyping import Shaped
from torch import Tensor

from priorfit.description import describe
from priorfit.errors import CheckpointError, PriorfitError, RecipeError
from priorfit.network.problem import columns_of, fewest_features

NETWORK_FIELDS = {"heads": "attention_heads", "head": "output", "regression": "solver"}
DROPPED_FIELDS = {"query_attention": "sink", "qk_norm": False, "query_scale": "fixed", "loops": 1}
"""Settings that are gone; a file that has another value than this needs the version that wrote it."""

SOLVER_FIELDS = {"heads": "components", "evidence": "evidence_weight", "places": "anchors", "adapted": "nodes"}
DATA_FIELDS = {"one_size": "same_n"}
SOLVER_TYPES = {"Regression": "LinearSolver", "LatentRegression": "LatentSolver"}

WEIGHTS = {
    "regression.told.": "guess_encoder.linear.",
    "regression.encoder.": "solver.features.encoder.",
    "regression.features.": "solver.features.output.",
    "regression.slow_log_gain": "solver.features.slow_log_gain",
    "regression.places": "solver.anchors",
    "regression.": "solver.",
    "head.inner.": "head.",
}
"""Beginnings of the names of weights, the longest first."""


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


def settings_in(description: dict[str, Any], error: type[PriorfitError] = CheckpointError) -> dict[str, Any]:
    """The description of a network's settings by their present names; ``error`` is raised for one that is gone.

    >>> settings_in({"type": "NetworkSettings", "heads": 4, "loops": 1})
    {'type': 'NetworkSettings', 'attention_heads': 4}
    """
    if description.get("type", "NetworkSettings") != "NetworkSettings":
        return description
    for name, value in DROPPED_FIELDS.items():
        if description.get(name, value) != value:
            raise error(
                f"the network was described with {name}={description[name]!r}, a setting that this version no longer "
                "has. Use priorfit 0.1.0, or train it anew without."
            )
    kept = {name: value for name, value in description.items() if name not in DROPPED_FIELDS}
    renamed = renamed_fields(kept, NETWORK_FIELDS)
    solver = renamed.get("solver")
    if isinstance(solver, dict) and solver.get("type") in SOLVER_TYPES:
        renamed["solver"] = renamed_fields(solver, SOLVER_FIELDS) | {"type": SOLVER_TYPES[solver["type"]]}
    return renamed


def recipe_in(description: dict[str, Any]) -> dict[str, Any]:
    """The description of a recipe, such as a card holds, by the present names of its settings.

    >>> recipe_in({"network": {"type": "NetworkSettings", "heads": 4}, "data": {"one_size": False}})
    {'network': {'type': 'NetworkSettings', 'attention_heads': 4}, 'data': {'same_n': False}}
    """
    network, data = description.get("network"), description.get("data")
    changed: dict[str, Any] = {}
    if isinstance(network, dict):
        changed["network"] = settings_in(network, RecipeError)
    if isinstance(data, dict):
        changed["data"] = renamed_fields(data, DATA_FIELDS)
    return description | changed


def renamed_fields(description: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The same fields by other names; one that has its new name beside it keeps its own, and will be refused."""
    return {
        name if names.get(name) in description else names.get(name, name): value for name, value in description.items()
    }


def weights_in(tensors: dict[str, Shaped[Tensor, "..."]]) -> dict[str, Shaped[Tensor, "..."]]:
    """The weights of a file by their present names."""
    return {_renamed(name): value for name, value in tensors.items()}


def _renamed(name: str) -> str:
    for start, now in WEIGHTS.items():
        if name.startswith(start):
            return now + name.removeprefix(start)
    return name
