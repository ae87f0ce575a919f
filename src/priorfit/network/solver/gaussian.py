"""Linear regressions with unit noise and unit prior, in float64: by points where they are few, else by features."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor

Phi = Float[Tensor, "batch heads points learned"]
Numbers = Float[Tensor, "batch heads points"]
Square = Float[Tensor, "batch heads rows rows"]
Weights = Float[Tensor, "batch heads learned"]
Column = Float[Tensor, "batch heads rows 1"]
Evidence = Float[Tensor, "batch heads"]


@dataclass(frozen=True)
class LeftOut:
    """At each point of a context, the posterior of w . phi given all of its other points."""

    mean: Numbers
    variance: Numbers


class Solution(ABC):
    """The posterior of the weights, given a context."""

    log_evidence: Evidence
    """The log evidence of the values in units of the noise, but for a constant."""

    @abstractmethod
    def moments(self, phi: Phi) -> tuple[Numbers, Numbers]:
        """The posterior mean and variance of w . phi."""

    @abstractmethod
    def covariance(self, phi: Phi) -> Square:
        """The posterior covariance of w . phi between points."""

    @abstractmethod
    def draws(self, phi: Phi, count: int) -> Float[Tensor, "batch heads points count"]:
        """Draws of w . phi: the weights are drawn once for all points."""

    @abstractmethod
    def repeated(self, sets: int) -> "Solution":
        """The same posteriors for several sets of queries, one set of all datasets after the other."""

    @abstractmethod
    def left_out(self, phi: Phi, values: Numbers) -> LeftOut:
        """What the others tell of each point of the context, which is given again."""

    @abstractmethod
    def with_points(self, phi: Phi, values: Numbers) -> "Solution":
        """The posterior given the context and more points."""

    def mean(self, phi: Phi) -> Numbers:
        """The posterior mean of w . phi."""
        return self.moments(phi)[0]

    def variance(self, phi: Phi) -> Numbers:
        """The posterior variance of w . phi."""
        return self.moments(phi)[1]


@dataclass(frozen=True)
class ByPoints(Solution):
    """The covariance of the weights as I - (W phi)^T (W phi), with a row of W and of phi for each point.

    It keeps the ``factor``, whose inverse is W, the ``context`` phi and the values times W: no product of them is as
    small. W itself costs more than the systems of a few queries, and is computed for those who need all of it.
    """

    factor: Square
    context: Phi
    white: Column
    log_evidence: Evidence

    def moments(self, phi: Phi) -> tuple[Numbers, Numbers]:
        """See `Solution.moments`."""
        known = self._known(phi)
        variance = phi.square().sum(-1) - known.square().sum(-2)
        return (self.white * known).sum(-2), variance.clamp_min(0.0)  # of a difference that rounds

    def covariance(self, phi: Phi) -> Square:
        """See `Solution.covariance`."""
        known = self._known(phi)
        return phi @ phi.mT - known.mT @ known

    def _known(self, phi: Phi) -> Float[Tensor, "batch heads context points"]:
        """What the context tells of each point: W times their covariance under the prior."""
        return torch.linalg.solve_triangular(self.factor, self.context @ phi.mT, upper=False)

    def draws(self, phi: Phi, count: int) -> Float[Tensor, "batch heads points count"]:
        """See `Solution.draws`, by Matheron's rule: a draw of the prior, moved by its errors at the context."""
        weights = standard_normals(phi, self.context.shape[-1], count)
        noise = standard_normals(phi, self.context.shape[-2], count)
        drawn = torch.linalg.solve_triangular(self.factor, self.context @ weights + noise, upper=False)
        errors = torch.linalg.solve_triangular(self.factor.mT, self.white - drawn, upper=True)  # (..., context, count)
        return phi @ (weights + self.context.mT @ errors)

    def repeated(self, sets: int) -> "ByPoints":
        """See `Solution.repeated`."""
        parts = (self.factor, self.context, self.white, self.log_evidence)
        return ByPoints(*(repeated(part, sets) for part in parts))

    def left_out(self, phi: Phi, values: Numbers) -> LeftOut:
        """See `Solution.left_out`."""
        whitener = inverted(self.factor)
        precision = whitener.square().sum(-2)  # of each value given the others
        solved = whitener.mT @ self.white  # (batch, heads, points, 1)
        return LeftOut(values - solved[..., 0] / precision, 1 / precision - 1)

    def with_points(self, phi: Phi, values: Numbers) -> Solution:
        """See `Solution.with_points`."""
        before = (self.factor @ self.white)[..., 0]
        return solution_of(torch.cat([self.context, phi], dim=-2), torch.cat([before, values], dim=-1))


@dataclass(frozen=True)
class ByFeatures(Solution):
    """The covariance of the weights as W^T W, with a row of W for each feature.

    It keeps ``whitener`` W, and ``white``, which W^T takes to the mean of the weights.
    """

    whitener: Square
    white: Weights
    log_evidence: Evidence

    def moments(self, phi: Phi) -> tuple[Numbers, Numbers]:
        """See `Solution.moments`."""
        known = self.whitener @ phi.mT  # (batch, heads, features, queries)
        return (self.white[..., None, :] @ known)[..., 0, :], known.square().sum(-2)

    def covariance(self, phi: Phi) -> Square:
        """See `Solution.covariance`."""
        known = self.whitener @ phi.mT
        return known.mT @ known

    def draws(self, phi: Phi, count: int) -> Float[Tensor, "batch heads points count"]:
        """See `Solution.draws`."""
        white = self.white[..., None] + standard_normals(phi, self.white.shape[-1], count)
        return phi @ (self.whitener.mT @ white)

    def repeated(self, sets: int) -> "ByFeatures":
        """See `Solution.repeated`."""
        return ByFeatures(*(repeated(part, sets) for part in (self.whitener, self.white, self.log_evidence)))

    def left_out(self, phi: Phi, values: Numbers) -> LeftOut:
        """See `Solution.left_out`."""
        mean, leverage = self.moments(phi)
        rest = 1 - leverage
        return LeftOut((mean - leverage * values) / rest, leverage / rest)

    def with_points(self, phi: Phi, values: Numbers) -> Solution:
        """See `Solution.with_points`: the factor is multiplied by that of the new points, seen through W."""
        seen = self.whitener @ phi.mT  # (batch, heads, features, points)
        factor = factor_of(seen @ seen.mT)
        both = torch.cat([self.whitener, self.white[..., None] + seen @ values[..., None]], dim=-1)
        updated = torch.linalg.solve_triangular(factor, both, upper=False)
        white = updated[..., -1]
        gained = 0.5 * (white.square().sum(-1) - self.white.square().sum(-1) - values.square().sum(-1))
        return ByFeatures(updated[..., :-1], white, self.log_evidence + gained - log_determinant(factor))


def solve(phi: Phi, values: Numbers) -> tuple[Solution, LeftOut]:
    """Condition on a context, whose values are in units of the noise; an empty one leaves the prior."""
    solution = solution_of(phi, values)
    return solution, solution.left_out(phi, values)


def solution_of(phi: Phi, values: Numbers) -> Solution:
    """The posterior of the weights alone, by points or by features, whichever are fewer."""
    points, features = phi.shape[-2:]
    return solve_by_points(phi, values) if points < features else solve_by_features(phi, values)


def solve_by_points(phi: Phi, values: Numbers) -> Solution:
    """The Gram matrix of the points: for fewer of them than features."""
    factor, white, evidence = whitened(phi @ phi.mT, values)
    return ByPoints(factor, phi, white, evidence)


def whitened(gram: Square, values: Numbers) -> tuple[Square, Column, Evidence]:
    """The factor of the values' covariance, given that of w . phi; the values over it, and their evidence."""
    factor = factor_of(gram)  # (batch, heads, points, points)
    white = torch.linalg.solve_triangular(factor, values.unsqueeze(-1), upper=False)
    numbers, log_pivots = white.squeeze(-1), factor.diagonal(dim1=-2, dim2=-1).log()
    return factor, white, -torch.addcmul(log_pivots, numbers, numbers, value=0.5).sum(-1)


def solve_by_features(phi: Phi, values: Numbers) -> Solution:
    """The Gram matrix of the features: what is kept does not grow with the context."""
    factor = factor_of(phi.mT @ phi)  # (batch, heads, features, features)
    whitener = inverted(factor)
    white = whitener @ (phi.mT @ values[..., None])  # (batch, heads, features, 1)
    evidence = 0.5 * (white.square().sum((-2, -1)) - values.square().sum(-1)) - log_determinant(factor)
    return ByFeatures(whitener, white[..., 0], evidence)


def repeated(numbers: Num[Tensor, "batch *shape"], sets: int) -> Num[Tensor, "repeated *shape"]:
    """The numbers of all datasets for each of several sets of queries; those of one dataset broadcast as they are."""
    return numbers if sets == 1 or len(numbers) == 1 else numbers.repeat(sets, *[1] * (numbers.ndim - 1))


def standard_normals(phi: Phi, rows: int, count: int) -> Float[Tensor, "batch heads rows count"]:
    """Standard Normals for each regression."""
    return torch.randn(*phi.shape[:2], rows, count, dtype=phi.dtype, device=phi.device)


def factor_of(gram: Square) -> Square:
    """The Cholesky factor of a Gram matrix plus identity; one that is not finite gives NaN, not an error."""
    gram.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return torch.linalg.cholesky_ex(gram).L


def inverted(factor: Float[Tensor, "*batch rows rows"]) -> Float[Tensor, "*batch rows rows"]:
    """The inverse of a Cholesky factor; no eigenvalue of what was factored is below 1, so it is safe to multiply by."""
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)


def log_determinant(factor: Float[Tensor, "*batch rows rows"]) -> Float[Tensor, "*batch"]:
    """Half the log determinant of the matrix that was factored."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
