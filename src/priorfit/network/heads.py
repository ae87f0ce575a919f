"""Heads: from the network's numbers to a distribution, in the network's own units of y."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Bernoulli, Categorical, Distribution, Normal

from priorfit.data import Classes, Outcome
from priorfit.distributions import (
    BoundedRiemann,
    NormalMixture,
    UnboundedRiemann,
    equal_mass_borders,
    expected_log_prob,
    stratified_log_prob,
)
from priorfit.errors import InputError

Parameters = Float[Tensor, "*batch query parameters"]
Refined = Float[Tensor, "*batch query refined"]
TargetSample = Float[Tensor, " sample"]

LOG_SCALE_RANGE = (-7.0, 3.0)
"""Bounds of a predicted log scale; targets have unit spread, so e^-7 is 0.1 % of it."""


class Head(nn.Module, ABC):
    """Turns ``num_parameters`` numbers for each query into a distribution."""

    num_parameters: int

    @abstractmethod
    def distribution(self, refined: Refined) -> Distribution:
        """A distribution of batch shape ``(*batch, query)``; it keeps ``refined`` and little else."""

    def refine(self, parameters: Parameters) -> Refined:
        """The network's numbers as the distribution keeps them, in float32 at least; done chunk by chunk."""
        return at_least_float32(parameters)

    def forward(self, parameters: Parameters) -> Distribution:
        """The distribution of the network's numbers."""
        return self.distribution(self.refine(parameters))

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """E[log ppd(y)] under a target of which ``drawn`` is a draw; exact wherever there is a closed form."""
        return expected_log_prob(ppd, target)

    def initial_bias(self) -> Float[Tensor, " parameters"]:
        """The parameters before any training."""
        return torch.zeros(self.num_parameters)


class HeadSettings(ABC):
    """The setting of a head; ``build`` makes the module."""

    @abstractmethod
    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """The head for an outcome; ``sample`` holds targets of the prior (None: weights will be loaded)."""


@dataclass(frozen=True)
class RiemannHead(HeadSettings):
    """Bars of equal prior mass (the paper's Riemann distribution), by default with a learned smooth shape below.

    ``shape="smooth"`` adds the log density of one predicted Normal to the free logits of the bars, so that
    neighbouring bars share what they learn; ``"plain"`` is the paper's form. ``tails="half-normal"`` is the
    paper's unbounded form, ``"none"`` ends the support at the outermost borders.
    """

    num_buckets: int = 500
    shape: Literal["smooth", "plain"] = "smooth"
    tails: Literal["half-normal", "none"] = "half-normal"

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        if sample is None:
            borders = torch.linspace(-1.0, 1.0, self.num_buckets + 1)
        else:
            borders = equal_mass_borders(sample, self.num_buckets)
        family = UnboundedRiemann if self.tails == "half-normal" else BoundedRiemann
        bars = PlainBars(borders, family)
        return SmoothBars(bars) if self.shape == "smooth" else bars


class PlainBars(Head):
    """One free logit for each bar."""

    borders: Tensor

    def __init__(
        self, borders: Float[Tensor, " borders"], family: type[BoundedRiemann] | type[UnboundedRiemann]
    ) -> None:
        super().__init__()
        self.family = family
        self.num_parameters = len(borders) - 1
        self.register_buffer("borders", borders)

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        return self.family(self.borders, refined, validate_args=False)


class SmoothBars(Head):
    """Free logits for the bars plus -(centre - mu)^2 / (2 sigma^2) + log width, with predicted mu and sigma."""

    def __init__(self, bars: PlainBars) -> None:
        super().__init__()
        self.bars = bars
        self.num_parameters = bars.num_parameters + 2

    def refine(self, parameters: Parameters) -> Refined:
        """See `Head.refine`."""
        parameters = at_least_float32(parameters)
        free, location, log_scale = parameters.split([self.bars.num_parameters, 1, 1], dim=-1)
        borders = self.bars.borders.to(parameters.dtype)
        centres, widths = (borders[1:] + borders[:-1]) / 2, borders.diff()
        standard = (centres - location) * torch.exp(-log_scale.clamp(*LOG_SCALE_RANGE))
        shape = (-0.5 * standard.square()).clamp_min(-60.0)  # beyond, the free logits alone decide
        return free + shape + widths.log()

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        return self.bars.distribution(refined)


@dataclass(frozen=True)
class NormalHead(HeadSettings):
    """One Normal: location and log scale."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return OneNormal()


class OneNormal(Head):
    """The module of a `NormalHead`."""

    num_parameters = 2

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        location, log_scale = refined.unbind(-1)
        return Normal(location, log_scale.clamp(*LOG_SCALE_RANGE).exp(), validate_args=False)


@dataclass(frozen=True)
class NormalMixtureHead(HeadSettings):
    """A mixture of Normals: its resolution is not fixed, so narrow posteriors cost it nothing."""

    components: int = 10

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return MixtureOfNormals(self.components)


class MixtureOfNormals(Head):
    """The module of a `NormalMixtureHead`."""

    def __init__(self, components: int) -> None:
        super().__init__()
        self.components = components
        self.num_parameters = 3 * components

    def initial_bias(self) -> Float[Tensor, " parameters"]:
        """Components spread over the prior's range: equal ones would stay equal."""
        middles = (torch.arange(self.components) + 0.5) / self.components
        locations = torch.special.ndtri(middles)
        return torch.cat([torch.zeros(self.components), locations, torch.full((self.components,), -0.5)])

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """See `Head.expected_log_prob`: no closed form, so the draw and its companions."""
        assert isinstance(target, Normal)  # the contract of `Batch.target` for real targets
        return stratified_log_prob(ppd, target, drawn)

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        logits, location, log_scale = refined.chunk(3, dim=-1)
        return NormalMixture(logits, location, log_scale.clamp(*LOG_SCALE_RANGE).exp(), validate_args=False)


@dataclass(frozen=True)
class SoftmaxHead(HeadSettings):
    """Class probabilities by a softmax."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        return ClassLogits(require_classes(self, outcome).count)


class ClassLogits(Head):
    """The module of a `SoftmaxHead`."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.num_parameters = count

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        return Categorical(logits=refined, validate_args=False)


@dataclass(frozen=True)
class SigmoidHead(HeadSettings):
    """The probability of class 1 of two, by a sigmoid."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        if require_classes(self, outcome).count != 2:
            raise InputError(f"SigmoidHead takes 2 classes; got {outcome}. Use SoftmaxHead().")
        return OneLogit()


class OneLogit(Head):
    """The module of a `SigmoidHead`."""

    num_parameters = 1

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        return Bernoulli(logits=refined.squeeze(-1), validate_args=False)


def default_head(outcome: Outcome) -> HeadSettings:
    """The head that `fit` takes where a recipe names none."""
    if isinstance(outcome, Classes):
        return SigmoidHead() if outcome.count == 2 else SoftmaxHead()
    return NormalMixtureHead()


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
