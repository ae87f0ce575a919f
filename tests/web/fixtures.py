"""What networks say in Python, in float64 with the weights of a file, layer by layer: the page must say the same."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.data import Classes
from priorfit.errors import OutsideTrainingWarning
from priorfit.network import PFN, Problem, load_pfn
from priorfit.network.posterior import PFNPosterior

Known = dict[str, list[float]]
"""The numbers of known latents, by name."""

SIZES = (0, 1, 7, 40)
LEVELS = (0.02, 0.2, 0.4, 0.6, 0.9, 0.99)
"""Levels of the targets at which densities are compared: far out, a density magnifies every rounding."""


def write_fixture(folder: Path, sizes: Sequence[int] = SIZES) -> Path:
    """Write beside a saved model what it answers in float64, with the hash of its weights."""
    model = load_pfn(folder).double()
    config = json.loads((folder / "config.json").read_text())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", OutsideTrainingWarning)
        cases = [case(model, size, known) for size in sizes for known in known_sets(model.problem)]
    fixture = {"sha256": config["files"]["model.safetensors"]["sha256"], "cases": cases}
    place = folder.with_suffix(".json")
    place.write_text(json.dumps(fixture))
    return place


def known_sets(problem: Problem) -> list[Known]:
    """Sets of latents that are known: none, the first half, and each second one."""
    middles = {space.name: space.decoded(torch.full((space.size,), 0.4)).double().tolist() for space in problem.latents}
    names = list(middles)
    chosen = [[], names[: (len(names) + 1) // 2], names[1::2]] if names else [[]]
    return [{name: middles[name] for name in some} for some in chosen]


def case(model: PFN, size: int, known: Known) -> dict[str, Any]:
    """One context and its queries."""
    generator = torch.Generator().manual_seed(size)
    x, query_x = (inputs(model.problem, count, generator) for count in (size, len(LEVELS)))
    outcome = model.problem.outcome
    if isinstance(outcome, Classes):
        y = torch.randint(outcome.count, (size,), generator=generator).double()
        query_y = torch.arange(len(LEVELS)).double() % outcome.count
    else:
        noise = 0.05 * torch.randn(size, generator=generator, dtype=torch.float64)
        y, query_y = torch.sin(7 * x.sum(1)) + noise, None
    posterior = model.condition(x, y, **values_of(model.problem, known))
    ppd, moments = posterior.predict(query_x), {}
    if query_y is None:
        query_y = ppd.icdf(torch.tensor(LEVELS, dtype=torch.float64))
        moments = {"cdf": list(LEVELS), "mean": ppd.mean.tolist(), "stddev": ppd.stddev.tolist()}
    return {
        "moments": moments,
        "known": known,
        "latents": latent_densities(posterior, model.problem, known),
        **{name: value.tolist() for name, value in {"x": x, "y": y, "query_x": query_x, "query_y": query_y}.items()},
        "columns": x.shape[1],
        "log_prob": ppd.log_prob(query_y).tolist(),
        "layers": {} if known else layers(model, x, y, query_x),
    }


def values_of(problem: Problem, known: Known) -> dict[str, Any]:
    """Known latents as `PFN.condition` takes them."""
    sizes = {space.name: space.size for space in problem.latents}
    return {
        name: torch.tensor(value if sizes[name] > 1 else value[0], dtype=torch.float64) for name, value in known.items()
    }


def latent_densities(posterior: PFNPosterior, problem: Problem, known: Known) -> list[dict[str, Any]]:
    """The log density of each number of each unknown latent, at some values of its support."""
    found = []
    for space in problem.latents:
        law = None if space.name in known else posterior.latents[space.name]
        for index in range(space.size if law is not None else 0):
            if space.kind == "classes":
                values = torch.arange(space.count, dtype=torch.float64)
            else:
                coordinates = torch.linspace(-1.5, 1.5, 5, dtype=torch.float64)
                values = space.decoded(coordinates[:, None].expand(-1, space.size))[:, index]
            each = values[:, None].expand(-1, space.size) if space.size > 1 else values
            log_prob, below = law.log_prob(each), None if space.kind == "classes" else law.cdf(each)
            columns = {"values": values, "log_prob": log_prob} | ({} if below is None else {"cdf": below})
            lists = {name: (part[:, index] if part.ndim > 1 else part).tolist() for name, part in columns.items()}
            found.append({"name": space.name, "index": index, **lists})
    return found


def inputs(problem: Problem, count: int, generator: torch.Generator) -> Float[Tensor, "count columns"]:
    """Inputs such as the model was trained on; two columns where it takes any number."""
    columns = problem.num_features if problem.fewest_features == problem.num_features else 2
    if problem.input_range is None:
        return torch.randn(count, columns, generator=generator, dtype=torch.float64)
    low, high = problem.input_range
    return low + (high - low) * torch.rand(count, columns, generator=generator, dtype=torch.float64)


def layers(
    model: PFN,
    x: Float[Tensor, "context columns"],
    y: Float[Tensor, " context"],
    query_x: Float[Tensor, "query columns"],
) -> dict[str, Any]:
    """The states between the layers of a network for a context in the user's units."""
    posterior = model.condition(x, y)
    points = posterior._kept_points("a fixture")
    context_x, targets = points.x, points.y
    context_y, queries = posterior._units.to_model(targets), posterior._reading.inputs(query_x)
    memory = model.encoded(context_x, context_y)
    tokens, guess = model._query_tokens(queries, memory.solved)
    states = model.transformer.predict(tokens, memory.layers)
    found = {
        "encoded inputs": model.input_encoder(queries),
        "encoded targets": model.target_encoder(context_y),
        "context tokens": model._context_tokens(context_x, context_y, memory.solved),
        "query tokens": tokens,
        "states": states,
        "parameters": model.decoder(states),
    }
    for i, kept in enumerate(memory.layers):
        found[f"keys {i}"] = kept.keys.transpose(1, 2).flatten(2)
        found[f"values {i}"] = kept.values.transpose(1, 2).flatten(2)
    if memory.solved is not None and guess is not None:
        found["left out"] = memory.solved.leave_one_out().features
        found["guess"] = guess.features
    return {name: value[0].flatten().tolist() for name, value in found.items()}


def scrambled(model: PFN, seed: int = 0) -> PFN:
    """The same network with weights as a training may leave them: none of them zero, and all in float16."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            for name, weight in module.named_parameters(recurse=False):
                spread = 0.3 if isinstance(module, nn.Linear) and name == "weight" else 0.05
                weight += (
                    spread * torch.randn(weight.shape, generator=generator) / max(weight.shape[-1:] or (1,)) ** 0.5
                )
    return model
