"""Stationary kernels as functions of the scaled distance r = |x - x'| / lengthscale, each with k(0) = 1.

They are drawn from in every training step, where fresh memory costs more than arithmetic: hence the operations in
place. Each is safe for autograd, which copies what it needs.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor


def distances(
    a: Float[Tensor, "*batch rows features"], b: Float[Tensor, "*batch columns features"]
) -> Float[Tensor, "*batch rows columns"]:
    """Euclidean distances by subtraction: exact at 0, where the gradient is 0 and not NaN.

    The form |a|^2 + |b|^2 - 2ab would be off by 1e-8 between equal points, as much as a small noise.
    """
    if a.shape[-1] == 1:
        return (a - b.mT).abs_()  # the same, four times faster
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def rbf(r: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """exp(-r^2 / 2)."""
    return r.square().mul_(-0.5).exp_()


def matern12(r: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """exp(-r)."""
    return r.neg().exp_()


def matern32(r: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """(1 + s) exp(-s) with s = sqrt(3) r."""
    s = sqrt(3) * r
    return (1 + s).mul_(s.neg().exp_())


def matern52(r: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """(1 + s + s^2 / 3) exp(-s) with s = sqrt(5) r."""
    s = sqrt(5) * r
    return torch.addcmul(s, s, s, value=1 / 3).add_(1).mul_(s.neg().exp_())


KERNELS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {"rbf": rbf, "matern12": matern12, "matern32": matern32, "matern52": matern52}
)
"""Every kernel by the name that a recipe uses."""
