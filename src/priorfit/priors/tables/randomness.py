"""Small draws that the mechanisms of tables share; all use torch's global generator."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Rows = Float[Tensor, "tables rows columns"]
Activation = Callable[[Rows], Rows]


def uniform(low: float, high: float) -> float:
    """One number, uniform between two."""
    return low + (high - low) * float(torch.rand(()))


def log_uniform(low: float, high: float) -> float:
    """One number whose logarithm is uniform."""
    return math.exp(uniform(math.log(low), math.log(high)))


def whole(low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, both included; small ones are as likely as large ones in logarithm."""
    return min(high, int(log_uniform(low, high + 1)))


def happens(probability: float) -> bool:
    """Whether a coin of this probability shows heads."""
    return float(torch.rand(())) < probability


def standard(values: Rows) -> Rows:
    """Each column of each table with mean 0 and standard deviation 1."""
    centred = values - values.mean(1, keepdim=True)
    return centred / (centred.square().mean(1, keepdim=True).sqrt() + 1e-6)


def step(values: Rows) -> Rows:
    """One above zero, and zero below."""
    return (values > 0).to(values.dtype)


def squared(values: Rows) -> Rows:
    """The square of values, which are cut at 3 first."""
    return values.clamp(-3.0, 3.0).square()


def bump(values: Rows) -> Rows:
    """A Gaussian bump around zero."""
    return torch.exp(-values.square())


def identity(values: Rows) -> Rows:
    """The values themselves."""
    return values


ACTIVATIONS: tuple[Activation, ...] = (
    torch.tanh,
    torch.relu,
    identity,
    torch.sin,
    torch.abs,
    squared,
    step,
    functional.softplus,
    bump,
)


def activated(values: Rows) -> Rows:
    """One to three activations, each on its share of the units."""
    parts = values.chunk(whole(1, 3), dim=-1)
    return torch.cat([ACTIVATIONS[int(torch.randint(len(ACTIVATIONS), ()))](part) for part in parts], dim=-1)


def relevances(tables: int, columns: int) -> Float[Tensor, "tables columns"]:
    """How much each column counts: some number of them much, the others little or nothing."""
    used = log_uniform(1, columns + 0.99)
    order = torch.rand(tables, columns).argsort(-1).argsort(-1)
    share = torch.sigmoid((used - order - 0.5) * 6 / max(used, 1.0))
    return share * torch.exp(0.7 * torch.randn(tables, columns))
