"""Whether the points of a dataset are exchangeable: each dataset beside itself with its points shuffled.

Where the order does not matter, a dataset and its shuffled form can change places, so the difference of any feature
is symmetric about 0, and independent between datasets.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.priors.checks.ranks import pooled_ranks, sign_z

LAGS = (1, 2, 3)


def order_z(x: Float[Tensor, "datasets points features"], y: Float[Tensor, "datasets points"]) -> dict[str, float]:
    """The largest z of each kind of dependence on the order, in words."""
    places = torch.rand(y.shape).argsort(-1)  # (datasets, points)
    shuffled_x = x.gather(1, places[..., None].expand(x.shape))
    y = pooled_ranks(y)
    here, there = _features(x, y), _features(shuffled_x, y.gather(1, places))
    return {kind: float(sign_z(here[kind] - there[kind]).abs().max()) for kind in here}


def input_order_z(x: Float[Tensor, "datasets points features"]) -> float:
    """The largest z of a trend in any feature of the inputs, or of one place that is unlike the others."""
    values = x.double().permute(2, 0, 1)  # (feature, datasets, points)
    return max(max(order_z(x[..., :0], feature)["mean"] for feature in values), 0.0)


def _features(
    x: Float[Tensor, "datasets points features"], y: Float[Tensor, "datasets points"]
) -> dict[str, Float[Tensor, "datasets feature"]]:
    centred = y - y.mean(-1, keepdim=True)
    lags = [lag for lag in LAGS if lag < y.shape[-1]]
    products = [(centred[:, lag:] * centred[:, :-lag]).mean(-1) for lag in lags]
    steps = [(centred[:, lag:] - centred[:, :-lag]).abs().mean(-1) for lag in lags]
    return {
        "mean": _by_place(y),
        "spread": _by_place(y.square()),
        "neighbours": torch.stack(products + steps, dim=-1),
        "inputs of other points": torch.stack([_association(x, centred, shift) for shift in (1, -1)], dim=-1),
    }


def _by_place(values: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets feature"]:
    """Each place, a trend along the places, and the alternation of odd and even ones."""
    count = values.shape[-1]
    trend = torch.linspace(-1, 1, count, dtype=values.dtype)
    alternation = 1 - 2 * (torch.arange(count) % 2).to(values.dtype)
    contrasts = torch.stack([trend, alternation], dim=-1) / count**0.5  # (points, 2)
    return torch.cat([values, values @ contrasts], dim=-1)


def _association(
    x: Float[Tensor, "datasets points features"], centred_y: Float[Tensor, "datasets points"], shift: int
) -> Float[Tensor, " datasets"]:
    """The squared correlation of the targets with the inputs of the next or the previous point."""
    if x.shape[-1] == 0:
        return centred_y.new_zeros(len(x))
    x = x.double() - x.double().mean(1, keepdim=True)
    products = (centred_y[..., None] * x.roll(shift, dims=1)).sum(1).square()  # (datasets, features)
    sizes = centred_y.square().sum(-1, keepdim=True) * x.square().sum(1)  # (datasets, features)
    return torch.where(sizes > 0, products / sizes, 0).mean(-1)
