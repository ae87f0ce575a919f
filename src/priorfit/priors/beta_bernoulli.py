"""Coins of unknown bias: the prior that tests whether a network can count."""

from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Beta, Categorical

from priorfit.data import Classes, Datasets
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.conditionals import FixedConditional
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class BetaBernoulli(Prior):
    """Labels of one probability p ~ Beta(alpha, beta) for each dataset, whatever the inputs.

    The posterior of the next label is (alpha + ones) / (alpha + beta + n): it needs the number of points.

    >>> BetaBernoulli(alpha=2.0, beta=1.0).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    alpha: float = 1.0
    beta: float = 1.0
    num_features: int = 1
    inputs: Inputs = UniformInputs()

    outcome = Classes(2)
    offers_expected = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if self.num_features < 1:
            raise InputError(f"num_features must be at least 1; got {self.num_features}.")
        for name in ("alpha", "beta"):
            if not (getattr(self, name) > 0 and isfinite(getattr(self, name))):
                raise InputError(f"{name} must be positive and finite; got {getattr(self, name)}.")

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        law = Beta(x.new_tensor(self.alpha), x.new_tensor(self.beta), validate_args=False)
        p = law.sample((len(x), 1)).expand(x.shape[:-1])  # (batch, points)
        y = (torch.rand_like(p) < p).to(x.dtype)  # (batch, points)
        return Datasets(x, y, FixedConditional(Categorical(torch.stack([1 - p, p], dim=-1), validate_args=False)))
