"""The network that a recipe starts with."""

import math

import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.baselines.neural_process_settings import NeuralProcessSettings
from priorfit.errors import TrainingError
from priorfit.network import PFN, Model, NetworkSettings, Task
from priorfit.seeding import seeded
from priorfit.training.batches import SAMPLE_STREAM, WEIGHT_STREAM
from priorfit.training.recipe import Recipe


def new_network(
    settings: NetworkSettings | NeuralProcessSettings, task: Task, sample: Num[Tensor, "datasets points"]
) -> Model:
    """An untrained network of these settings; ``sample`` holds targets of the prior."""
    if isinstance(settings, NeuralProcessSettings):
        from priorfit.baselines.attentive_neural_process import AttentiveNeuralProcess  # late: most runs train a PFN

        return AttentiveNeuralProcess(settings, task, target_sample=sample)
    return PFN(settings, task, target_sample=sample)


def start_network(recipe: Recipe, start: Model | None) -> Model:
    """A new network for a recipe, or a copy of one that was trained before."""
    prior = recipe.prior
    task = Task(prior.num_features, prior.outcome, prior.inputs.range)
    with seeded(recipe.seed, SAMPLE_STREAM):
        sample = target_sample(recipe)
    with seeded(recipe.seed, WEIGHT_STREAM):
        network = new_network(recipe.network, task, sample)
    if start is not None:
        copy_weights(start, network)
    return network


def target_sample(recipe: Recipe, num_targets: int = 200_000, chunk: int = 256) -> Num[Tensor, "datasets points"]:
    """Targets of the prior, to take units from and to lay buckets over; few points of many datasets."""
    points = min(recipe.num_points, 128)
    chunks = range(math.ceil(num_targets / points / chunk))
    return torch.cat([recipe.prior.sample(chunk, points).y for _ in chunks])


def copy_weights(start: Model, network: Model) -> None:
    """Start from another model's weights, units and buckets; both must have the same shape."""
    if start.settings != network.settings or start.task != network.task:
        raise TrainingError(
            "a run can start only from a model of the same network settings and task; the recipe has "
            f"{network.settings} for {network.task}, the model {start.settings} for {start.task}."
        )
    network.load_state_dict(start.state_dict())
