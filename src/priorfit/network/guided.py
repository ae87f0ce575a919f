"""Heads whose answer begins with the guess of a regression layer."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions import affine
from priorfit.errors import InputError
from priorfit.network.heads import ClassLogits, Head, MixtureOfNormals, OneLogit, Parameters, Refined, at_least_float32


class GuidedHead(Head):
    """A head whose y is in units of a guess: the last two parameters are its location and its log scale."""

    def __init__(self, inner: Head) -> None:
        super().__init__()
        self.inner = inner
        self.num_parameters = inner.num_parameters

    def refine(self, parameters: Parameters) -> Refined:
        """See `Head.refine`."""
        guess = at_least_float32(parameters[..., -2:])
        return torch.cat([self.inner.refine(parameters[..., :-2]), guess], dim=-1)

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        location, log_scale = refined[..., -2:].unbind(-1)
        return affine(self.inner.distribution(refined[..., :-2]), log_scale.exp(), location)

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """See `Head.expected_log_prob`."""
        return self.inner.expected_log_prob(ppd, target, drawn)

    def initial_bias(self) -> Float[Tensor, " parameters"]:
        """See `Head.initial_bias`."""
        return self.inner.initial_bias()


class ShapedMixture(Head):
    """A mixture of Normals to which that of regressions is added: behind its own numbers stand theirs, by `mixture`."""

    def __init__(self, inner: MixtureOfNormals) -> None:
        super().__init__()
        self.inner = inner
        self.num_parameters = inner.num_parameters

    def refine(self, parameters: Parameters) -> Refined:
        """See `Head.refine`."""
        own, shape = at_least_float32(parameters).chunk(2, dim=-1)
        location, log_scale, shares = shape.chunk(3, dim=-1)
        return own + torch.cat([4 * shares, location, log_scale], dim=-1)

    def distribution(self, refined: Refined) -> Distribution:
        """See `Head.distribution`."""
        return self.inner.distribution(refined)

    def expected_log_prob(
        self, ppd: Distribution, target: Distribution, drawn: Num[Tensor, "*batch query"]
    ) -> Float[Tensor, "*batch query"]:
        """See `Head.expected_log_prob`."""
        return self.inner.expected_log_prob(ppd, target, drawn)


class GuidedLogit(OneLogit):
    """A logit to which a guess is added: the last parameter."""

    def refine(self, parameters: Parameters) -> Refined:
        """See `Head.refine`."""
        own, guess = at_least_float32(parameters).chunk(2, dim=-1)
        return own + guess  # a sum over so few takes ten times as long


def guided(head: Head) -> Head:
    """The head with a guess of the regression layer beside its own numbers."""
    if isinstance(head, ClassLogits):
        raise InputError("Regression guides a SigmoidHead, and is for two classes; leave network.regression out.")
    return GuidedLogit() if isinstance(head, OneLogit) else GuidedHead(head)
