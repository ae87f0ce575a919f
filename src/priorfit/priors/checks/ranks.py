"""Rank statistics with a common limit, which chance exceeds in fewer than one check in a million."""

import torch
from jaxtyping import Float
from torch import Tensor

LARGEST_Z = 6.5
"""A standard Normal exceeds this with probability 8e-11, and a check computes about a hundred statistics."""


def ranks(values: Float[Tensor, "datasets feature"]) -> Float[Tensor, "datasets feature"]:
    """Ranks within each column; equal values share their mean rank, whatever their order."""
    columns = values.mT.contiguous()  # (feature, datasets)
    ordered = columns.sort(-1).values
    low = torch.searchsorted(ordered, columns)
    high = torch.searchsorted(ordered, columns, right=True)
    return ((low + high).double() / 2).mT


def pooled_ranks(values: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets points"]:
    """Ranks among all values, scaled to [-1/2, 1/2]: the points of a dataset stay as exchangeable as they were."""
    return ranks(values.reshape(-1, 1)).reshape(values.shape) / values.numel() - 0.5


def fisher_ratios(values: Float[Tensor, "groups members feature"]) -> Float[Tensor, " feature"]:
    """The F ratio of one-way analysis of variance for each feature; 1 for a constant one."""
    between = values.shape[1] * values.mean(1).var(0)  # (feature)
    within = values.var(1).mean(0)  # (feature)
    total = values.flatten(0, 1).var(0)  # (feature)
    is_constant = total <= 1e-12 * values.flatten(0, 1).square().mean(0)
    return torch.where(is_constant, 1, between / within)


def fisher_z(ratio: float, num_groups: int, num_members: int) -> float:
    """An F ratio as a standard normal number, by Paulson's approximation, good on both sides."""
    a, b = 2 / (9 * (num_groups - 1)), 2 / (9 * num_groups * (num_members - 1))
    root = min(ratio, 1e9) ** (1 / 3)
    return ((1 - b) * root - (1 - a)) / (b * root**2 + a) ** 0.5


def sign_z(differences: Float[Tensor, "datasets feature"], least: float = 1e-3) -> Float[Tensor, " feature"]:
    """The sum of independent symmetric numbers over the root of that of their squares.

    Given their sizes only their signs are random, so by Hoeffding's inequality it exceeds t with a probability of at
    most exp(-t^2 / 2), whatever their law. Differences far below ``least``, such as rounding errors, count as none.
    """
    return differences.sum(0) / (differences.square().sum(0) + len(differences) * least**2).sqrt()


def two_sample_z(
    first: Float[Tensor, "datasets feature"], second: Float[Tensor, "others feature"]
) -> Float[Tensor, " feature"]:
    """Whether two samples of independent datasets have the same law: Wilcoxon's rank sum for each feature."""
    joined = ranks(torch.cat([first, second]))
    difference = joined[: len(first)].mean(0) - joined[len(first) :].mean(0)
    deviation = (joined.var(0) * (1 / len(first) + 1 / len(second))).sqrt()
    return torch.where(deviation > 0, difference / deviation, 0)


def paired_z(
    first: Float[Tensor, "datasets feature"], second: Float[Tensor, "datasets feature"]
) -> Float[Tensor, " feature"]:
    """Whether pairs of dependent datasets have the same law; more powerful than two independent samples."""
    joined = ranks(torch.cat([first, second]))
    differences = joined[: len(first)] - joined[len(first) :]
    deviation = (differences.square().mean(0) / len(first)).sqrt()
    return torch.where(deviation > 0, differences.mean(0) / deviation, 0)
