"""An unbiased expected log density from one drawn y and the lattice of levels that contains it."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from priorfit.distributions.normal_tails import normal_cdf


def stratified_log_prob(
    ppd: Distribution, target: Normal, drawn: Float[Tensor, "*batch"], num_nodes: int = 8
) -> Float[Tensor, "*batch"]:
    """E[log ppd(y)] under a Normal by the lattice of equally likely levels that ``drawn``, one draw of it, lies on.

    The level of a draw is uniform, so each node follows the target and the mean over nodes has no bias, whatever
    the prediction; fixed nodes would reward one that collapses onto them. No randomness is added to the draw's.

    >>> target = Normal(torch.zeros(1000), 0.1)
    >>> estimate = stratified_log_prob(Normal(torch.zeros(1000), 0.1), target, target.sample())
    >>> bool((estimate.mean() + target.entropy().mean()).abs() < 0.01)
    True
    """
    tiny = torch.finfo(target.loc.dtype).tiny
    level = normal_cdf((drawn - target.loc) / target.scale.clamp_min(tiny))
    steps = torch.arange(num_nodes, dtype=level.dtype, device=level.device) / num_nodes
    levels = (level + steps.reshape(-1, *(1,) * level.ndim)) % 1.0  # (nodes, *batch)
    limit = torch.finfo(level.dtype).eps
    nodes = target.loc + target.scale * torch.special.ndtri(levels.clamp(limit, 1 - limit))
    return ppd.log_prob(nodes).mean(0)
