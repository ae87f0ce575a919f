"""The settings of a network: frozen, and the schema of a recipe's ``[network]``."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Num
from torch import Tensor

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.attention.positions import Positions
from priorfit.network.card import ModelCard
from priorfit.network.encoders.inputs import FourierEncoder, InputEncoder, LinearEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.head import HeadSettings
from priorfit.network.model import ModelSettings
from priorfit.network.pfn import PFN
from priorfit.network.problem import Problem
from priorfit.network.solver.solver import SolverSettings

MOST_FOURIER_FEATURES = 8
"""Beyond, random projections of the inputs tell the network little; it gets the inputs themselves."""


@dataclass(frozen=True)
class NetworkSettings(ModelSettings):
    """Size and parts of a network. ``None`` for encoder or output: what fits the problem.

    ``solver`` puts Bayesian inference in a learned family in front, which the network corrects; with it, ``layers``
    may be 0: no point looks at another but through the solver. ``target_scaling="context"`` shows the network targets
    in units of each context, and maps the density back. ``positions="sinusoidal"`` tells the points of a context apart
    by their order: the paper's ablation, no longer invariant.
    """

    width: int = 64
    layers: int = 6
    attention_heads: int = 4
    feedforward: int = 128
    encoder: InputEncoder | None = None
    output: HeadSettings | None = None
    target_scaling: Literal["prior", "context"] = "prior"
    positions: Positions = "none"
    solver: SolverSettings | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.width, self.attention_heads, self.feedforward) < 1 or self.layers < 0:
            raise InputError(
                f"width, attention_heads and feedforward must be at least 1 and layers at least 0; got {self}."
            )
        if not self.layers and self.solver is None:
            raise InputError("a network of 0 layers reads its context by a solver alone; give it one, or layers.")
        if self.width % self.attention_heads:
            raise InputError(
                "width must be a multiple of attention_heads; "
                f"got width={self.width}, attention_heads={self.attention_heads}."
            )

    def build(
        self,
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> PFN:
        """See `ModelSettings.build`."""
        return PFN(self, problem, card, target_sample)

    def encoder_for(self, problem: Problem) -> InputEncoder:
        """The encoder named, or Fourier features where there are few inputs and their range is known."""
        if self.encoder is not None:
            return self.encoder
        is_fourier = problem.input_range is not None and problem.num_features <= MOST_FOURIER_FEATURES
        return FourierEncoder() if is_fourier else LinearEncoder()

    def output_for(self, problem: Problem) -> HeadSettings:
        """The head named, or the default of the solver or the outcome."""
        if self.solver is not None:
            return self.solver.output_for(problem, self.output)
        return self.output or default_output(problem.outcome)
