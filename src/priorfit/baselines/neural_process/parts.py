"""The parts of an attentive neural process: perceptrons, the two paths of the context, the decoder."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn import functional

if TYPE_CHECKING:
    from priorfit.baselines.neural_process.settings import NeuralProcessSettings

LATENT_SCALES = (0.1, 1.0)
"""The range of the latent's standard deviation, as in Kim et al."""


def perceptron(width_in: int, width: int, width_out: int, layers: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    widths = [width_in, *[width] * (layers - 1), width_out]
    linear = [nn.Linear(a, b) for a, b in zip(widths, widths[1:], strict=False)]
    return nn.Sequential(*[part for layer in linear for part in (layer, nn.ReLU())][:-1])


class Attention(nn.Module):
    """Multi-head attention with a residual connection to the queries."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(
        self,
        queries: Float[Tensor, "batch queries width"],
        keys: Float[Tensor, "batch keys width"],
        values: Float[Tensor, "batch keys width"],
    ) -> Float[Tensor, "batch queries width"]:
        """The queries plus the values that they attend to."""
        projected = self.query(queries), self.key(keys), self.value(values)
        heads = (tokens.unflatten(2, (self.heads, -1)).transpose(1, 2) for tokens in projected)
        attended = functional.scaled_dot_product_attention(*heads)  # (batch, heads, queries, head_width)
        return self.output(attended.transpose(1, 2).flatten(2))


class ContextEncoder(nn.Module):
    """Tokens of the pairs (x, y) after self-attention, and one learned token, so that attention always has a key."""

    def __init__(self, settings: "NeuralProcessSettings") -> None:
        super().__init__()
        width = settings.width
        self.pairs = perceptron(width, width, width, settings.layers)
        self.attentions = nn.ModuleList(Attention(width, settings.heads) for _ in range(settings.self_attention))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(settings.self_attention))
        self.empty = nn.Parameter(torch.zeros(1, 1, width))

    def forward(self, pairs: Float[Tensor, "batch pairs width"]) -> Float[Tensor, "batch pairs+1 width"]:
        """The tokens of the pairs, and the learned one behind them."""
        tokens = torch.cat([self.pairs(pairs), self.empty.expand(len(pairs), -1, -1)], dim=1)
        for attention, norm in zip(self.attentions, self.norms, strict=True):
            tokens = norm(tokens + attention(tokens, tokens, tokens))
        return tokens


class DeterministicPath(nn.Module):
    """Each query attends, by its x, to the tokens of the context."""

    def __init__(self, settings: "NeuralProcessSettings") -> None:
        super().__init__()
        width = settings.width
        self.encoder = ContextEncoder(settings)
        self.places = perceptron(width, width, width, settings.layers)
        self.empty_place = nn.Parameter(torch.zeros(1, 1, width))
        self.attention = Attention(width, settings.heads)

    def forward(
        self,
        inputs: Float[Tensor, "batch queries width"],
        context_inputs: Float[Tensor, "batch pairs width"],
        pairs: Float[Tensor, "batch pairs width"],
    ) -> Float[Tensor, "batch queries width"]:
        """The representation of the context for each query."""
        keys = torch.cat([self.places(context_inputs), self.empty_place.expand(len(pairs), -1, -1)], dim=1)
        return self.attention(self.places(inputs), keys, self.encoder(pairs))


class LatentPath(nn.Module):
    """The context as a distribution over one latent vector for the whole function."""

    def __init__(self, settings: "NeuralProcessSettings") -> None:
        super().__init__()
        self.encoder = ContextEncoder(settings)
        self.summary = perceptron(settings.width, settings.width, 2 * settings.width, 2)

    def forward(self, pairs: Float[Tensor, "batch pairs width"]) -> Normal:
        """The latent's distribution, of batch shape (batch, width)."""
        loc, raw = self.summary(self.encoder(pairs).mean(1)).chunk(2, dim=-1)
        low, high = LATENT_SCALES
        return Normal(loc, low + (high - low) * raw.sigmoid(), validate_args=False)
