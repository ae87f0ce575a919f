"""The settings of an attentive neural process: frozen, and the schema of a recipe's ``[network]``."""

from dataclasses import dataclass

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network import LinearEncoder
from priorfit.network.embedding import InputEncoder


@dataclass(frozen=True)
class NeuralProcessSettings:
    """Sizes of an `AttentiveNeuralProcess`; the defaults are those of Kim et al., one-dimensional regression.

    ``layers`` is the depth of each perceptron, ``self_attention`` the number of layers in which the context looks
    at itself, on both paths. ``num_latents`` is how many draws of the latent a prediction averages over.
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
