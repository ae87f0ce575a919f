"""Nodes and weights of numerical integrals."""

from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions.normal_mixture import NormalMixture

NUM_LEVELS = 1024
NORMAL_REACH = 6.5
"""Standard deviations on either side of a Normal that its nodes cover; 1e-10 of its mass lies beyond."""


@singledispatch
def expectation_nodes(
    target: Distribution, num_nodes: int
) -> tuple[Float[Tensor, "nodes *batch"], Float[Tensor, "nodes *#batch"]]:
    """Points and weights with which sums replace expectations under a target.

    A Normal and each component of a NormalMixture get ``num_nodes`` nodes at equal distances: for a Normal weight that
    is as exact as Gauss-Hermite where the integrand is smooth, and ten times better where it has narrow peaks. Any
    other target gets, through its ``icdf``, the middles of 1024 levels of equal mass: good to a few digits.
    """
    levels = (torch.arange(NUM_LEVELS, dtype=target.mean.dtype, device=target.mean.device) + 0.5) / NUM_LEVELS
    points = target.icdf(levels[(...,) + (None,) * len(target.batch_shape)])
    return points, torch.full_like(points, 1 / NUM_LEVELS)


@expectation_nodes.register(Normal)
def _normal_nodes(
    target: Normal, num_nodes: int
) -> tuple[Float[Tensor, "nodes *batch"], Float[Tensor, "nodes *#batch"]]:
    nodes = torch.linspace(-NORMAL_REACH, NORMAL_REACH, num_nodes, dtype=target.loc.dtype, device=target.loc.device)
    nodes = nodes.reshape(-1, *(1,) * len(target.batch_shape))
    return target.loc + target.scale * nodes, (-(nodes**2) / 2).softmax(0)


@expectation_nodes.register(NormalMixture)
def _mixture_nodes(
    target: NormalMixture, num_nodes: int
) -> tuple[Float[Tensor, "nodes *batch"], Float[Tensor, "nodes *#batch"]]:
    points, weights = _normal_nodes(Normal(target.loc, target.scale, validate_args=False), num_nodes)
    points, weights = points.movedim(-1, 0), (weights * target.probs).movedim(-1, 0)  # (components, nodes, *batch)
    return points.flatten(0, 1), weights.flatten(0, 1)
