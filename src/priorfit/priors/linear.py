"""Linear regression with known noise: its posterior is known in closed form."""

from dataclasses import dataclass
from math import isfinite, sqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from priorfit.data import Datasets, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.conditionals import FixedConditional
from priorfit.priors.inputs import Inputs, NormalInputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class LinearRegression(Prior):
    """y = w x + noise, with w ~ N(0, weight_scale^2 I) for each dataset; ``noise`` is a variance.

    >>> LinearRegression(num_features=3).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 1
    weight_scale: float = 1.0
    noise: float = 0.01
    inputs: Inputs = NormalInputs()

    outcome = Real()
    offers_expected = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if self.num_features < 1:
            raise InputError(f"num_features must be at least 1; got {self.num_features}.")
        if not (self.weight_scale > 0 and isfinite(self.weight_scale)):
            raise InputError(f"weight_scale must be positive and finite; got {self.weight_scale}.")
        if not (self.noise > 0 and isfinite(self.noise)):
            raise InputError(f"noise is a variance: positive and finite; got {self.noise}.")

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        weights = self.weight_scale * torch.randn_like(x[:, 0, :, None])  # (batch, features, 1)
        line = (x @ weights)[..., 0]  # (batch, points)
        law = Normal(line, torch.full_like(line, sqrt(self.noise)), validate_args=False)
        return Datasets(x, law.sample(), FixedConditional(law))
