"""The settings of a network: frozen, and the schema of a recipe's ``[network]``."""

from dataclasses import dataclass
from typing import Literal

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.attention import AttentionForm, QueryAttention, QueryScale
from priorfit.network.embedding import FourierEncoder, InputEncoder, LinearEncoder
from priorfit.network.heads import HeadSettings, default_head
from priorfit.network.latent_regression import LatentRegression
from priorfit.network.positions import Positions
from priorfit.network.problem import Problem
from priorfit.network.regression import Regression

MOST_FOURIER_FEATURES = 8
"""Beyond, random projections of the inputs tell the network little; it gets the inputs themselves."""


@dataclass(frozen=True)
class NetworkSettings:
    """Size and parts of a network. ``None`` for encoder or head: what fits the prior.

    ``target_scaling="context"`` shows the network targets in units of each context, and maps the density back.
    ``query_attention="self"`` is the paper's form: a query attends to itself instead of to a sink. ``qk_norm``
    normalises queries and keys. ``query_scale="log-n"`` lets attention grow sharper with log n. ``loops`` is how
    often the stack of layers is gone through, with the same weights. ``positions="sinusoidal"`` tells the points of a
    context apart by their order: the paper's ablation, no longer invariant. ``regression`` puts a
    `RegressionLayer` in front; with it, ``layers`` may be 0: no point looks at another but through the regression.
    """

    width: int = 64
    layers: int = 6
    heads: int = 4
    feedforward: int = 128
    encoder: InputEncoder | None = None
    head: HeadSettings | None = None
    query_attention: QueryAttention = "sink"
    target_scaling: Literal["prior", "context"] = "prior"
    qk_norm: bool = False
    query_scale: QueryScale = "fixed"
    loops: int = 1
    positions: Positions = "none"
    regression: Regression | LatentRegression | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.width, self.heads, self.feedforward, self.loops) < 1 or self.layers < 0:
            raise InputError(
                f"width, heads, feedforward and loops must be at least 1 and layers at least 0; got {self}."
            )
        if not self.layers and self.regression is None:
            raise InputError("a network of 0 layers reads its context by a regression alone; give it one, or layers.")
        if self.width % self.heads:
            raise InputError(f"width must be a multiple of heads; got width={self.width}, heads={self.heads}.")

    @property
    def attention(self) -> AttentionForm:
        """What the blocks are told of their attention."""
        return AttentionForm(self.query_attention, self.qk_norm, self.query_scale)

    def encoder_for(self, problem: Problem) -> InputEncoder:
        """The encoder named, or Fourier features where there are few inputs and their range is known."""
        if self.encoder is not None:
            return self.encoder
        is_fourier = problem.input_range is not None and problem.num_features <= MOST_FOURIER_FEATURES
        return FourierEncoder() if is_fourier else LinearEncoder()

    def head_for(self, problem: Problem) -> HeadSettings:
        """The head named, or the default of the outcome."""
        return self.head or default_head(problem.outcome)
