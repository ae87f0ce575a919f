"""Bars: the paper's Riemann distribution, plain or with a smooth shape below."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Outcome
from priorfit.distributions import BoundedRiemann, UnboundedRiemann, equal_mass_borders
from priorfit.network.heads.head import (
    LOG_SCALE_RANGE,
    Head,
    HeadSettings,
    LocationScaleHead,
    Parameters,
    TargetSample,
    require_reals,
)


@dataclass(frozen=True)
class RiemannHead(HeadSettings):
    """Bars of equal prior mass (the paper's Riemann distribution), by default with a learned smooth shape below.

    ``shape="smooth"`` adds the log density of one predicted Normal to the free logits of the bars, so that
    neighbouring bars share what they learn; ``"plain"`` is the paper's form. ``tails="half-normal"`` is the
    paper's unbounded form, ``"none"`` ends the support at the outermost borders.
    """

    num_buckets: int = 500
    shape: Literal["smooth", "plain"] = "smooth"
    tails: Literal["half-normal", "none"] = "half-normal"

    def build(self, outcome: Outcome, sample: TargetSample | None) -> Head:
        """See `HeadSettings.build`."""
        require_reals(self, outcome)
        if sample is None:
            borders = torch.linspace(-1.0, 1.0, self.num_buckets + 1)
        else:
            borders = equal_mass_borders(sample, self.num_buckets)
        family = UnboundedRiemann if self.tails == "half-normal" else BoundedRiemann
        bars = PlainBars(borders, family)
        return SmoothBars(bars) if self.shape == "smooth" else bars


class PlainBars(LocationScaleHead):
    """One free logit for each bar."""

    borders: Tensor

    def __init__(
        self, borders: Float[Tensor, " borders"], family: type[BoundedRiemann] | type[UnboundedRiemann]
    ) -> None:
        super().__init__()
        self.family = family
        self.num_parameters = len(borders) - 1
        self.register_buffer("borders", borders)

    def own(self, parameters: Parameters) -> Distribution:
        """See `LocationScaleHead.own`."""
        return self.family(self.borders, parameters, validate_args=False)


class SmoothBars(LocationScaleHead):
    """Free logits for the bars plus -(centre - mu)^2 / (2 sigma^2) + log width, with predicted mu and sigma."""

    def __init__(self, bars: PlainBars) -> None:
        super().__init__()
        self.bars = bars
        self.num_parameters = bars.num_parameters + 2

    def own(self, parameters: Parameters) -> Distribution:
        """See `LocationScaleHead.own`."""
        free, location, log_scale = parameters.split([self.bars.num_parameters, 1, 1], dim=-1)
        borders = self.bars.borders.to(parameters.dtype)
        centres, widths = (borders[1:] + borders[:-1]) / 2, borders.diff()
        standard = (centres - location) * torch.exp(-log_scale.clamp(*LOG_SCALE_RANGE))
        shape = (-0.5 * standard.square()).clamp_min(-60.0)  # beyond, the free logits alone decide
        return self.bars.own(free + shape + widths.log())
