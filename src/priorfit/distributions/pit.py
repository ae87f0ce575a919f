"""The probability integral transform."""

from functools import singledispatch

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs


@singledispatch
def pit(ppd: Distribution, y: Num[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The probability integral transform of outcomes: uniform between 0 and 1 if the prediction is right.

    For reals it is the cdf. For classes it is drawn uniformly from the step of the cdf at the class, which keeps it
    uniform.

    >>> pit(torch.distributions.Normal(torch.zeros(3), 1.0), torch.zeros(3))
    tensor([0.5000, 0.5000, 0.5000])
    """
    return ppd.cdf(y)


@pit.register(Categorical)
def _class_pit(ppd: Categorical, y: Num[Tensor, "..."]) -> Float[Tensor, "..."]:
    probs = class_probs(ppd).expand(*y.shape, -1)
    label = y.long()[..., None]
    above = probs.cumsum(-1).gather(-1, label)[..., 0]
    return above - probs.gather(-1, label)[..., 0] * torch.rand(y.shape, dtype=probs.dtype, device=probs.device)
