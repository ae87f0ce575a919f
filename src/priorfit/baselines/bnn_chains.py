"""What a sampler is asked for, and what it gives for one dataset."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class ChainSettings:
    """The work of a sampler on one dataset."""

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
    """Spent before the clock of the time limit started; near 0 where an earlier dataset had the same shape."""
