"""What the metrics of classes need: labels that are classes of the distribution."""

from jaxtyping import Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.distributions.values import Values, as_values
from priorfit.errors import InputError


def is_of_classes(ppd: Distribution) -> bool:
    """Whether a distribution is one over classes."""
    return isinstance(ppd, Categorical)


def as_labels(ppd: Distribution, y: Values) -> Num[Tensor, "..."]:
    """Labels as a tensor that broadcasts with a distribution over classes; others than its classes are refused.

    >>> import torch
    >>> as_labels(Categorical(logits=torch.zeros(2, 3)), [0, 2])
    tensor([0., 2.])
    """
    probs = class_probs(ppd)
    labels = as_values(y, probs, ppd.batch_shape)
    count = probs.shape[-1]
    if not bool(((labels >= 0) & (labels < count) & (labels == labels.round())).all()):
        raise InputError(f"labels must be the classes 0 ... {count - 1} of the distribution; got others.")
    return labels
