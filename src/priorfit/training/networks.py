"""The network that a recipe starts with."""

import math
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.description import describe
from priorfit.errors import TrainingError
from priorfit.network import Model, NetworkSettings, Problem, load_model
from priorfit.network.latent_spaces import LatentSpace, spaces_of
from priorfit.network.problem import columns_of, fewest_features
from priorfit.priors.latents import sampled
from priorfit.seeding import seeded
from priorfit.training.batches import SAMPLE_STREAM, WEIGHT_STREAM
from priorfit.training.memory import built_within_memory
from priorfit.training.recipe import Recipe

LATENT_DRAWS = 4096
"""Draws of the prior from which the units of latents are taken."""

MANY_FEATURES = 128
"""Priors with so many features, such as images, take a minute to draw the whole sample: they draw a twentieth of it."""


def load_network(recipe: Recipe, path: Path) -> Model:
    """The network of a recipe as a run saved it."""
    return load_model(path, [type(recipe.network)])


def start_network(recipe: Recipe, start: Model | None, is_resumed: bool = False) -> Model:
    """A new network for a recipe, or a copy of one that was trained before.

    Where a run is resumed nothing is read off the prior: the weights come from its folder.
    """
    if start is not None and recipe.prior.shows_as_read:  # fine-tuning changes weights alone
        network = built_within_memory(lambda: recipe.network.build(start.problem))
        copy_weights(start, network)
        return network
    with seeded(recipe.seed, SAMPLE_STREAM):
        sample = target_sample(recipe)
        latents = latent_spaces(recipe) if start is None else start.problem.latents  # weights fit their own maps
    problem = replace(problem_of(recipe, sample), latents=latents)
    with seeded(recipe.seed, WEIGHT_STREAM):
        network = built_within_memory(lambda: recipe.network.build(problem, target_sample=sample))
        if start is None and not is_resumed:
            network.calibrate(recipe.prior)
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
        missing=prior.draws_missing,
        min_classes=prior.fewest_classes,
        answers=prior.answers,
        padding=prior.padding,
    )


def latent_spaces(recipe: Recipe) -> tuple[LatentSpace, ...]:
    """The latents of the prior as its network knows them; a network without layers, or with free units, has none."""
    prior, network = recipe.prior, recipe.network
    has_tokens = isinstance(network, NetworkSettings) and network.layers > 0
    if not prior.latents or not has_tokens or recipe.units == "free":
        return ()
    return spaces_of(prior.latents, sampled(prior.latents, LATENT_DRAWS))


def rarest_share(sample: Num[Tensor, "datasets points"], count: int) -> float:
    """The 1 % quantile over datasets of the share of the rarest class; training hardly shows smaller shares."""
    shares = torch.stack([(sample == label).double().mean(1) for label in range(count)])
    return float(shares.amin(0).quantile(0.01))


def target_sample(recipe: Recipe, num_targets: int = 200_000, chunk: int = 256) -> Num[Tensor, "datasets points"]:
    """Targets of the prior, to take units from and to lay buckets over; few points of many datasets."""
    points = min(recipe.num_points, 128)
    num_targets = num_targets if recipe.prior.num_features < MANY_FEATURES else num_targets // 20
    chunks = range(math.ceil(num_targets / points / chunk))
    return torch.cat([recipe.prior.sample(chunk, points).y for _ in chunks])


def copy_weights(start: Model, network: Model) -> None:
    """Start from another model's weights, units and buckets; both must have the same shape, or share a trunk."""
    weights = network.weights_from(start)
    if weights is None:
        raise TrainingError(
            "a run can start only from a model of the same network settings and problem; the recipe has "
            f"{network.settings} for {network.problem.shape}, the model {start.settings} for {start.problem.shape}."
        )
    network.load_state_dict({**network.state_dict(), **weights})
