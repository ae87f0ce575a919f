"""How a benchmark times: the machine's matmul rate, ratios within one repetition, and an interval of the median."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

PEAK_SIZES = (512, 1024)
"""Edges of the square matrices whose product stands for the most that the machine can do."""


@dataclass(frozen=True)
class Interval:
    """A median and an interval that holds the true one with 95 % (the range, of fewer than six values)."""

    median: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        return f"{self.median:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def median_interval(values: Sequence[float]) -> Interval:
    """The median with the interval of order statistics: no assumption about how times are distributed.

    >>> median_interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    Interval(median=3.5, low=1.0, high=6.0)
    """
    ordered, count = sorted(values), len(values)
    outside, skipped = 0.5**count, 0
    while outside + math.comb(count, skipped + 1) * 0.5**count <= 0.025:
        skipped += 1
        outside += math.comb(count, skipped) * 0.5**count
    return Interval(statistics.median(ordered), ordered[skipped], ordered[-1 - skipped])


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> Interval:
    """The ratio of two things timed side by side, repetition by repetition."""
    return median_interval([above / below for above, below in zip(numerators, denominators, strict=True)])


def seconds(action: Callable[[], object]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def matmul_rate(budget: float = 0.05) -> float:
    """Float32 operations per second of the faster of two sizes of matrix product, each for ``budget`` seconds."""
    return max(_rate_of_size(size, budget) for size in PEAK_SIZES)


def _rate_of_size(size: int, budget: float) -> float:
    left, right, product = torch.rand(size, size), torch.rand(size, size), torch.empty(size, size)
    torch.mm(left, right, out=product)
    products, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < budget or products < 3:
        torch.mm(left, right, out=product)
        products += 1
    return 2 * size**3 * products / elapsed
