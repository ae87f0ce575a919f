"""Sufficient statistics of a context for regressions on one basis, whatever their gains and their noise are.

Where points are fewer than the functions of the basis, the points are kept: nothing smaller tells as much. Else the
products of functions and targets, summed over points, are all that any of the regressions needs. They do not grow with
the context, and those of more points are added to them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.network.solver.gaussian import (
    ByFeatures,
    ByPoints,
    Column,
    Evidence,
    Solution,
    Square,
    factor_of,
    inverted,
    log_determinant,
    whitened,
)

Functions = Float[Tensor, "batch points functions"]
Gains = Float[Tensor, "#batch regressions functions"]
LogNoise = Float[Tensor, "#batch regressions 1"]


class Statistics(ABC):
    """What regressions y = noise (w . gain functions(x) + e) need of a context; all is in float64."""

    @property
    @abstractmethod
    def num_points(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def sum_of_squares(self) -> Float[Tensor, "batch 1"]:
        """The sum of the squared targets."""

    @abstractmethod
    def log_evidence(self, gain: Gains, log_noise: LogNoise) -> Evidence:
        """The log evidence of each regression in units of its noise, but for a constant."""

    @abstractmethod
    def solve(self, gain: Gains, log_noise: LogNoise) -> Solution:
        """The posterior of the weights of each regression; gains are in units of the noise."""

    @abstractmethod
    def with_points(self, functions: Functions, y: Num[Tensor, "batch points"]) -> "Statistics":
        """The statistics of the context and more points."""

    @abstractmethod
    def split(self, size: int) -> Iterable["Statistics"]:
        """The same, ``size`` datasets at a time."""


@dataclass(frozen=True)
class Rows(Statistics):
    """The points themselves: fewer than the functions of the basis."""

    functions: Float[Tensor, "batch points functions"]
    y: Float[Tensor, "batch points"]

    @property
    def num_points(self) -> int:
        """See `Statistics.num_points`."""
        return self.y.shape[1]

    @property
    def sum_of_squares(self) -> Float[Tensor, "batch 1"]:
        """See `Statistics.sum_of_squares`."""
        return self.y.square().sum(1, keepdim=True)

    def log_evidence(self, gain: Gains, log_noise: LogNoise) -> Evidence:
        """See `Statistics.log_evidence`."""
        return self._whitened(self.functions.unsqueeze(1), gain.unsqueeze(2), log_noise)[2]

    def solve(self, gain: Gains, log_noise: LogNoise) -> Solution:
        """See `Statistics.solve`."""
        functions, gain = self.functions.unsqueeze(1), gain.unsqueeze(2)
        factor, white, evidence = self._whitened(functions, gain, log_noise)
        return ByPoints(factor, functions * gain, white, evidence)

    def _whitened(
        self,
        functions: Float[Tensor, "batch 1 points functions"],
        gain: Float[Tensor, "#batch regressions 1 functions"],
        log_noise: LogNoise,
    ) -> tuple[Square, Column, Evidence]:
        """See `whitened`; one product of a dataset's functions with those of all regressions is their Gram matrices."""
        scaled = functions * gain.square()
        batch, regressions, points, _ = scaled.shape
        gram = torch.bmm(self.functions, scaled.flatten(1, 2).mT).view(batch, points, regressions, points)
        return whitened(gram.transpose(1, 2), self.y.unsqueeze(1) * (-log_noise).exp())

    def with_points(self, functions: Functions, y: Num[Tensor, "batch points"]) -> Statistics:
        """See `Statistics.with_points`."""
        return statistics_of(torch.cat([self.functions, functions.double()], 1), torch.cat([self.y, y.double()], 1))

    def split(self, size: int) -> Iterable[Statistics]:
        """See `Statistics.split`."""
        if size >= self.y.shape[0]:
            return [self]
        return (Rows(*part) for part in zip(self.functions.split(size), self.y.split(size), strict=True))


@dataclass(frozen=True)
class Moments(Statistics):
    """Sums over points of the products of functions with each other and with the targets."""

    gram: Float[Tensor, "batch functions functions"]
    products: Float[Tensor, "batch functions"]
    squares: Float[Tensor, "batch 1"]
    count: int

    @property
    def num_points(self) -> int:
        """See `Statistics.num_points`."""
        return self.count

    @property
    def sum_of_squares(self) -> Float[Tensor, "batch 1"]:
        """See `Statistics.sum_of_squares`."""
        return self.squares

    def log_evidence(self, gain: Gains, log_noise: LogNoise) -> Evidence:
        """See `Statistics.log_evidence`."""
        factor, right = self._scaled(gain, log_noise)
        white = torch.linalg.solve_triangular(factor, right, upper=False)
        return self._evidence(factor, white, log_noise)

    def solve(self, gain: Gains, log_noise: LogNoise) -> Solution:
        """See `Statistics.solve`."""
        factor, right = self._scaled(gain, log_noise)
        whitener = inverted(factor)
        white = whitener @ right
        return ByFeatures(whitener, white[..., 0], self._evidence(factor, white, log_noise))

    def with_points(self, functions: Functions, y: Num[Tensor, "batch points"]) -> Statistics:
        """See `Statistics.with_points`."""
        more = moments_of(functions.double(), y.double())
        return Moments(
            self.gram + more.gram,
            self.products + more.products,
            self.squares + more.squares,
            self.count + more.count,
        )

    def split(self, size: int) -> Iterable[Statistics]:
        """See `Statistics.split`."""
        if size >= self.gram.shape[0]:
            return [self]
        parts = zip(self.gram.split(size), self.products.split(size), self.squares.split(size), strict=True)
        return (Moments(*part, self.count) for part in parts)

    def _scaled(
        self, gain: Gains, log_noise: LogNoise
    ) -> tuple[Float[Tensor, "batch regressions functions functions"], Float[Tensor, "batch regressions functions 1"]]:
        """The factor of each regression, and the products of its features with its values."""
        factor = factor_of(gain[..., None] * self.gram[:, None] * gain[..., None, :])
        return factor, (gain * self.products[:, None] * (-log_noise).exp())[..., None]

    def _evidence(
        self,
        factor: Float[Tensor, "batch regressions functions functions"],
        white: Float[Tensor, "batch regressions functions 1"],
        log_noise: LogNoise,
    ) -> Evidence:
        values = self.squares * (-2 * log_noise[..., 0]).exp()
        return 0.5 * (white.square().sum((-2, -1)) - values) - log_determinant(factor)


def moments_of(functions: Float[Tensor, "batch points functions"], y: Float[Tensor, "batch points"]) -> Moments:
    """The sums over the points of a context."""
    products = (functions.mT @ y[..., None])[..., 0]
    return Moments(functions.mT @ functions, products, y.square().sum(1, keepdim=True), y.shape[1])


def statistics_of(functions: Functions, y: Num[Tensor, "batch points"]) -> Statistics:
    """The statistics of a context: its points while they are fewer than the functions.

    >>> few, many = (statistics_of(torch.rand(1, n, 5), torch.rand(1, n)) for n in (3, 7))
    >>> type(few).__name__, type(many).__name__, many.num_points
    ('Rows', 'Moments', 7)
    """
    wide, values = functions.double(), y.double()
    return Rows(wide, values) if y.shape[1] < functions.shape[-1] else moments_of(wide, values)
