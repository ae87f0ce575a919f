"""Any number of classes by one regression: least squares on indicators of the classes, with learned similarities."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.distributions import Categorical

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.classes import TemperedHead
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import Problem
from priorfit.network.solver.classes import require_classes
from priorfit.network.solver.gaussian import LeftOut, factor_of, inverted, log_determinant
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.solver import (
    NO_POINTS,
    FirstGuess,
    Points,
    Solved,
    Solver,
    SolverSettings,
    Targets,
    linear_maps,
)

FIRST_GAIN = 10.0
"""Prior variance of an indicator in units of its noise before training: a ridge of a tenth."""

FIRST_SHARPNESS = 12.0
"""Log odds of a whole indicator before training; ridge regression on Omniglot wants 10 (5 shots) to 17 (20 ways)."""

FIRST_UNSEEN = -6.0
"""Log odds of a class that the context lacks before training."""

Directions = Float[Tensor, "batch points learned"]
PerClass = Float[Tensor, "batch points classes"]


@dataclass(frozen=True)
class ClassRegression(SolverSettings):
    """Gaussian process regression of the indicators of all classes, under one learned kernel.

    The kernel is the cosine of the angle between ``features`` learned numbers of two inputs, which are what ``encoder``
    (by default the network's own) makes of them. One factorisation serves all classes, however many there are: cheaper
    than a `ClassSolver` by the number of classes times its rounds, and sooner there where classes are clusters. Tokens
    are told the learned numbers too, so that the network itself may do without an encoder (`NoEncoder`).

    >>> ClassRegression(features=64)
    ClassRegression(features=64, encoder=None, evidence_weight=0.0)
    """

    features: int = 128
    encoder: InputEncoder | None = None
    evidence_weight: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.features < 1 or self.evidence_weight < 0:
            raise InputError(
                f"features of a ClassRegression must be at least 1, evidence_weight at least 0; got {self}."
            )

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        chosen = self.encoder or encoder
        encoded = chosen.build(problem.num_features, self.features, problem.input_range)
        return IndicatorRegression(encoded, self.features, require_classes(problem).count)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        require_classes(problem)
        return output or TemperedHead()


class IndicatorRegression(Solver):
    """The module of a `ClassRegression`."""

    def __init__(self, encoder: nn.Module, features: int, count: int) -> None:
        super().__init__()
        self.encoder, self.count = encoder, count
        self.log_gain = nn.Parameter(torch.tensor(math.log(FIRST_GAIN) / 2))
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(FIRST_SHARPNESS)))
        self.unseen = nn.Parameter(torch.tensor(FIRST_UNSEEN))
        self.num_numbers = count + 3 + features
        self.memory_per_query = 4 * features + 4 * count

    def directions(self, x: Points) -> Directions:
        """Learned numbers of unit length, in float32 at least."""
        encoded = self.encoder(x)
        return nn.functional.normalize(encoded.to(torch.promote_types(encoded.dtype, torch.float32)), dim=-1)

    def condition(self, x: Points, y: Targets) -> "IndicatorsSolved":
        """See `Solver.condition`."""
        directions = self.directions(x)
        indicators = (y[..., None] == torch.arange(self.count, device=y.device)).to(directions.dtype)
        phi = self.log_gain.exp() * directions
        factor = factor_of((phi @ phi.mT)[:, None])  # (batch, 1, points, points)
        whitener = inverted(factor)[:, 0]
        white = whitener @ indicators
        precision = whitener.square().sum(-2)  # of each indicator given the others
        left_out = LeftOut((indicators - whitener.mT @ white / precision[..., None]).mT, self._alike(1 / precision - 1))
        evidence = -0.5 * white.square().sum((-2, -1)) - self.count * log_determinant(factor)[:, 0]
        return IndicatorsSolved(self, directions, whitener, white, indicators, left_out, evidence)

    def resumed(self, statistics: "IndicatorStatistics") -> "IndicatorsSolved":
        """See `Solver.resumed`."""
        kept = statistics
        return IndicatorsSolved(
            self, kept.directions, kept.whitener, kept.white, kept.indicators, None, kept.log_evidence
        )

    def _alike(self, variance: Float[Tensor, "batch points"]) -> Float[Tensor, "batch classes points"]:
        """The variance of each class, which is the same for all."""
        return variance[:, None].expand(-1, self.count, -1)

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Solver.matrices`."""
        return linear_maps(self.encoder)


@dataclass(frozen=True)
class IndicatorStatistics:
    """What a file keeps of a context; see `IndicatorsSolved`."""

    directions: Directions
    whitener: Float[Tensor, "batch context context"]
    white: Float[Tensor, "batch context classes"]
    indicators: PerClass
    log_evidence: Float[Tensor, " batch"]


@dataclass(frozen=True)
class IndicatorsSolved(Solved):
    """What is kept of a context: directions, the inverse factor of their Gram matrix, and indicators."""

    solver: IndicatorRegression
    directions: Directions
    whitener: Float[Tensor, "batch context context"]
    white: Float[Tensor, "batch context classes"]
    indicators: PerClass
    left_out: LeftOut | None
    evidence: Float[Tensor, " batch"]

    def kept(self) -> IndicatorStatistics:
        """See `Solved.kept`: the points themselves, as the kernel sees them."""
        return IndicatorStatistics(self.directions, self.whitener, self.white, self.indicators, self.evidence)

    @property
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """See `Solved.log_evidence`; the sum over classes."""
        return self.evidence

    def moments(self, directions: Directions) -> tuple[PerClass, Float[Tensor, "batch points"]]:
        """Posterior mean of each indicator, and the variance of all, in units of the noise."""
        gain = (2 * self.solver.log_gain).exp()
        known = gain * directions @ self.directions.mT @ self.whitener.mT  # (batch, query, context)
        return known @ self.white, (gain - known.square().sum(-1)).clamp_min(0.0)

    def predict(self, x: Points) -> FirstGuess:
        """See `Solved.predict`."""
        directions = self.solver.directions(x)
        is_unseen = (self.indicators.sum(1, keepdim=True) == 0).expand(-1, x.shape[1], -1)
        return self._guess(*self.moments(directions), is_unseen, directions)

    def leave_one_out(self) -> FirstGuess:
        """See `Solved.leave_one_out`."""
        if self.left_out is None:
            raise InputError(NO_POINTS)
        is_unseen = self.indicators.sum(1, keepdim=True) - self.indicators == 0
        return self._guess(self.left_out.mean.mT, self.left_out.variance[:, 0], is_unseen, self.directions)

    def _guess(
        self,
        mean: PerClass,
        variance: Float[Tensor, "batch points"],
        is_unseen: Bool[Tensor, "batch points classes"],
        directions: Directions,
    ) -> FirstGuess:
        logits = self.solver.log_sharpness.exp() * mean + self.solver.unseen * is_unseen
        ppd = Categorical(logits=logits, validate_args=False)
        told = ppd.logits.clamp_min(LEAST_LOG_WEIGHT) / TOKEN_SCALE
        unsure = torch.stack([told.amax(-1), ppd.entropy(), variance.log1p() / 2], dim=-1)
        features = torch.cat([told, unsure, directions * directions.shape[-1] ** 0.5], dim=-1)
        return FirstGuess(ppd, features.to(self.solver.log_gain.dtype))
