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
    values = as_values(value, ppd.mean, ppd.batch_shape)
    if not bool(values.isfinite().all()):
        raise InputError("values that a prediction is compared with must be finite; got NaN or infinity. Drop those.")
    return values


def quantile(ppd: Distribution, level: float) -> Float[Tensor, "*batch"]:
    """The quantile at one level, which is not rounded to the distribution's own precision."""
    check_reals(ppd)
    mean = ppd.mean
    return ppd.icdf(torch.tensor(level, dtype=torch.float64, device=mean.device)).to(mean.dtype)


def check_distribution(ppd: object) -> None:
    """Refuse what is no distribution."""
    if not isinstance(ppd, Distribution):
        raise InputError(f"expected a distribution, such as predict gives; got {type(ppd).__name__}.")


def check_reals(ppd: Distribution) -> None:
    """Refuse what is no distribution, and those over classes, which have neither quantiles nor distances."""
    check_distribution(ppd)
    if isinstance(ppd, Categorical):
        raise InputError(f"expected a distribution of reals; got {type(ppd).__name__}, which is one of classes.")
