"""The transformer of the paper: no positions, pre-norm, and one memory a layer, made from the context alone."""

from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from priorfit.network.attention import ATTENTIONS, AttentionForm, KeysValues


class Block(nn.Module):
    """Attention to the context, then a feed-forward layer, each on a normalised copy and added to the tokens."""

    def __init__(self, width: int, heads: int, feedforward: int, form: AttentionForm) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = ATTENTIONS[form.query_attention](width, heads, form)
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
        num_context: int,
    ) -> Float[Tensor, "batch tokens width"]:
        """One layer; ``normed`` is ``attention_norm(tokens)``, which the memory was made from as well."""
        tokens = tokens + self.attention(normed, memory, num_context)
        return tokens + self.contract(self.activation(self.expand(self.feedforward_norm(tokens))))


class Transformer(nn.Module):
    """A stack of blocks, gone through ``loops`` times, that can answer in one pass, or remember a context."""

    def __init__(
        self, width: int, layers: int, heads: int, feedforward: int, form: AttentionForm, loops: int = 1
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, feedforward, form) for _ in range(layers))
        self.final_norm = nn.LayerNorm(width)
        self.loops = loops

    def layers(self) -> list[Block]:
        """The blocks in the order in which tokens pass them; with loops, each comes several times."""
        return self.loops * cast(list[Block], list(self.blocks))

    def forward(
        self, tokens: Float[Tensor, "batch tokens width"], num_context: int
    ) -> Float[Tensor, "batch query width"]:
        """The states of the queries, which follow the ``num_context`` tokens of the context."""
        layers = self.layers()
        last = len(layers) - 1
        if not layers:
            tokens = tokens[:, num_context:]
        for layer, block in enumerate(layers):
            normed = block.attention_norm(tokens)
            memory = block.memory(normed[:, :num_context])
            if layer == last:  # nobody reads the context after this
                tokens, normed, num_context = tokens[:, num_context:], normed[:, num_context:], 0
            tokens = block(tokens, normed, memory, num_context)
        return self.final_norm(tokens)

    def remember(self, context: Float[Tensor, "batch context width"]) -> list[KeysValues]:
        """What each layer keeps of a context."""
        memories, layers = [], self.layers()
        for block in layers:
            normed = block.attention_norm(context)
            memories.append(block.memory(normed))
            if len(memories) < len(layers):
                context = block(context, normed, memories[-1], context.shape[1])
        return memories

    def answer(
        self, queries: Float[Tensor, "batch query width"], memories: list[KeysValues]
    ) -> Float[Tensor, "batch query width"]:
        """The states of queries against remembered contexts."""
        for block, memory in zip(self.layers(), memories, strict=True):
            queries = block(queries, block.attention_norm(queries), memory, 0)
        return self.final_norm(queries)
