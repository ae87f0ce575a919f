"""Units of columns and targets: from the user's numbers to those that the network sees, and the way back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Distribution, Normal

from priorfit.data import Classes, Outcome
from priorfit.distributions import affine


@dataclass(frozen=True)
class Units:
    """``y = shift + scale * network's y``; one pair for all datasets, or one for each."""

    shift: Float[Tensor, "*units"]
    scale: Float[Tensor, "*units"]

    def to_model(self, y: Num[Tensor, "*batch points"]) -> Float[Tensor, "*batch points"]:
        """Targets in the network's units."""
        return (y - self.shift) / self.scale

    def law_to_model(self, law: Distribution) -> Distribution:
        """A Normal over targets in the network's units; its scale may be 0."""
        assert isinstance(law, Normal)  # the contract of `Batch.query_law` for real targets
        return Normal((law.loc - self.shift) / self.scale, law.scale / self.scale, validate_args=False)

    def to_user(self, ppd: Distribution) -> Distribution:
        """A distribution over the network's y as one over y."""
        return affine(ppd, self.scale, self.shift)

    def reshape(self, *batch_shape: int) -> "Units":
        """The same units for datasets arranged as ``batch_shape``."""
        if self.shift.ndim == 0:
            return self
        return Units(self.shift.reshape(*batch_shape, 1), self.scale.reshape(*batch_shape, 1))

    def after(self, inner: "Units") -> "Units":
        """These units of targets that ``inner`` is applied to next: ``y = shift + scale * (inner's y)``."""
        return Units(self.shift + self.scale * inner.shift.to(self.shift), self.scale * inner.scale.to(self.scale))

    @property
    def log_scale(self) -> Float[Tensor, "*units"]:
        """What a log density in the network's units loses on the way out."""
        return self.scale.log()


@dataclass(frozen=True)
class NoUnits:
    """Classes have no units: every map is the identity."""

    log_scale = 0.0

    def to_model(self, y: Num[Tensor, "*batch points"]) -> Num[Tensor, "*batch points"]:
        """See `Units.to_model`."""
        return y

    def law_to_model(self, target: Distribution) -> Distribution:
        """See `Units.law_to_model`."""
        return target

    def to_user(self, ppd: Distribution) -> Distribution:
        """See `Units.to_user`."""
        return ppd

    def reshape(self, *batch_shape: int) -> "NoUnits":
        """See `Units.reshape`."""
        return self


class TargetScaling(nn.Module, ABC):
    """Decides the units for given contexts. Its buffers hold the prior's own location and spread of y."""

    location: Tensor
    spread: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("location", torch.zeros(()))
        self.register_buffer("spread", torch.ones(()))

    @abstractmethod
    def forward(self, context_y: Num[Tensor, "batch context"]) -> Units | NoUnits:
        """The units of each dataset; they depend on the context alone."""

    def calibrate(self, y: Num[Tensor, "batch points"]) -> Num[Tensor, " sample"]:
        """Take location and spread from datasets of the prior; return their targets in the network's units."""
        sample = y.flatten()[: 2**24]  # torch.quantile takes no more
        low, middle, high = torch.quantile(sample, sample.new_tensor([0.1587, 0.5, 0.8413]))
        self.location.copy_(middle)
        self.spread.copy_((high - low) / 2 if high > low else sample.std())
        points = y.shape[1]
        return torch.cat([self(y[:, :n]).to_model(y[:, n:]).flatten() for n in {0, points // 8, points // 2}])


class PriorScaling(TargetScaling):
    """The same units for every dataset: those of the prior."""

    def forward(self, context_y: Float[Tensor, "batch context"]) -> Units:
        """See `TargetScaling.forward`."""
        return Units(self.location, self.spread)


class ContextScaling(TargetScaling):
    """Each dataset in units of its own context, with the prior's location and spread as one more observation."""

    def forward(self, context_y: Float[Tensor, "batch context"]) -> Units:
        """See `TargetScaling.forward`."""
        count = context_y.shape[1] + 1
        shift = (context_y.sum(1, keepdim=True) + self.location) / count
        squares = (context_y - shift).square().sum(1, keepdim=True) + self.spread.square()
        return Units(shift, (squares / count).sqrt())


class NoScaling(TargetScaling):
    """Classes are shown as they are."""

    def forward(self, context_y: Num[Tensor, "batch context"]) -> NoUnits:
        """See `TargetScaling.forward`."""
        return NoUnits()

    def calibrate(self, y: Num[Tensor, "batch points"]) -> Num[Tensor, " sample"]:
        """See `TargetScaling.calibrate`; there is nothing to take."""
        return y.flatten()


SCALINGS: dict[str, type[TargetScaling]] = {"prior": PriorScaling, "context": ContextScaling}


def scaling_for(outcome: Outcome, name: str) -> TargetScaling:
    """The scaling of real targets by its name in the settings; classes have none."""
    return NoScaling() if isinstance(outcome, Classes) else SCALINGS[name]()
