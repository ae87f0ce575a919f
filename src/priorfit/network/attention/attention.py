"""Attention over the context: the one place where tokens look at each other."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

Tokens = Float[Tensor, "batch tokens width"]
Heads = Float[Tensor, "batch heads tokens head_width"]


@dataclass(frozen=True)
class KeysValues:
    """What a layer keeps of the context: its keys and values, the sink's included."""

    keys: Float[Tensor, "batch heads memory head_width"]
    values: Float[Tensor, "batch heads memory head_width"]

    def joined(self, other: "KeysValues") -> "KeysValues":
        """Both memories as one."""
        return KeysValues(torch.cat([self.keys, other.keys], dim=2), torch.cat([self.values, other.values], dim=2))


class Projections(nn.Module):
    """The four linear maps of attention, between tokens and heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.output.weight)  # a block starts as the identity

    def queries(self, tokens: Tokens) -> Heads:
        """The queries of the tokens, one for each attention head."""
        return split_heads(self.query(tokens), self.heads)

    def keys_values(self, tokens: Tokens) -> KeysValues:
        """The keys and values of the tokens, by which others attend to them."""
        return KeysValues(split_heads(self.key(tokens), self.heads), split_heads(self.value(tokens), self.heads))

    def join(self, attended: Heads) -> Tokens:
        """The heads' answers as tokens."""
        return self.output(attended.transpose(1, 2).flatten(2))


class ContextAttention(nn.Module):
    """Context and queries alike attend to the context, and to nothing else but a learned sink.

    Softmax over the context alone cannot count: the answer to a context and to the same context twice would be
    equal. The sink, one learned key and value for each head, takes a share that falls with the size of the
    context, so that the network knows n.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.projections = Projections(width, heads)
        self.sink_key = nn.Parameter(torch.zeros(heads, 1, width // heads))
        self.sink_value = nn.Parameter(torch.zeros(heads, 1, width // heads))

    def keys_values(self, context: Float[Tensor, "batch context width"]) -> KeysValues:
        """Keys and values of the context, with the sink's behind them."""
        memory, batch_size = self.projections.keys_values(context), context.shape[0]
        return KeysValues(
            torch.cat([memory.keys, self.sink_key.expand(batch_size, -1, -1, -1)], dim=2),
            torch.cat([memory.values, self.sink_value.expand(batch_size, -1, -1, -1)], dim=2),
        )

    def forward(
        self,
        tokens: Float[Tensor, "batch tokens width"],
        memory: KeysValues,
        mask: Bool[Tensor, "tokens memory"] | None = None,
    ) -> Float[Tensor, "batch tokens width"]:
        """Every token, of the context or not, looks at the memory; with a mask at what is marked for it."""
        queries = self.projections.queries(tokens)
        return self.projections.join(functional.scaled_dot_product_attention(queries, memory.keys, memory.values, mask))

    def each(
        self, tokens: Float[Tensor, "batch tokens width"], memory: KeysValues, own: list[KeysValues]
    ) -> Float[Tensor, "batch tokens width"]:
        """Every token looks at the memory, and each at its own keys: those of its place in every part of ``own``."""
        queries = self.projections.queries(tokens) / (tokens.shape[-1] // self.projections.heads) ** 0.5
        shared = queries @ memory.keys.mT  # (batch, heads, tokens, memory)
        theirs = torch.stack([(queries * part.keys).sum(-1) for part in own], dim=-1)  # (batch, heads, tokens, parts)
        weights = torch.cat([shared, theirs], dim=-1).softmax(-1)
        attended = weights[..., : shared.shape[-1]] @ memory.values
        for place, part in enumerate(own):
            attended = attended + weights[..., shared.shape[-1] + place, None] * part.values
        return self.projections.join(attended)


def split_heads(tokens: Tokens, heads: int) -> Heads:
    """The width cut into heads, which come before the tokens."""
    return tokens.unflatten(2, (heads, -1)).transpose(1, 2)
