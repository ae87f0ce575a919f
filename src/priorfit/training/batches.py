"""The data of a step, a function of (seed, step, micro-batch) alone, so that any process may draw it."""

from dataclasses import replace

import torch

from priorfit.data import Batch
from priorfit.errors import PriorError
from priorfit.seeding import seeded
from priorfit.training.recipe import Recipe

CONTEXT_STREAM, DATA_STREAM, SAMPLE_STREAM, WEIGHT_STREAM, GAP_STREAM, RACE_STREAM, JUDGE_STREAM = range(7)
"""Streams of random numbers: the first number after the seed says what a draw is for."""


def num_points(recipe: Recipe, step: int) -> int:
    """The number of points N of a step."""
    growth = recipe.data.growth
    return recipe.num_points if growth is None else growth.num_points(recipe.num_points, step)


NONE_SHOWN = 7 / 8
"""The share of micro-batches that show no latents: one that shows some teaches nothing of y without them."""


def context_size(recipe: Recipe, step: int, micro_batch: int) -> int:
    """The context size n of a step, one for all of its micro-batches or one for each."""
    stream = (step,) if recipe.data.same_n else (step, micro_batch)
    with seeded(recipe.seed, CONTEXT_STREAM, *stream):
        return recipe.data.context_sizes.draw(num_points(recipe, step))


def draw_batch(recipe: Recipe, step: int, micro_batch: int) -> Batch:
    """One micro-batch of a step."""
    data = recipe.data
    num_context = context_size(recipe, step, micro_batch)
    num_queries = data.num_queries or num_points(recipe, step) - num_context
    with seeded(recipe.seed, DATA_STREAM, step, micro_batch):
        if data.contexts is None:
            batch = recipe.prior.sample_split(data.batch_size, num_context, num_queries)
        else:
            datasets = recipe.prior.sample(data.batch_size, num_context + num_queries)
            batch = data.contexts.replace(datasets, num_context, recipe.prior)
        if batch.latents:
            known, chain = asked_numbers(count_of(batch))
            batch = replace(batch, known=known, chain=chain)
    if data.targets == "sampled":
        return replace(batch, query_law=None)
    if batch.query_law is None:
        raise PriorError(
            f"{type(recipe.prior).__name__} does not know how its targets are distributed given its latents, which "
            'targets="expected" needs. Use targets="sampled".'
        )
    return batch


def count_of(batch: Batch) -> int:
    """How many numbers the latents of a batch are."""
    return sum(each.shape[-1] for each in batch.latents.values())


def asked_numbers(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of the latents that a micro-batch shows, and the order in which it asks about the others.

    Most micro-batches show none, and ask for all in the order in which they are named, as joint draws do. The
    others show a random set, and ask for the rest in a random order.
    """
    order = torch.randperm(count).tolist()
    if float(torch.rand(())) < NONE_SHOWN:
        return (), tuple(range(count))
    size = int(torch.randint(1, count + 1, ()))
    return tuple(sorted(order[:size])), tuple(order[size:])


def loss_divisor(recipe: Recipe) -> int:
    """The constant that the sum over datasets and queries is divided by (Algorithm 1), for one micro-batch."""
    return recipe.data.batch_size * (recipe.data.num_queries or recipe.num_points)
