"""Functions of many kinds with noise of many kinds: the prior of a generalist, which other trainings start from."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.data import Datasets, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.function_kinds import KINDS, Values, log_uniform, normal, uniform
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.prior import Prior

SECOND = 0.4
"""Share of the datasets whose function is the sum or the product of two."""

STUDENT, BRANCHED, GROWING = 0.25, 0.15, 0.15
"""Shares of the datasets with heavy tails, with two branches, and with noise that grows with the function."""


@dataclass(frozen=True)
class ManyFunctions(Prior):
    """Functions of ten kinds over a random direction (or distance, with several features), alone or two together.

    Kinds are waves, sigmoids, jumps, kinks, polynomials, decays, bumps, smooth functions, networks and groups. Noise is
    Normal or Student's t, with a deviation between 0.01 and 0.5, the same everywhere or in proportion to the function;
    in some datasets an observation is of one of two functions, by chance.

    >>> ManyFunctions(num_features=2).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 1
    inputs: Inputs = UniformInputs()

    outcome = Real()

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if self.num_features < 1:
            raise InputError(f"ManyFunctions need at least one feature; got num_features={self.num_features}.")
        if self.inputs.range != (0.0, 1.0):
            raise InputError("ManyFunctions have inputs between 0 and 1; use UniformInputs(0.0, 1.0).")

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        mean = self.functions(x)
        other = torch.where(uniform(mean, 0.0, 1.0) < 0.5, -mean, self.functions(x))
        is_other = (torch.rand_like(mean) < uniform(mean, 0.1, 0.9)) & (uniform(mean, 0.0, 1.0) < BRANCHED)
        mean = torch.where(is_other, other, mean)
        growing = (uniform(mean, 0.0, 1.0) < GROWING).to(mean.dtype)
        scale = log_uniform(mean, 0.01, 0.5) * (1 - growing + growing * (0.1 + mean.abs()))
        shift, stretch = 0.5 * normal(mean, 1), log_uniform(mean, 0.5, 1.5)
        return Datasets(x, shift + stretch * (mean + scale * self._noise(mean)))

    def functions(self, x: Float[Tensor, "batch points features"]) -> Values:
        """One function for each dataset, without noise."""
        first, second = self._one(x), self._one(x)
        how = uniform(first, 0.0, 1.0)
        joined = torch.where(how < SECOND / 2, (first + second) * 0.5**0.5, first * second)
        return torch.where(how < SECOND, joined, first)

    def _one(self, x: Float[Tensor, "batch points features"]) -> Values:
        """A function of one kind for each dataset; all of a kind are drawn together."""
        kind = torch.randint(len(KINDS), (len(x),), device=x.device)
        place, found = self._places(x), torch.empty_like(x[..., 0])
        for number, function in enumerate(KINDS.values()):
            rows: Int[Tensor, " rows"] = (kind == number).nonzero()[:, 0]
            if len(rows):
                found[rows] = function(place[rows])
        return found

    def _places(self, x: Float[Tensor, "batch points features"]) -> Values:
        """A number between 0 and 1 for each input: along a direction, or the distance from a centre."""
        if self.num_features == 1:
            flipped = torch.rand(len(x), 1, device=x.device) < 0.5
            return torch.where(flipped, 1 - x[..., 0], x[..., 0])
        weight = normal(x[..., 0], self.num_features)
        along = ((x - 0.5) * (weight / weight.abs().sum(1, keepdim=True))[:, None]).sum(-1) + 0.5
        centre = torch.rand(len(x), 1, self.num_features, dtype=x.dtype, device=x.device)
        around = (x - centre).norm(dim=-1) / self.num_features**0.5
        return torch.where(torch.rand(len(x), 1, device=x.device) < 0.7, along, around)

    def _noise(self, like: Values) -> Values:
        """Noise of unit scale."""
        freedom = uniform(like, 2.5, 8.0)
        chi = torch.distributions.Chi2(freedom.expand_as(like)).sample()
        student = torch.randn_like(like) * (freedom / chi).sqrt()
        return torch.where(uniform(like, 0.0, 1.0) < STUDENT, student, torch.randn_like(like))
