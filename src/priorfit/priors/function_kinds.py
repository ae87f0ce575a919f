"""Random functions of one number between 0 and 1, a kind each; every dataset of a batch has a function of its own.

All are of about unit size. Together they are what `ManyFunctions` is made of.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from jaxtyping import Float
from torch import Tensor

Values = Float[Tensor, "batch points"]
Kind = Callable[[Values], Values]

FEATURES, HIDDEN, MOST_PIECES = 48, 16, 4
"""Random features of a smooth function, units of a network, and most jumps, kinks, waves and bumps of one function."""


def uniform(like: Values, low: float, high: float, count: int = 1) -> Float[Tensor, "batch count"]:
    """Uniform numbers, some for each dataset."""
    return low + (high - low) * torch.rand(len(like), count, dtype=like.dtype, device=like.device)


def log_uniform(like: Values, low: float, high: float, count: int = 1) -> Float[Tensor, "batch count"]:
    """Positive numbers whose logarithms are uniform."""
    low, high = torch.tensor([low, high]).log().tolist()
    return uniform(like, low, high, count).exp()


def normal(like: Values, *counts: int) -> Float[Tensor, "batch *counts"]:
    """Standard Normal numbers."""
    return torch.randn(len(like), *counts, dtype=like.dtype, device=like.device)


def in_use(like: Values) -> Float[Tensor, "batch pieces"]:
    """1 for the first few pieces of each dataset, at least one, and 0 for the others."""
    count = torch.randint(1, MOST_PIECES + 1, (len(like), 1), device=like.device)
    return (torch.arange(MOST_PIECES, device=like.device) < count).to(like.dtype)


def waves(t: Values) -> Values:
    """A few sines, which may fade."""
    used = in_use(t)
    frequency, phase = log_uniform(t, 1.0, 30.0, MOST_PIECES), uniform(t, 0.0, 6.2832, MOST_PIECES)
    decay = uniform(t, 0.0, 4.0) * (uniform(t, 0.0, 1.0) < 0.5)
    sines = torch.sin(frequency[:, None] * t[..., None] + phase[:, None])
    size = used * log_uniform(t, 0.3, 1.5, MOST_PIECES) / used.sum(1, keepdim=True).sqrt()
    return (size[:, None] * sines).sum(-1) * torch.exp(-decay * t)


def sigmoids(t: Values) -> Values:
    """A rise or a fall to a level, slow or sudden, or its sum with another one."""
    used = in_use(t)[:, ::2]
    rate = log_uniform(t, 2.0, 60.0, 2) * torch.where(uniform(t, -1.0, 1.0, 2) < 0, -1.0, 1.0)
    middle = uniform(t, -0.2, 1.2, 2)
    size = used * log_uniform(t, 0.4, 2.5, 2)
    return (size[:, None] * torch.sigmoid(rate[:, None] * (t[..., None] - middle[:, None]))).sum(-1)


def jumps(t: Values) -> Values:
    """Constant pieces."""
    places, heights = uniform(t, 0.0, 1.0, MOST_PIECES), in_use(t) * normal(t, MOST_PIECES)
    return normal(t, 1) + (heights[:, None] * (t[..., None] > places[:, None])).sum(-1)


def kinks(t: Values) -> Values:
    """A line that bends at a few places."""
    places, slopes = uniform(t, 0.0, 1.0, MOST_PIECES), 2.5 * in_use(t) * normal(t, MOST_PIECES)
    line = normal(t, 1) + 2 * normal(t, 1) * t
    return line + (slopes[:, None] * (t[..., None] - places[:, None]).clamp_min(0)).sum(-1)


def polynomials(t: Values) -> Values:
    """Polynomials up to the fourth degree, in the basis of Chebyshev."""
    angle = torch.arccos((2 * t - 1).clamp(-1, 1))
    basis = torch.cos(angle[..., None] * torch.arange(5, device=t.device))
    size = torch.tensor([1.0, 1.0, 0.7, 0.5, 0.3], dtype=t.dtype, device=t.device)
    return (basis * (size * normal(t, 5))[:, None]).sum(-1)


def decays(t: Values) -> Values:
    """An exponential decay, or a rise that is followed by one, as of a drug that is taken up."""
    slow, excess = log_uniform(t, 0.3, 8.0), log_uniform(t, 1.0, 40.0)
    rise = torch.exp(-slow * t) - torch.exp(-(slow + excess) * t)
    alone = uniform(t, 0.0, 1.0) < 0.4
    return log_uniform(t, 0.5, 2.5) * torch.where(alone, torch.exp(-slow * t), (1 + slow / excess) * rise)


def bumps(t: Values) -> Values:
    """A few bumps, such as the course of an epidemic."""
    place, width = uniform(t, -0.1, 1.1, MOST_PIECES), log_uniform(t, 0.03, 0.4, MOST_PIECES)
    size = in_use(t) * normal(t, MOST_PIECES) * 1.5
    return (size[:, None] / torch.cosh(((t[..., None] - place[:, None]) / width[:, None]).clamp(-40, 40))).sum(-1)


def smooth(t: Values) -> Values:
    """Draws of Gaussian processes, from very smooth to rough, by random features."""
    heavy = normal(t, FEATURES).square() + normal(t, FEATURES).square()  # of three degrees of freedom: Matern kernels
    rough = (uniform(t, 0.0, 1.0) < 0.4).to(t.dtype)
    frequency = normal(t, FEATURES) * torch.where(rough > 0, (2 / heavy.clamp_min(1e-3)).sqrt(), 1.0)
    angle = (frequency / log_uniform(t, 0.04, 2.0))[:, None] * t[..., None] + uniform(t, 0.0, 6.2832, FEATURES)[:, None]
    return (torch.cos(angle) * normal(t, FEATURES)[:, None]).sum(-1) * (2 / FEATURES) ** 0.5


def networks(t: Values) -> Values:
    """Networks of two hidden layers with tanh."""
    first = torch.tanh(
        log_uniform(t, 2.0, 20.0)[..., None] * (t[..., None] * 2 - 1) * normal(t, 1, HIDDEN) + normal(t, 1, HIDDEN) * 2
    )
    second = torch.tanh(first @ normal(t, HIDDEN, HIDDEN) / HIDDEN**0.5 * 2)
    return (second @ normal(t, HIDDEN, 1))[..., 0] / HIDDEN**0.5 * 1.5


def groups(t: Values) -> Values:
    """Cells of equal width, each with its own level around a common one."""
    most = 16
    count = torch.randint(2, most + 1, (len(t), 1), device=t.device)
    cell = (t.clamp(0, 1) * count).long().clamp_max(count - 1)
    levels = normal(t, 1) + log_uniform(t, 0.2, 1.5) * normal(t, most)
    return levels.gather(1, cell)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (waves, sigmoids, jumps, kinks, polynomials, decays, bumps, smooth, networks, groups)
    }
)
"""The kinds by their names."""
