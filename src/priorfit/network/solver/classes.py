"""Any number of classes on learned features: one probit regression a class against all others, normalised."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import Problem
from priorfit.network.solver.features import FeatureSolver, FeaturesSolved, LearnedFeatures, OfComponents, log_ladder
from priorfit.network.solver.gaussian import Numbers, Phi
from priorfit.network.solver.labels import FIRST_SPREAD
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.probit import classify, least_margin, probability
from priorfit.network.solver.solver import FirstGuess, Points, Solver, SolverSettings, Targets


@dataclass(frozen=True)
class ClassSolver(SolverSettings):
    """A mixture of ``components`` classifiers on ``features`` learned features of x, for any number of classes.

    Each class has a probit regression of its own (this class or another), solved by expectation propagation; their
    probabilities are normalised. No weight depends on the number of classes or on their order.

    >>> ClassSolver(features=16, components=2)
    ClassSolver(features=16, components=2, hidden=64, evidence_weight=0.0)
    """

    features: int = 16
    components: int = 2
    hidden: int = 64
    evidence_weight: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.features, self.components) < 1 or min(self.hidden, self.evidence_weight) < 0:
            raise InputError(
                "features and components of a ClassSolver must be at least 1, hidden and evidence_weight at least 0; "
                f"got {self}."
            )

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        width = self.hidden or self.components * self.features
        encoded = encoder.build(problem.num_features, width, problem.input_range)
        return OneAgainstRest(encoded, (self.components, self.features, self.hidden), require_classes(problem).count)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        return output or default_output(require_classes(problem))


def require_classes(problem: Problem) -> Classes:
    """The classes of a problem, or an error where its targets are real."""
    if not isinstance(problem.outcome, Classes):
        raise InputError(f"ClassSolver is for classes; this problem has {problem.outcome}. Use LinearSolver.")
    return problem.outcome


class OneAgainstRest(FeatureSolver):
    """The module of a `ClassSolver`; ``count`` is the number of classes, which no weight depends on."""

    def __init__(self, encoder: nn.Module, sizes: tuple[int, int, int], count: int) -> None:
        super().__init__()
        components, features, hidden = sizes
        self.count = count
        self.features = LearnedFeatures(encoder, sizes, log_ladder(FIRST_SPREAD, components, alone=1 / 2))
        self.log_sharpness = nn.Parameter(torch.zeros(()))
        self.num_numbers = 2 * components + 2
        self.memory_per_query = 6 * components * features * count + hidden

    def condition(self, x: Points, y: Targets) -> FeaturesSolved:
        """See `Solver.condition`; a component's evidence is the sum of that of its classes' own regressions."""
        phi = self.phi(x)
        labels = torch.arange(self.count, device=y.device)[:, None]
        signs = torch.where(y[:, None] == labels, 1.0, -1.0).to(phi.dtype)  # (batch, classes, points)
        solution, left_out = classify(phi, signs.repeat(1, self.features.components, 1))
        return FeaturesSolved(self, solution, left_out, solution.log_evidence.unflatten(1, (-1, self.count)).sum(-1))

    def phi(self, x: Points) -> Phi:
        """See `FeatureSolver.phi`; those of each component, once for each class."""
        return self.features.phi(x, torch.float32).repeat_interleave(self.count, dim=1)

    def guess(self, mean: Numbers, variance: Numbers, log_evidence: OfComponents) -> FirstGuess:
        """See `FeatureSolver.guess`."""
        least = least_margin(mean.dtype)
        margin = (mean / (1 + variance).sqrt()).clamp(least, -least).unflatten(1, (-1, self.count))
        scores = probability(margin).log() - probability(-margin).log()  # (batch, components, classes, points)
        log_probs = (self.log_sharpness.exp() * scores).log_softmax(2)
        log_weights = log_evidence.log_softmax(1)[..., None]  # (batch, components, 1)
        logits = (log_probs + log_weights[..., None]).logsumexp(1).mT  # (batch, points, classes)
        ppd = Categorical(logits=logits, validate_args=False)
        unsure = variance.log1p().unflatten(1, (-1, self.count)).mean(2) / 2  # (batch, components, points)
        weights = log_weights.clamp_min(LEAST_LOG_WEIGHT).expand_as(unsure) / TOKEN_SCALE
        top = logits.amax(-1).clamp_min(LEAST_LOG_WEIGHT)
        features = torch.cat([unsure, weights, top[:, None], ppd.entropy()[:, None]], dim=1).mT
        return FirstGuess(ppd, features.to(self.log_sharpness.dtype))
