"""Constraints on parameters. Unlike torch's own constraints on vectors, they accept empty batches."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions.constraints import Constraint


class _StrictlyIncreasing(Constraint):
    """Vectors of finite numbers, each larger than the one before.

    >>> increasing.check(torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]]))
    tensor([ True, False])
    """

    event_dim = 1

    def check(self, value: Float[Tensor, "*batch borders"]) -> Bool[Tensor, "*batch"]:
        """Whether each vector is finite and strictly increasing."""
        return (value.diff(dim=-1) > 0).all(-1) & torch.isfinite(value).all(-1)


class _VectorWithoutNaN(Constraint):
    """Vectors without NaN; infinities may be among them."""

    event_dim = 1

    def check(self, value: Float[Tensor, "*batch entries"]) -> Bool[Tensor, "*batch"]:
        """Whether no entry is NaN."""
        return (value == value).all(-1)


class _PositiveVector(Constraint):
    """Vectors of positive numbers."""

    event_dim = 1

    def check(self, value: Float[Tensor, "*batch entries"]) -> Bool[Tensor, "*batch"]:
        """Whether all entries are positive."""
        return (value > 0).all(-1)


increasing = _StrictlyIncreasing()
vector_without_nan = _VectorWithoutNaN()
positive_vector = _PositiveVector()
