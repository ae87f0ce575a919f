"""The settings of a sampler, and its result for one dataset."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class ChainSettings:
    """How long a sampler runs on one dataset, and from which seed."""

    num_samples: int
    num_warmup: int
    num_chains: int
    seed: int
    time_limit: float | None


@dataclass(frozen=True)
class Chains:
    """The weights that a sampler visited after its warm-up."""

    samples: Float[Tensor, "chains samples weights"]
    num_divergences: int
    is_cut_short: bool
    """Whether the time limit came before all samples."""

    compile_seconds: float = 0.0
    """Seconds of compilation, outside of the time limit; near 0 where an earlier dataset had the same shape."""
