"""Features that a network sees as the codes of levels: columns with few values, in order or without one."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from priorfit.data import Datasets
from priorfit.distributions.normal_tails import normal_cdf
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.architectures import Beta, Sampler, ScaledBeta, check_range
from priorfit.priors.inputs import NormalInputs
from priorfit.priors.wrappers import Wrapper, settle

HALF_WIDTH = 0.5
"""The cuts of a column are uniform within this many standard deviations of its mean, as in the authors' code."""


@dataclass(frozen=True)
class CategoricalFeatures(Wrapper):
    """Some features become categories for the network, while the function sees the numbers behind them.

    For each dataset, ``share`` of the columns are categorical: k cuts at random places divide the numbers of a column
    into k + 1 levels. The code of an ordinal level is its rank, and k is drawn from ``ordinal_cuts``; the codes of
    nominal levels are shuffled, and k is drawn from ``nominal_cuts``. Codes are shifted and scaled to the mean and the
    standard deviation of the inputs, by the exact moments of the levels, so that no statistic sees a query. Columns
    that are 0 throughout are those that `PaddedFeatures` does not use: put that wrapper outside. The defaults are those
    of the authors' code for small tables.

    >>> from priorfit.priors.bayesian_network import BayesianNetwork
    >>> tables = CategoricalFeatures(BayesianNetwork(num_features=3))
    >>> tables.sample(batch_size=4, num_points=10).x.shape
    torch.Size([4, 10, 3])
    """

    share: Sampler = Beta(0.5, 0.8)
    ordinal_share: float = 0.5
    nominal_cuts: Sampler = ScaledBeta(0.1, 2.0, maximum=10, minimum=1)
    ordinal_cuts: Sampler = ScaledBeta(0.1, 2.0, maximum=200, minimum=1)

    def __post_init__(self) -> None:
        """Check the fields, and take over what the inner prior says."""
        check_fields(self)
        check_range("share", self.share, 0, 1)
        check_range("nominal_cuts", self.nominal_cuts, 1, torch.inf)
        check_range("ordinal_cuts", self.ordinal_cuts, 1, torch.inf)
        if not 0 <= self.ordinal_share <= 1:
            raise InputError(f"ordinal_share must lie between 0 and 1; got {self.ordinal_share}.")
        settle(self)
        if self.mixture is None and not isinstance(self.inputs, NormalInputs):
            raise InputError(
                f"CategoricalFeatures needs a prior with NormalInputs; got {self.inputs}. Put it inside PaddedFeatures."
            )

    def wrapped(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Wrapper.wrapped`."""
        inner, inputs = self.prior.draw(x), self.inputs
        assert isinstance(inputs, NormalInputs)  # checked when it was made
        dataset, column = self._chosen(x).nonzero(as_tuple=True)
        seen = inner.x.clone()
        z = (seen[dataset, :, column] - inputs.mean) / inputs.scale  # (columns, points)
        seen[dataset, :, column] = inputs.mean + inputs.scale * self._coded(z)
        return Datasets(seen, inner.y, inner.conditional)

    def _chosen(self, x: Float[Tensor, "batch points features"]) -> Bool[Tensor, "batch features"]:
        """Which columns are categorical: a share of those in use, any of them equally likely."""
        used = (x != 0).any(-2)
        number = (self.share.sample(len(x)).to(x.device) * used.sum(-1)).round()
        order = torch.rand(used.shape, device=x.device) + ~used  # the columns in use come first, shuffled
        return order.argsort(-1).argsort(-1) < number[:, None]

    def _coded(self, z: Float[Tensor, "columns points"]) -> Float[Tensor, "columns points"]:
        """The codes of standard normal numbers, with mean 0 and variance 1."""
        if not len(z):
            return z
        is_ordinal = torch.rand(len(z), device=z.device) < self.ordinal_share
        ordinal, nominal = (each.sample(len(z)).to(z.device) for each in (self.ordinal_cuts, self.nominal_cuts))
        num_cuts = torch.where(is_ordinal, ordinal, nominal)[:, None]
        index = torch.arange(int(num_cuts.max()), device=z.device)
        places = HALF_WIDTH * (2 * torch.rand(len(z), len(index), dtype=z.dtype, device=z.device) - 1)
        cuts = torch.where(index < num_cuts, places, torch.inf).sort(-1).values
        codes = self._codes(is_ordinal, num_cuts, len(index) + 1).to(torch.float64)  # (columns, levels)
        below = torch.nn.functional.pad(normal_cdf(cuts.double()), (1, 1))
        below[:, -1] = 1.0
        mass = below.diff(dim=-1)
        codes = codes - (mass * codes).sum(-1, keepdim=True)
        deviation = (mass * codes.square()).sum(-1, keepdim=True).sqrt()
        level = torch.searchsorted(cuts, z.contiguous())
        return (codes / deviation).to(z.dtype).gather(-1, level)

    def _codes(
        self, is_ordinal: Bool[Tensor, " columns"], num_cuts: Float[Tensor, "columns 1"], num_levels: int
    ) -> Float[Tensor, "columns levels"]:
        """The code of each level: its rank, or that of a random number; levels that a column lacks come last."""
        rank = torch.arange(num_levels, device=num_cuts.device, dtype=num_cuts.dtype).expand(len(num_cuts), -1)
        shuffled = torch.where(rank <= num_cuts, torch.rand(rank.shape, device=rank.device), rank)
        return torch.where(is_ordinal[:, None], rank, shuffled.argsort(-1).argsort(-1).to(rank))
