"""The head that a network has where its settings name none."""

from priorfit.data import Classes, Outcome
from priorfit.network.heads.classes import SigmoidHead, SoftmaxHead
from priorfit.network.heads.head import HeadSettings
from priorfit.network.heads.mixture import NormalMixtureHead


def default_output(outcome: Outcome) -> HeadSettings:
    """A mixture of Normals for reals, probabilities for classes."""
    if isinstance(outcome, Classes):
        return SigmoidHead() if outcome.count == 2 else SoftmaxHead()
    return NormalMixtureHead()
