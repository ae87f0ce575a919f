"""Borders of buckets that hold the same number of targets each."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import BucketError


def equal_mass_borders(sample: Float[Tensor, "..."], num_buckets: int) -> Float[Tensor, "borders"]:
    """Borders, taken from a sample of targets, between which equally many of the targets lie.

    The borders are distinct values of the sample, from its smallest to its largest, and strictly increasing in float32
    too. A value so frequent that it would fill several buckets counts as if it filled one.

    >>> equal_mass_borders(torch.arange(101.0), num_buckets=4)
    tensor([  0.,  25.,  50.,  75., 100.])
    """
    _refuse_unusable(sample, num_buckets)
    values, counts = sample.detach().float().unique(return_counts=True)
    if len(values) == 1:
        raise BucketError(
            f"all {sample.numel()} targets have the same value {values[0]:.6g}, so no buckets can be laid over them. "
            "Check that the prior draws targets that vary."
        )
    if len(values) <= num_buckets:
        raise BucketError(
            f"{num_buckets} buckets need at least {num_buckets + 1} distinct targets; got {len(values)} among "
            f"{sample.numel()}. Draw a larger sample or ask for fewer buckets."
        )
    return values[_border_positions(counts, num_buckets)].to(sample.dtype)


def _refuse_unusable(sample: Float[Tensor, "..."], num_buckets: int) -> None:
    if num_buckets < 1:
        raise BucketError(f"num_buckets must be at least 1; got {num_buckets}.")
    if sample.numel() == 0:
        raise BucketError("the sample of targets is empty. Draw some targets first.")
    unusable = (~torch.isfinite(sample.float())).sum().item()
    if unusable:
        raise BucketError(
            f"all targets must be finite (in float32); {unusable} of {sample.numel()} are NaN or infinite. "
            "Clip or drop them, or mend the prior that drew them."
        )


def _border_positions(counts: Tensor, num_buckets: int) -> Tensor:
    """The indices of the distinct values that become borders."""
    weights = counts.double()
    for _ in range(64):  # each pass lowers the mass of a bucket, and with it what a frequent value may count
        weights = weights.clamp(max=weights.sum().item() / num_buckets)
    levels = torch.linspace(0, 1, num_buckets + 1, dtype=torch.float64, device=counts.device) * weights.sum()
    positions = torch.searchsorted(weights.cumsum(0), levels)
    steps = torch.arange(num_buckets + 1, device=counts.device)
    distinct = (positions - steps).cummax(0).values + steps  # at least one further than the border before
    positions = distinct.minimum(len(counts) - 1 - num_buckets + steps)  # leave a value for each border that follows
    positions[-1] = len(counts) - 1
    return positions
