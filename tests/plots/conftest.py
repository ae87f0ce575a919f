from collections.abc import Iterator
from dataclasses import dataclass

import matplotlib
import pytest
import torch
from matplotlib import pyplot as plt
from torch import Tensor
from torch.distributions import Normal


@dataclass(frozen=True)
class Bump:
    """A predictor whose answer is known: Normal(shift + x, 1 + x) whatever the context."""

    shift: float = 0.0

    def condition(self, context_x: Tensor, context_y: Tensor) -> "Bump":
        return self

    def predict(self, query_x: Tensor) -> Normal:
        x = query_x[..., 0]
        return Normal(self.shift + x, 1 + x.abs())


class Ridge(Bump):
    """Another name for the legend."""


@pytest.fixture
def predictor() -> Bump:
    return Bump()


@pytest.fixture
def reference() -> Bump:
    return Ridge(shift=0.5)


@pytest.fixture
def context() -> tuple[Tensor, Tensor]:
    x = torch.tensor([[0.25], [0.5], [1.0]])
    return x, torch.tensor([0.3, -0.2, 1.1])


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    """Draw without a screen, and close what was drawn."""
    with matplotlib.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")
