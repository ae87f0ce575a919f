"""The constraint that borders obey."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions.constraints import Constraint


class StrictlyIncreasing(Constraint):
    """Vectors of finite numbers, each larger than the one before.

    >>> increasing.check(torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]]))
    tensor([ True, False])
    """

    event_dim = 1

    def check(self, value: Float[Tensor, "*batch borders"]) -> Bool[Tensor, "*batch"]:
        """Whether each vector is finite and strictly increasing."""
        return (value.diff(dim=-1) > 0).all(-1) & torch.isfinite(value).all(-1)


increasing = StrictlyIncreasing()
