"""The settings of an attentive neural process: frozen, and the schema of a recipe's ``[network]``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Num
from torch import Tensor

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network import LinearEncoder, ModelCard, ModelSettings, Problem
from priorfit.network.encoders.inputs import InputEncoder

if TYPE_CHECKING:
    from priorfit.baselines.neural_process.attentive_neural_process import AttentiveNeuralProcess


@dataclass(frozen=True)
class NeuralProcessSettings(ModelSettings):
    """Sizes of an `AttentiveNeuralProcess`; the defaults are those of Kim et al., one-dimensional regression.

    ``layers`` is the depth of each perceptron, ``self_attention`` the number of self-attention
    layers of the context, on both paths. ``num_latents`` is how many draws of the latent a prediction averages over.
    """

    width: int = 128
    layers: int = 3
    heads: int = 8
    self_attention: int = 2
    num_latents: int = 32
    encoder: InputEncoder = LinearEncoder()

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.width, self.layers, self.heads, self.num_latents) < 1 or self.self_attention < 0:
            raise InputError(f"width, layers, heads and num_latents must be at least 1; got {self}.")
        if self.width % self.heads:
            raise InputError(f"width must be a multiple of heads; got width={self.width}, heads={self.heads}.")

    def build(
        self,
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> "AttentiveNeuralProcess":
        """See `ModelSettings.build`."""
        from priorfit.baselines.neural_process.attentive_neural_process import (
            AttentiveNeuralProcess,  # late: few runs train one
        )

        return AttentiveNeuralProcess(self, problem, card, target_sample)
