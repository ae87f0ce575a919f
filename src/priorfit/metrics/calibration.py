"""Whether stated probabilities come true: PIT, coverage, and the calibration error of classes."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.distributions.pit import pit as transformed
from priorfit.distributions.values import Values, as_values
from priorfit.errors import InputError
from priorfit.metrics.labels import as_labels, is_of_classes
from priorfit.metrics.reals import check_distribution, real_values


def pit(ppd: Distribution, y: Values) -> Float[Tensor, "..."]:
    """The probability integral transform of outcomes: uniform between 0 and 1 if the prediction is right.

    For reals it is the cdf. For classes it is drawn uniformly from the step of the cdf at the class, which keeps it
    uniform.

    >>> import torch
    >>> pit(torch.distributions.Normal(torch.zeros(3), 1.0), torch.zeros(3))
    tensor([0.5000, 0.5000, 0.5000])
    """
    return transformed(ppd, as_labels(ppd, y) if is_of_classes(ppd) else real_values(ppd, y))


def coverage(ppd: Distribution, y: Values, levels: Values) -> Float[Tensor, "levels"]:
    """The share of the outcomes that lie within the central interval of each level; right when equal to the level.

    >>> y = torch.tensor([-2.0, -0.5, 0.5, 2.0])
    >>> coverage(torch.distributions.Normal(0.0, 1.0), y, levels=torch.tensor([0.5, 0.9]))
    tensor([0.5000, 0.5000])
    """
    check_distribution(ppd)
    levels = as_values(levels, ppd.mean, torch.Size([])).flatten()
    if not bool(((levels >= 0) & (levels <= 1)).all()):
        raise InputError(f"levels must be probabilities from 0 to 1; got {levels.tolist()}.")
    needed = (2 * pit(ppd, y) - 1).abs().flatten()  # the level of the smallest central interval that holds y
    return (needed <= levels[:, None]).to(levels.dtype).mean(-1)


def expected_calibration_error(ppd: Distribution, y: Values, num_bins: int = 15) -> Float[Tensor, ""]:
    """The mean distance between confidence and accuracy of the most probable class, over bins of confidence.

    >>> import torch
    >>> ppd = torch.distributions.Categorical(torch.tensor([0.1, 0.9]).expand(4, 2))
    >>> expected_calibration_error(ppd, torch.tensor([1.0, 1.0, 1.0, 0.0]))
    tensor(0.1500)
    """
    if num_bins < 1:
        raise InputError(f"num_bins must be at least 1; got {num_bins}.")
    y = as_labels(ppd, y)
    confidence, label = class_probs(ppd).max(-1)
    surplus = (confidence - (label == y).to(confidence.dtype)).flatten()
    bins = (confidence.flatten() * num_bins).long().clamp(max=num_bins - 1)
    return surplus.new_zeros(num_bins).index_add(0, bins, surplus).abs().sum() / surplus.numel()
