"""Faults of the law of a dataset: its points must not know their place, the others, or the size of the batch."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.priors.checks.draws import Draws, independent_inputs, targets_at, targets_where_possible
from priorfit.priors.checks.leaks import leak_z
from priorfit.priors.checks.order import input_order_z, order_z
from priorfit.priors.checks.ranks import LARGEST_Z, paired_z, two_sample_z
from priorfit.priors.prior import Prior
from priorfit.seeding import seeded

ORDERS = {
    "mean": "their mean changes along the points",
    "spread": "their spread changes along the points",
    "neighbours": "neighbouring points are more alike, or less, than distant ones",
    "inputs of other points": "they go with the inputs of the next or the previous point",
}


def faults_of_points(prior: Prior, draws: Draws) -> Iterator[str]:
    """Targets that depend on the order of the points, on the dataset as a whole, or on the size of the batch."""
    with seeded(draws.seed, 4):
        if not (prior.uses_whole_dataset and prior.shares_latents):
            yield from _faults_of_targets(prior, draws)
        yield from _faults_of_inputs(prior, draws)


def _faults_of_targets(prior: Prior, draws: Draws) -> Iterator[str]:
    x = independent_inputs(prior, draws)
    y = targets_at(prior, x, draws.batch_size)
    same_x = x[: len(x) // 2, :1].expand(-1, draws.num_points, -1)
    same_y = targets_where_possible(prior, same_x, draws.batch_size)
    if not prior.uses_whole_dataset:
        settings = [(x, y)] + ([] if same_y is None else [(same_x, same_y)])
        fault = _of_order(settings) or _of_leak(settings) or _of_other_inputs(prior, draws, x)
        yield from [] if fault is None else [fault]
    yield from [] if prior.shares_latents else _faults_of_batch_size(prior, draws, y)


def _of_order(settings: list[tuple[Tensor, Tensor]]) -> str | None:
    for x, y in settings:
        kinds = order_z(x, y)
        kind = max(kinds, key=lambda each: kinds[each])
        if kinds[kind] > LARGEST_Z:
            return (
                f"the targets depend on the order of the points: {ORDERS[kind]}. A network sees a set, not a sequence. "
                "Let a target depend on the values in x, never on the place of its point (arange, cumsum or a walk "
                "along the points); for a process in time, sort by x first and put the result back in the order of x."
            )
    return None


def _of_leak(settings: list[tuple[Tensor, Tensor]]) -> str | None:
    for _, y in settings:
        name, ratio, z = leak_z(y)
        if z < -LARGEST_Z:
            return (
                f"the targets use a statistic of the whole dataset: {name} varies between datasets by {ratio:.2g} of "
                "what independent points would show, so that some targets give the others away. Take no mean, "
                "deviation, median, rank or extreme over all points: take it from extra points that are thrown away, "
                "as Standardized and Binarized do."
            )
    return None


def _of_other_inputs(prior: Prior, draws: Draws, x: Float[Tensor, "datasets points features"]) -> str | None:
    """Draw twice at two inputs, the second time with half of the points in two corners: the others must not care."""
    half = draws.num_points // 2
    two = torch.arange(draws.num_points) % 2
    near = x[:, two]
    corners = torch.stack(x.flatten(0, 1).aminmax(dim=0))  # (2, features)
    far = near.clone()
    far[:, half:] = corners[two[half:]]
    with seeded(draws.seed, 5):
        near_y = targets_where_possible(prior, near, draws.batch_size)
    with seeded(draws.seed, 5):
        far_y = targets_where_possible(prior, far, draws.batch_size)
    if near_y is None or far_y is None:
        return None
    z = paired_z(_summaries(near_y[:, :half]), _summaries(far_y[:, :half]))
    if float(z.abs().max()) <= LARGEST_Z:
        return None
    return (
        "the targets of a point change with the inputs of other points, so that its posterior would depend on what "
        "else is asked. Take no statistic of x over the points, such as x.mean(1) or x.std(1); scale x by fixed "
        "numbers."
    )


def _faults_of_batch_size(prior: Prior, draws: Draws, y: Float[Tensor, "datasets points"]) -> Iterator[str]:
    small = draws.with_batches(draws.num_batches, max(draws.batch_size // 4, 2))
    other_y = targets_at(prior, independent_inputs(prior, small), small.batch_size)
    z = two_sample_z(_summaries(y), _summaries(other_y))
    if float(z.abs().max()) > LARGEST_Z:
        yield (
            f"batches of {small.batch_size} datasets have other targets than batches of {draws.batch_size}. The size "
            "of the batch, len(x), may only stand in the shape of what is drawn."
        )


def _faults_of_inputs(prior: Prior, draws: Draws) -> Iterator[str]:
    x = prior.inputs.sample(draws.num_batches * draws.batch_size, draws.num_points, prior.num_features)
    if input_order_z(x[..., :16]) > LARGEST_Z:
        yield (
            f"the inputs depend on the order of the points ({prior.inputs} draws them sorted or on a grid, for "
            "instance), so that contexts and queries lie in different places. Draw the inputs independently, or "
            "shuffle the points."
        )


def _summaries(y: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets feature"]:
    """Features of whole datasets, for comparisons of one law with another."""
    mean = y.mean(-1)
    features = [y[:, 0], y[:, 0].square(), mean, y.square().mean(-1), y.amin(-1), y.amax(-1)]
    return torch.stack([*features, (y - mean[:, None]).abs().mean(-1), (y[:, 0] - y[:, -1]).abs()], dim=-1)
