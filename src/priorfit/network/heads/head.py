"""What a head is: from the network's numbers, and a solver's first guess, to a distribution."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Distribution

from priorfit.data import Classes, Outcome
from priorfit.distributions import affine, expected_log_prob
from priorfit.errors import InputError

Parameters = Float[Tensor, "*batch query parameters"]
TargetSample = Float[Tensor, " sample"]

LOG_SCALE_RANGE = (-7.0, 3.0)
"""Bounds of a predicted log scale; targets have unit spread, so e^-7 is 0.1 % of it."""


class Head(nn.Module, ABC):
    """Turns ``num_parameters`` numbers for each query into a distribution, in the network's own units of y."""

    num_parameters: int

    @abstractmethod
    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """A distribution of batch shape ``(*batch, query)``; with a guess, the correction of that guess."""

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """E[log ppd(y)] under a target of which ``drawn`` is a draw; exact wherever there is a closed form."""
        return expected_log_prob(ppd, target)

    def initial_bias(self) -> Float[Tensor, " parameters"]:
        """The parameters before any training."""
        return torch.zeros(self.num_parameters)


class LocationScaleHead(Head):
    """A head over reals whose correction of a guess is its own distribution in units of that guess."""

    @abstractmethod
    def own(self, parameters: Parameters) -> Distribution:
        """The distribution where there is no guess; parameters are in float32 at least."""

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`: y - mean of the guess, over its standard deviation, has the head's own distribution."""
        own = self.own(at_least_float32(parameters))
        return own if guess is None else affine(own, guess.stddev, guess.mean)


class HeadSettings(ABC):
    """The setting of a head: a frozen dataclass; ``build`` makes the module."""

    @abstractmethod
    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """The head for an outcome; ``sample`` holds targets of the prior (None: weights will be loaded)."""


def at_least_float32(parameters: Parameters) -> Parameters:
    """Half precision is widened, float64 is kept."""
    return parameters.float() if parameters.dtype.itemsize < 4 else parameters


def require_reals(settings: HeadSettings, outcome: Outcome) -> None:
    """Refuse a head for reals on classes."""
    if isinstance(outcome, Classes):
        raise InputError(f"{type(settings).__name__} is for real targets; this prior has {outcome}. Use SoftmaxHead().")


def require_classes(settings: HeadSettings, outcome: Outcome) -> Classes:
    """Refuse a head for classes on reals."""
    if not isinstance(outcome, Classes):
        raise InputError(f"{type(settings).__name__} is for classes; this prior has {outcome}. Use RiemannHead().")
    return outcome
