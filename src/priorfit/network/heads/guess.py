"""A head for guesses that are nearly right: it moves them as a whole, and mixes in a few Normals of its own."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution
from torch.nn.functional import logsigmoid

from priorfit.data import Outcome
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.network.heads.head import Head, HeadSettings, Parameters, TargetSample, at_least_float32, require_reals
from priorfit.network.heads.mixture import MixtureOfNormals, mixture_of, stratified

FIRST_GATE = -7.0
"""Log odds of the head's own Normals before training: their share is below a thousandth."""


@dataclass(frozen=True)
class AdjustedGuessHead(HeadSettings):
    """A solver's mixture of Normals of any size, shifted, stretched and sharpened; and ``components`` of its own."""

    components: int = 10

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        return AdjustedGuess(self.components)


class AdjustedGuess(Head):
    """The module of an `AdjustedGuessHead`.

    The first four numbers are the log odds of the head's own Normals, the shift of the guess in its standard
    deviations, the log stretch of its components, and the log of the power to which its weights are raised.
    """

    def __init__(self, components: int) -> None:
        super().__init__()
        self.components = components
        self.num_parameters = 4 + 3 * components

    def initial_bias(self) -> Float[Tensor, " parameters"]:
        """The guess as it is, but for a small share of Normals over its range."""
        return torch.cat([torch.tensor([FIRST_GATE, 0, 0, 0]), MixtureOfNormals(self.components).initial_bias()])

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`."""
        if not isinstance(guess, NormalMixture):
            raise InputError(f"AdjustedGuessHead adjusts a NormalMixture; got {guess}. Give the network a CellSolver.")
        numbers = at_least_float32(parameters)
        gate, shift, stretch, power = numbers[..., :4, None].clamp(-12, 12).unbind(-2)  # (*batch, query, 1) each
        own, dtype = mixture_of(numbers[..., 4:]), numbers.dtype
        mean, spread = guess.mean[..., None], guess.stddev[..., None]
        weights = (guess.log_probs.to(dtype) * power.clamp(-2, 2).exp()).log_softmax(-1)
        logits = torch.cat([weights + logsigmoid(-gate), own.log_probs + logsigmoid(gate)], dim=-1)
        loc = torch.cat([guess.loc + spread * shift, mean + spread * own.loc], dim=-1)
        scale = torch.cat([guess.scale * stretch.clamp(-3, 3).exp(), spread * own.scale], dim=-1)
        return NormalMixture(logits, loc.to(dtype), scale.to(dtype), validate_args=False)

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """See `Head.expected_log_prob`."""
        return stratified(ppd, target, drawn)
