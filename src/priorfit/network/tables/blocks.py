"""Attention down a column, then across a row: how cells of a table look at each other."""

from collections.abc import Iterable
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from priorfit.network.attention.attention import Projections

Cells = Float[Tensor, "batch columns rows width"]


class CellAttention(Projections):
    """Attention between the cells of a set, a column or a row, which is a batch of its own."""

    def offered(self, tokens: Float[Tensor, "sets tokens width"]) -> tuple[Tensor, Tensor]:
        """Keys and values of tokens, by one product for both."""
        both = functional.linear(tokens, torch.cat([self.key.weight, self.value.weight]))
        keys, values = both.unflatten(2, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return keys, values

    def forward(
        self, tokens: Float[Tensor, "sets tokens width"], keys: Tensor, values: Tensor
    ) -> Float[Tensor, "sets tokens width"]:
        """Every token looks at the keys of its set."""
        return self.join(attend(self.queries(tokens), keys, values))


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Softmax attention; in the half precision of training by plain products, twice as fast as the fused kernel."""
    if not torch.is_autocast_enabled(queries.device.type):
        return functional.scaled_dot_product_attention(queries, keys, values)
    scores = torch.matmul(queries * queries.shape[-1] ** -0.5, keys.mT)
    return torch.matmul(torch.softmax(scores, dim=-1), values)


class CellBlock(nn.Module):
    """Attention down each column to the rows of the context, attention across each row, a feed-forward layer.

    ``sinks`` learned keys and values stand behind the rows of the context: they tell its size, which a softmax cannot.
    """

    def __init__(self, width: int, heads: int, feedforward: int, sinks: int) -> None:
        super().__init__()
        self.column_norm, self.row_norm, self.feedforward_norm = (nn.LayerNorm(width) for _ in range(3))
        self.down, self.across = CellAttention(width, heads), CellAttention(width, heads)
        self.sinks = nn.Parameter(0.3 * torch.randn(sinks, width))
        self.expand = nn.Linear(width, feedforward)
        self.contract = nn.Linear(feedforward, width)
        nn.init.zeros_(self.contract.weight)
        nn.init.zeros_(self.contract.bias)

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        maps = [module for module in self.modules() if isinstance(module, nn.Linear)]
        return [cast(nn.Parameter, module.weight) for module in maps]

    def memory(self, normed: Cells) -> tuple[Tensor, Tensor]:
        """Keys and values of each column of a context, and of the sinks."""
        flat = normed.flatten(0, 1)
        sinks = self.sinks.to(flat.dtype).expand(len(flat), -1, -1)
        return self.down.offered(torch.cat([flat, sinks], dim=1))

    def forward(self, cells: Cells, normed: Cells, memory: tuple[Tensor, Tensor]) -> Cells:
        """One layer; ``normed`` is ``column_norm(cells)``, which the memory was made from as well."""
        return self._after(self._down(cells, normed, memory), cells.shape[1])

    def answer(self, cells: Cells, normed: Cells, memory: tuple[Tensor, Tensor]) -> Float[Tensor, "batch 1 rows width"]:
        """The column of labels alone after this layer, the last one: nobody reads the others."""
        return self._after(self._down(cells, normed, memory), 1)

    def _down(self, cells: Cells, normed: Cells, memory: tuple[Tensor, Tensor]) -> Cells:
        return cells + self.down(normed.flatten(0, 1), *memory).unflatten(0, cells.shape[:2])

    def _after(self, cells: Cells, asked: int) -> Float[Tensor, "batch asked rows width"]:
        """Attention across rows and the feed-forward layer, for the first ``asked`` columns, which alone are read."""
        turned = self.row_norm(cells).transpose(1, 2).flatten(0, 1)  # (batch * rows, columns, width)
        looked = self.across(turned[:, :asked], *self.across.offered(turned))
        cells = cells[:, :asked] + looked.unflatten(0, (cells.shape[0], -1)).transpose(1, 2)
        return cells + self.contract(functional.gelu(self.expand(self.feedforward_norm(cells))))


class CellTransformer(nn.Module):
    """A stack of blocks over cells; the first column is that of the labels, whose states are the answer."""

    def __init__(self, width: int, layers: int, heads: int, feedforward: int, sinks: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(CellBlock(width, heads, feedforward, sinks) for _ in range(layers))
        self.final_norm = nn.LayerNorm(width)

    def layers(self) -> list[CellBlock]:
        """The blocks in the order in which cells pass them."""
        return cast(list[CellBlock], list(self.blocks))

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        return [weight for block in self.layers() for weight in block.matrices()]

    def forward(self, cells: Cells, num_context: int) -> Float[Tensor, "batch query width"]:
        """The states of the queries' rows, which follow ``num_context`` rows of the context."""
        layers = self.layers()
        for block in layers[:-1]:
            normed = block.column_norm(cells)
            cells = block(cells, normed, block.memory(normed[:, :, :num_context]))
        normed = layers[-1].column_norm(cells)
        memory = layers[-1].memory(normed[:, :, :num_context])
        cells, normed = cells[:, :, num_context:], normed[:, :, num_context:]  # nobody reads the context after this
        return self.final_norm(layers[-1].answer(cells, normed, memory)[:, 0])

    def condition(self, context: Cells) -> list[tuple[Tensor, Tensor]]:
        """What each layer keeps of a context."""
        memories, layers = [], self.layers()
        for block in layers:
            normed = block.column_norm(context)
            memories.append(block.memory(normed))
            if len(memories) < len(layers):
                context = block(context, normed, memories[-1])
        return memories

    def predict(self, queries: Cells, memories: list[tuple[Tensor, Tensor]]) -> Float[Tensor, "batch query width"]:
        """The states of queries against contexts that were conditioned on."""
        *layers, last = zip(self.layers(), memories, strict=True)
        for block, memory in layers:
            queries = block(queries, block.column_norm(queries), memory)
        block, memory = last
        return self.final_norm(block.answer(queries, block.column_norm(queries), memory)[:, 0])
