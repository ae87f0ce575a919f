"""The network that a recipe starts with."""

import math
from pathlib import Path

import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.description import describe
from priorfit.errors import TrainingError
from priorfit.network import Model, Problem, load_model
from priorfit.network.problem import columns_of, fewest_features
from priorfit.seeding import seeded
from priorfit.training.batches import SAMPLE_STREAM, WEIGHT_STREAM
from priorfit.training.memory import built_within_memory
from priorfit.training.recipe import Recipe


def load_network(recipe: Recipe, path: Path) -> Model:
    """The network of a recipe as a run saved it."""
    return load_model(path, [type(recipe.network)])


def start_network(recipe: Recipe, start: Model | None) -> Model:
    """A new network for a recipe, or a copy of one that was trained before."""
    with seeded(recipe.seed, SAMPLE_STREAM):
        sample = target_sample(recipe)
    problem = problem_of(recipe, sample)
    with seeded(recipe.seed, WEIGHT_STREAM):
        network = built_within_memory(lambda: recipe.network.build(problem, target_sample=sample))
    if start is not None:
        copy_weights(start, network)
    return network


def problem_of(recipe: Recipe, sample: Num[Tensor, "datasets points"]) -> Problem:
    """The `Problem` that a recipe trains a network for; ``sample`` holds targets of the prior."""
    prior, outcome = recipe.prior, recipe.prior.outcome
    description = describe(prior)
    return Problem(
        prior.num_features,
        prior.outcome,
        prior.inputs.range,
        min_features=fewest_features(description, prior.num_features),
        units=recipe.units,
        columns=columns_of(description),
        target_range=None if isinstance(outcome, Classes) else (float(sample.min()), float(sample.max())),
        rarest_share=rarest_share(sample, outcome.count) if isinstance(outcome, Classes) else None,
    )


def rarest_share(sample: Num[Tensor, "datasets points"], count: int) -> float:
    """The 1 % quantile over datasets of the share of the rarest class; training hardly shows smaller shares."""
    shares = torch.stack([(sample == label).double().mean(1) for label in range(count)])
    return float(shares.amin(0).quantile(0.01))


def target_sample(recipe: Recipe, num_targets: int = 200_000, chunk: int = 256) -> Num[Tensor, "datasets points"]:
    """Targets of the prior, to take units from and to lay buckets over; few points of many datasets."""
    points = min(recipe.num_points, 128)
    chunks = range(math.ceil(num_targets / points / chunk))
    return torch.cat([recipe.prior.sample(chunk, points).y for _ in chunks])


def copy_weights(start: Model, network: Model) -> None:
    """Start from another model's weights, units and buckets; both must have the same shape."""
    if start.settings != network.settings or start.problem.shape != network.problem.shape:
        raise TrainingError(
            "a run can start only from a model of the same network settings and problem; the recipe has "
            f"{network.settings} for {network.problem.shape}, the model {start.settings} for {start.problem.shape}."
        )
    network.load_state_dict(start.state_dict())
