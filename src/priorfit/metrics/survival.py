"""The probability above a value, with its digits where the cdf rounds to 1."""

from functools import singledispatch

from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine


@singledispatch
def survival(ppd: Distribution, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The probability of more than a value."""
    return 1 - ppd.cdf(value)


@survival.register(BoundedRiemann)
@survival.register(UnboundedRiemann)
@survival.register(Normal)
@survival.register(NormalMixture)
def _mirrored_cdf(ppd: Distribution, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return affine(ppd, -1.0, 0.0).cdf(-value)
