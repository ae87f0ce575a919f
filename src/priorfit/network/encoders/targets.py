"""Encoders of targets."""

from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.data import Classes, Outcome


class RealTargetEncoder(nn.Module):
    """One linear layer from a real target, in units of the prior's own spread, to a token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, width)

    def forward(self, y: Float[Tensor, "batch points"]) -> Float[Tensor, "batch points width"]:
        """Tokens of targets."""
        return self.linear(y[..., None])


class ClassEncoder(nn.Module):
    """One learned token for each class."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(count, width)

    def forward(self, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points width"]:
        """Tokens of classes."""
        return self.table(y.long())


def target_encoder(outcome: Outcome, width: int) -> nn.Module:
    """The encoder of y that fits a prior's outcome."""
    return ClassEncoder(outcome.count, width) if isinstance(outcome, Classes) else RealTargetEncoder(width)
