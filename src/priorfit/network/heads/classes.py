"""Class probabilities; every answer is a Categorical, of two classes too."""

from dataclasses import dataclass

import torch
from torch.distributions import Categorical, Distribution

from priorfit.data import Outcome
from priorfit.distributions.class_probabilities import class_log_probs, log_odds, two_classes
from priorfit.errors import InputError
from priorfit.network.heads.head import Head, HeadSettings, Parameters, TargetSample, at_least_float32, require_classes


@dataclass(frozen=True)
class SoftmaxHead(HeadSettings):
    """Class probabilities by a softmax."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        return ClassLogits(require_classes(self, outcome).count)


class ClassLogits(Head):
    """The module of a `SoftmaxHead`; to the log probabilities of a guess the network adds its own numbers."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.num_parameters = count

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`."""
        logits = at_least_float32(parameters)
        logits = logits if guess is None else logits + class_log_probs(guess).to(logits.dtype)
        return Categorical(logits=logits, validate_args=False)


@dataclass(frozen=True)
class TemperedHead(HeadSettings):
    """Class probabilities by a softmax that may also sharpen or flatten those of a guess, each query for itself."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        return TemperedLogits(require_classes(self, outcome).count)


class TemperedLogits(Head):
    """The module of a `TemperedHead`: log probabilities of a guess times a factor, plus the network's own numbers."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.num_parameters = count + 1

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`."""
        numbers = at_least_float32(parameters)
        logits, log_factor = numbers[..., :-1], numbers[..., -1:]
        if guess is not None:
            logits = logits + bounded(log_factor).exp() * class_log_probs(guess).to(logits.dtype)
        return Categorical(logits=logits, validate_args=False)


def bounded(log_factor: Parameters) -> Parameters:
    """Nearly the same near 0, and never beyond a factor of e^2."""
    return 2 * torch.tanh(log_factor / 2)


@dataclass(frozen=True)
class SigmoidHead(HeadSettings):
    """The probability of class 1 of two, by a sigmoid."""

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        if require_classes(self, outcome).count != 2:
            raise InputError(f"SigmoidHead takes 2 classes; got {outcome}. Use SoftmaxHead().")
        return OneLogit()


class OneLogit(Head):
    """The module of a `SigmoidHead`; to the log odds of a guess the network adds its own."""

    num_parameters = 1

    def forward(self, parameters: Parameters, guess: Distribution | None = None) -> Distribution:
        """See `Head.forward`."""
        own = at_least_float32(parameters)[..., 0]
        return two_classes(own if guess is None else own + log_odds(guess).to(own.dtype))
