"""Normals and mixtures of Normals."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.data import Outcome
from priorfit.distributions import NormalMixture, affine, stratified_log_prob
from priorfit.errors import InputError
from priorfit.network.heads.head import (
    LOG_SCALE_RANGE,
    Head,
    HeadSettings,
    LocationScaleHead,
    Parameters,
    TargetSample,
    at_least_float32,
    require_reals,
)


@dataclass(frozen=True)
class NormalHead(HeadSettings):
    """One Normal: location and log scale."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return OneNormal()


class OneNormal(LocationScaleHead):
    """The module of a `NormalHead`."""

    num_parameters = 2

    def own(self, parameters: Parameters) -> Distribution:
        """See `LocationScaleHead.own`."""
        location, log_scale = parameters.unbind(-1)
        return Normal(location, log_scale.clamp(*LOG_SCALE_RANGE).exp(), validate_args=False)


@dataclass(frozen=True)
class NormalMixtureHead(HeadSettings):
    """A mixture of Normals: its resolution is not fixed, so narrow posteriors cost it nothing."""

    components: int = 10

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return MixtureOfNormals(self.components)


class MixtureOfNormals(LocationScaleHead):
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
        return stratified(ppd, target, drawn)

    def own(self, parameters: Parameters) -> Distribution:
        """See `LocationScaleHead.own`."""
        return mixture_of(parameters)


@dataclass(frozen=True)
class CorrectedMixtureHead(HeadSettings):
    """The mixture of Normals that a solver guesses, each of its ``components`` corrected by the network."""

    components: int = 7

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return CorrectedMixture(self.components)


class CorrectedMixture(Head):
    """The module of a `CorrectedMixtureHead`: numbers are added to log weights, locations and log scales.

    Locations and scales are in units of the guessed mixture's own mean and standard deviation.
    """

    def __init__(self, components: int) -> None:
        super().__init__()
        self.num_parameters = 3 * components

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`."""
        if not isinstance(guess, NormalMixture):
            raise InputError(
                f"CorrectedMixtureHead corrects a NormalMixture; got {guess}. Give the network a LatentSolver."
            )
        own = at_least_float32(parameters)
        shape = torch.cat([guess.logits, *guess.in_own_units], dim=-1)
        return affine(mixture_of(own + shape.to(own.dtype)), guess.stddev, guess.mean)

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """See `Head.expected_log_prob`."""
        return stratified(ppd, target, drawn)


def mixture_of(parameters: Parameters) -> NormalMixture:
    """The mixture whose logits, locations and log scales are the thirds of some numbers."""
    logits, location, log_scale = parameters.chunk(3, dim=-1)
    return NormalMixture(logits, location, log_scale.clamp(*LOG_SCALE_RANGE).exp(), validate_args=False)


def stratified(
    ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
) -> Float[Tensor, "*batch query"]:
    """The expected log density of a mixture under a Normal, by the lattice of levels that the draw lies on."""
    if not isinstance(target, Normal):
        raise InputError(f"the law of real targets must be a Normal; got {target}.")
    return stratified_log_prob(ppd, target, drawn)
