"""Scrambled Sobol points in random order."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine


def sobol_points(dimensions: int, count: int) -> Float[Tensor, "count dimensions"]:
    """Scrambled Sobol points in [0, 1), new ones for each call, in random order.

    In the order of the sequence, points that are 2^k places apart share an interval of length 2^-k in the first
    dimension. Systematic resampling takes draws at equal steps, and would take all of them from that interval.

    >>> sobol_points(2, 8).shape
    torch.Size([8, 2])
    """
    seed = int(torch.randint(2**31, ()))
    points = SobolEngine(dimensions, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    return points[torch.randperm(count)]
