"""Functions of a few heights: constant, one step, or an outlier."""

from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Datasets, Real
from priorfit.errors import InputError
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class Steps(Prior):
    """Piecewise constant along the first feature: one to ``most`` pieces, each of its own height from N(0, scale^2).

    The steps lie between points that are drawn at random, so a piece that holds one point is an outlier. It has no
    noise: it is meant for the contexts of `OtherContexts`, as what people set by hand.

    >>> Steps(most=2).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 1
    most: int = 3
    scale: float = 1.0
    inputs: Inputs = UniformInputs()

    outcome = Real()

    def __post_init__(self) -> None:
        """Check the fields."""
        if min(self.most, self.num_features) < 1:
            raise InputError(f"most and num_features must be at least 1; got {self.most} and {self.num_features}.")
        if not (self.scale > 0 and isfinite(self.scale)):
            raise InputError(f"scale must be positive and finite; got {self.scale}.")

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`; steps lie between the points of the dataset."""
        return True

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`."""
        batch_size, num_points, _ = x.shape
        rank = x[..., 0].argsort(-1).argsort(-1)  # (batch, points): how many points lie to the left
        starts = torch.randint(num_points + 1, (batch_size, self.most - 1))  # a piece that starts at the end is empty
        unused = torch.arange(self.most - 1) >= torch.randint(self.most, (batch_size, 1))
        starts = starts.masked_fill(unused, num_points).to(x.device)
        piece = (rank[..., None] >= starts[:, None]).sum(-1)  # (batch, points)
        heights = self.scale * torch.randn(batch_size, self.most).to(x)
        return Datasets(x, heights.gather(1, piece))
