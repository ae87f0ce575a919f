"""Priors that draw labels first, and then an input for each label."""

from abc import abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.data import Datasets
from priorfit.errors import InputError, ShapeError
from priorfit.priors.prior import Prior


class ClassConditional(Prior):
    """N-way tasks, p(y) p(x | y): the inputs, such as images, depend on the labels and are drawn by the prior itself.

    With ``num_shots=None`` the labels are independent and uniform, so that all points are exchangeable. With
    ``num_shots=K`` the first N K points hold each class K times, in random order, and the labels after them are
    independent and uniform: a K-shot task is ``sample(batch_size, N * K + num_queries).split(N * K)``. After a shorter
    context, labels could be inferred by counting.

    No targets can be drawn for given inputs. `draw` takes from ``x`` the shape, dtype and device, and returns inputs of
    its own; so no wrapper that changes inputs before the draw, such as `PaddedFeatures`, makes sense here.
    """

    draws_own_inputs = True

    num_ways: int
    """How many classes a dataset has."""

    num_shots: int | None
    """How many points of each class come first, or None."""

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`; each class comes equally often among the first points."""
        return self.num_shots is not None

    @abstractmethod
    def features(self, labels: Int[Tensor, "batch points"]) -> Float[Tensor, "batch points features"]:
        """Draw ``num_ways`` classes for each dataset, then one input for each label."""

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`; the inputs that it returns are its own."""
        if x.shape[-1] != self.num_features:
            raise ShapeError(f"x must have {self.num_features} features for this prior; got {x.shape[-1]}.")
        drawn = self.sample(*x.shape[:2])
        return Datasets(drawn.x.to(x), drawn.y.to(x))

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`; labels first, then inputs."""
        labels = self._labels(batch_size, num_points)
        x = self.features(labels)
        return Datasets(x, labels.to(x.dtype))

    def _labels(self, batch_size: int, num_points: int) -> Int[Tensor, "batch points"]:
        labels = torch.randint(self.num_ways, (batch_size, num_points))
        if self.num_shots is None:
            return labels
        order = torch.rand(batch_size, self.num_ways * self.num_shots).argsort(-1)  # (batch, first)
        return torch.cat([order % self.num_ways, labels], dim=-1)[:, :num_points]


def check_shots(num_shots: int | None) -> None:
    """Refuse a number of shots that no task has."""
    if num_shots is not None and num_shots < 1:
        raise InputError(f"num_shots must be at least 1, or None for labels without order; got {num_shots}.")
