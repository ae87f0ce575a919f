"""Attention over the context: the one place where tokens look at each other."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

QueryAttention = Literal["sink", "self"]
QueryScale = Literal["fixed", "log-n"]
Tokens = Float[Tensor, "batch tokens width"]
Heads = Float[Tensor, "batch heads tokens head_width"]


@dataclass(frozen=True)
class KeysValues:
    """What a layer keeps of the context: its keys and values, the sink's included."""

    keys: Float[Tensor, "batch heads memory head_width"]
    values: Float[Tensor, "batch heads memory head_width"]


@dataclass(frozen=True)
class AttentionForm:
    """What attention is made of, beyond its size; see `NetworkSettings`."""

    query_attention: QueryAttention = "sink"
    qk_norm: bool = False
    query_scale: QueryScale = "fixed"


class HeadNorm(nn.Module):
    """Each head's vectors at length sqrt(head width), times a learned gain: no product of two can run away."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(head_width))

    def forward(self, heads: Heads) -> Heads:
        """The normalised heads."""
        return functional.rms_norm(heads, self.gain.shape, self.gain)


class LogSizeScale(nn.Module):
    """Queries times 1 + s log(1 + n), with a learned s of each head: attention can stay sharp in long contexts."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(self, queries: Heads, num_context: int) -> Heads:
        """The scaled queries."""
        return queries * (1 + self.slope * math.log1p(num_context))


class Projections(nn.Module):
    """The four linear maps of attention, between tokens and heads."""

    def __init__(self, width: int, heads: int, form: AttentionForm) -> None:
        super().__init__()
        self.heads = heads
        self.query_norm, self.key_norm = (HeadNorm(width // heads) if form.qk_norm else nn.Identity() for _ in range(2))
        self.query_scale = LogSizeScale(heads) if form.query_scale == "log-n" else None
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.output.weight)  # a block starts as the identity

    def queries(self, tokens: Tokens, num_context: int) -> Heads:
        """What each token asks of a context of so many points."""
        queries = self.query_norm(split_heads(self.query(tokens), self.heads))
        return queries if self.query_scale is None else self.query_scale(queries, num_context)

    def keys_values(self, tokens: Tokens) -> KeysValues:
        """What each token offers."""
        keys, values = self.key_norm(split_heads(self.key(tokens), self.heads)), self.value(tokens)
        return KeysValues(keys, split_heads(values, self.heads))

    def join(self, attended: Heads) -> Tokens:
        """The heads' answers as tokens."""
        return self.output(attended.transpose(1, 2).flatten(2))


class ContextAttention(nn.Module):
    """Context and queries alike attend to the context, and to nothing else but a learned sink.

    Softmax over the context alone cannot count: the answer to a context and to the same context twice would be
    equal. The sink, one learned key and value for each head, takes a share that falls with the size of the
    context, so that the network knows n.
    """

    def __init__(self, width: int, heads: int, form: AttentionForm) -> None:
        super().__init__()
        self.projections = Projections(width, heads, form)
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
        self, tokens: Float[Tensor, "batch tokens width"], memory: KeysValues, num_context: int
    ) -> Float[Tensor, "batch tokens width"]:
        """Every token, of the context or not, looks at the memory."""
        queries = self.projections.queries(tokens, memory.keys.shape[2] - 1)
        attended = functional.scaled_dot_product_attention(queries, memory.keys, memory.values)
        return self.projections.join(attended)


class SelfKeyAttention(nn.Module):
    """As in the authors' code: a query attends to the context and to itself; there is no sink."""

    def __init__(self, width: int, heads: int, form: AttentionForm) -> None:
        super().__init__()
        self.projections = Projections(width, heads, form)

    def keys_values(self, context: Float[Tensor, "batch context width"]) -> KeysValues:
        """Keys and values of the context."""
        return self.projections.keys_values(context)

    def forward(
        self, tokens: Float[Tensor, "batch tokens width"], memory: KeysValues, num_context: int
    ) -> Float[Tensor, "batch tokens width"]:
        """The first ``num_context`` tokens are context; the others are queries and see their own key as well."""
        queries = self.projections.queries(tokens, memory.keys.shape[2])
        own = self.projections.keys_values(tokens)
        queries = queries / math.sqrt(queries.shape[-1])
        own_scores = (queries * own.keys).sum(-1, keepdim=True)
        is_context = torch.arange(tokens.shape[1], device=tokens.device) < num_context
        own_scores = own_scores.masked_fill(is_context[:, None], -torch.inf)
        scores = torch.cat([queries @ memory.keys.transpose(2, 3), own_scores], dim=-1)
        weights = scores.softmax(-1)  # (batch, heads, tokens, context + 1)
        attended = weights[..., :-1] @ memory.values + weights[..., -1:] * own.values
        return self.projections.join(attended)


def split_heads(tokens: Tokens, heads: int) -> Heads:
    """The width cut into heads, which come before the tokens."""
    return tokens.unflatten(2, (heads, -1)).transpose(1, 2)


ATTENTIONS: dict[str, type[ContextAttention | SelfKeyAttention]] = {"sink": ContextAttention, "self": SelfKeyAttention}
