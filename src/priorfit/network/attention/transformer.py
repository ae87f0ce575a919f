"""The transformer of the paper: no positions, pre-norm, and one memory a layer, made from the context alone."""

from collections.abc import Iterable
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from priorfit.network.attention.attention import ContextAttention, KeysValues


class Block(nn.Module):
    """Attention to the context, then a feed-forward layer, each on a normalised copy and added to the tokens."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = ContextAttention(width, heads)
        self.feedforward_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, feedforward)
        self.activation = nn.GELU()
        self.contract = nn.Linear(feedforward, width)
        nn.init.zeros_(self.contract.weight)
        nn.init.zeros_(self.contract.bias)

    def memory(self, normed_context: Float[Tensor, "batch context width"]) -> KeysValues:
        """The keys and values of a context whose tokens have been normalised by ``attention_norm``."""
        return self.attention.keys_values(normed_context)

    def forward(
        self,
        tokens: Float[Tensor, "batch tokens width"],
        normed: Float[Tensor, "batch tokens width"],
        memory: KeysValues,
        mask: Bool[Tensor, "tokens memory"] | None = None,
    ) -> Float[Tensor, "batch tokens width"]:
        """One layer; ``normed`` is ``attention_norm(tokens)``, which the memory was made from as well."""
        return self._fed(tokens + self.attention(normed, memory, mask))

    def each(
        self, tokens: Float[Tensor, "batch tokens width"], memory: KeysValues, own: list[KeysValues]
    ) -> Float[Tensor, "batch tokens width"]:
        """One layer for tokens of which each has some keys of its own."""
        return self._fed(tokens + self.attention.each(self.attention_norm(tokens), memory, own))

    def _fed(self, tokens: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        return tokens + self.contract(self.activation(self.expand(self.feedforward_norm(tokens))))


class Transformer(nn.Module):
    """A stack of blocks that can answer in one pass, or condition on a context and answer later."""

    def __init__(self, width: int, layers: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, feedforward) for _ in range(layers))
        self.final_norm = nn.LayerNorm(width)

    def layers(self) -> list[Block]:
        """The blocks in the order in which tokens pass them."""
        return cast(list[Block], list(self.blocks))

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        return [weight for weight in self.blocks.parameters() if weight.ndim == 2]

    def forward(
        self, tokens: Float[Tensor, "batch tokens width"], num_context: int
    ) -> Float[Tensor, "batch query width"]:
        """The states of the queries, which follow the ``num_context`` tokens of the context."""
        layers = self.layers()
        if not layers:
            tokens = tokens[:, num_context:]
        for block in layers:
            normed = block.attention_norm(tokens)
            memory = block.memory(normed[:, :num_context])
            if block is layers[-1]:  # nobody reads the context after this
                tokens, normed = tokens[:, num_context:], normed[:, num_context:]
            tokens = block(tokens, normed, memory)
        return self.final_norm(tokens)

    def forward_with(
        self,
        tokens: Float[Tensor, "batch tokens width"],
        num_context: int,
        num_known: int,
        seen: Bool[Tensor, "query known"] | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """As `forward`, with tokens of known latents between context and queries.

        They look at the context, as queries do, and queries look at both, or at those known latents that ``seen``
        names for each; the context does not see them.
        """
        if not num_known:
            return self(tokens, num_context)
        start, layers = num_context + num_known, self.layers()
        mask = None if seen is None else functional.pad(seen, (num_context + 1, 0), value=True)  # the sink is seen
        for block in layers:
            normed = block.attention_norm(tokens)
            memory = block.memory(normed[:, :num_context])
            offered = block.attention.projections.keys_values(normed[:, num_context:start])
            queries = block(tokens[:, start:], normed[:, start:], memory.joined(offered), mask)
            if block is layers[-1]:  # nobody reads the others after this
                return self.final_norm(queries)
            tokens = torch.cat([block(tokens[:, :start], normed[:, :start], memory), queries], dim=1)
        return self.final_norm(tokens[:, start:])

    def offered(self, tokens: Float[Tensor, "batch tokens width"], memories: list[KeysValues]) -> list[KeysValues]:
        """The keys and values of known latents in each layer, given those of the context."""
        found, layers = [], self.layers()
        for block, memory in zip(layers, memories, strict=True):
            normed = block.attention_norm(tokens)
            found.append(block.attention.projections.keys_values(normed))
            if len(found) < len(layers):
                tokens = block(tokens, normed, memory)
        return found

    def predict_each(
        self,
        queries: Float[Tensor, "batch query width"],
        memories: list[KeysValues],
        own: list[list[KeysValues]],
    ) -> Float[Tensor, "batch query width"]:
        """The states of queries of which each has its own known latents: in each layer, a list of their keys."""
        for block, memory, mine in zip(self.layers(), memories, own, strict=True):
            queries = block.each(queries, memory, mine)
        return self.final_norm(queries)

    def condition(self, context: Float[Tensor, "batch context width"]) -> list[KeysValues]:
        """What each layer keeps of a context."""
        memories, layers = [], self.layers()
        for block in layers:
            normed = block.attention_norm(context)
            memories.append(block.memory(normed))
            if len(memories) < len(layers):
                context = block(context, normed, memories[-1])
        return memories

    def predict(
        self, queries: Float[Tensor, "batch query width"], memories: list[KeysValues]
    ) -> Float[Tensor, "batch query width"]:
        """The states of queries against contexts that were conditioned on."""
        for block, memory in zip(self.layers(), memories, strict=True):
            queries = block(queries, block.attention_norm(queries), memory)
        return self.final_norm(queries)
