"""The probability above a value, with its digits where the cdf rounds to 1."""

from functools import singledispatch

from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine
from priorfit.distributions.values import Values
from priorfit.metrics.reals import real_values


@singledispatch
def survival(ppd: Distribution, value: Values) -> Float[Tensor, "..."]:
    """The probability that y exceeds a value."""
    return 1 - ppd.cdf(real_values(ppd, value))


@survival.register(BoundedRiemann)
@survival.register(UnboundedRiemann)
@survival.register(Normal)
@survival.register(NormalMixture)
def _mirrored_cdf(ppd: Distribution, value: Values) -> Float[Tensor, "..."]:
    return affine(ppd, -1.0, 0.0).cdf(-real_values(ppd, value))
