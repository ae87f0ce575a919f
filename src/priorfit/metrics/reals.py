"""What the metrics of reals need of a distribution: a check of its support, and its quantiles."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.values import Values, as_values
from priorfit.errors import InputError


def real_values(ppd: Distribution, value: Values) -> Float[Tensor, "..."]:
    """Values as tensors that broadcast with a distribution of reals."""
    check_reals(ppd)
    return as_values(value, ppd.mean, ppd.batch_shape)


def quantile(ppd: Distribution, level: float) -> Float[Tensor, "*batch"]:
    """The quantile at one level, which is not rounded to the distribution's own precision."""
    check_reals(ppd)
    mean = ppd.mean
    return ppd.icdf(torch.tensor(level, dtype=torch.float64, device=mean.device)).to(mean.dtype)


def check_reals(ppd: Distribution) -> None:
    """Refuse distributions over classes, which have neither quantiles nor distances."""
    if isinstance(ppd, Categorical):
        raise InputError(f"expected a distribution of reals; got {type(ppd).__name__}, which is one of classes.")
