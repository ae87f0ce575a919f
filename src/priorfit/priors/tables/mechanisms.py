"""How targets follow from columns: one function for each kind of table."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.priors.tables.randomness import (
    Rows,
    activated,
    happens,
    log_uniform,
    relevances,
    standard,
    uniform,
    whole,
)

Outputs = Float[Tensor, "tables rows outputs"]
Shape = tuple[int, int, int]
"""Tables, rows, columns."""

ColumnSource = Callable[[Shape], Rows]
"""Draws the columns that a target is computed from; mechanisms that make their own do not ask for any."""


def causal_graph(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """Columns and targets are nodes of one random network that noise drives; columns may be effects of the target."""
    tables, rows, columns = shape
    width = whole(max(8, columns // 2 + 2), max(48, 2 * columns))
    gain, noise = log_uniform(0.5, 4.0), log_uniform(0.003, 0.5)
    causes = whole(1, 14)
    state = torch.randn(tables, rows, causes) * torch.exp(0.5 * torch.randn(tables, 1, causes))
    layers = []
    for _ in range(int(torch.randint(2, 6, ()))):
        fan_in = state.shape[-1]
        kept = torch.rand(tables, fan_in, width) > uniform(0.0, 0.8)
        weights = torch.randn(tables, fan_in, width) * kept * (gain / math.sqrt(fan_in))
        state = standard(activated(state @ weights + 0.5 * torch.randn(tables, 1, width)))
        state = state + noise * torch.rand(tables, 1, width) * torch.randn_like(state)
        layers.append(state)
    nodes = torch.cat(layers, dim=-1)
    if happens(0.5):  # the targets are among the last nodes
        targets, nodes = nodes[..., -outputs:], nodes[..., :-outputs]
    else:
        order = torch.rand(tables, nodes.shape[-1]).argsort(-1)
        targets, nodes = picked(nodes, order[:, :outputs]), picked(nodes, order[:, outputs:])
    chosen = torch.rand(tables, nodes.shape[-1]).argsort(-1)[:, :columns]
    x = picked(nodes, chosen)
    if x.shape[-1] < columns:
        x = torch.cat([x, torch.randn(tables, rows, columns - x.shape[-1])], dim=-1)
    return x, targets


def picked(
    nodes: Float[Tensor, "tables rows nodes"], chosen: Int[Tensor, "tables chosen"]
) -> Float[Tensor, "tables rows chosen"]:
    """The columns of each table that are named for it."""
    return torch.gather(nodes, 2, chosen[:, None].expand(-1, nodes.shape[1], -1))


def network(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """A random network of independent columns."""
    x = columns_of(shape)
    tables, _, columns = shape
    state, gain, width = x * relevances(tables, columns)[:, None], log_uniform(0.5, 4.0), whole(4, 64)
    for _ in range(int(torch.randint(1, 4, ()))):
        weights = torch.randn(tables, state.shape[-1], width) * (gain / math.sqrt(state.shape[-1]))
        state = activated(state @ weights + torch.randn(tables, 1, width))
    return x, state @ torch.randn(tables, width, outputs)


def smooth(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """A draw of a Gaussian process, by random features; heavy tails of frequencies make it rough."""
    x = columns_of(shape)
    tables, _, columns = shape
    count = 128
    frequencies = torch.randn(tables, columns, count) * relevances(tables, columns)[..., None] * log_uniform(0.1, 2.0)
    if happens(0.3):
        chi = torch.randn(tables, 1, count, 3).square().mean(-1)
        frequencies = frequencies / chi.sqrt()
    waves = torch.cos(x @ frequencies + 2 * math.pi * torch.rand(tables, 1, count))
    return x, waves @ torch.randn(tables, count, outputs)


def trees(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """A sum of oblivious trees, whose thresholds are values of the table."""
    x = columns_of(shape)
    tables, rows, columns = shape
    count, depth = whole(1, 64), int(torch.randint(1, 6, ()))
    chances = relevances(tables, columns) + 1e-4
    chosen = torch.multinomial(chances, count * depth, replacement=True)
    values = picked(x, chosen)
    thresholds = torch.gather(values, 1, torch.randint(rows, (tables, 1, count * depth)))
    bits = (values > thresholds).view(tables, rows, count, depth)
    leaves = (bits * (2 ** torch.arange(depth))).sum(-1)  # (tables, rows, trees)
    fading = torch.exp(-log_uniform(0.001, 0.1) * torch.arange(count))
    answers = torch.randn(outputs, tables, 2**depth, count) * fading
    looked = torch.gather(answers, 2, leaves.expand(outputs, -1, -1, -1))
    return x, looked.sum(-1).permute(1, 2, 0)


def additive(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """A sum of functions of one column each, often linear, with a few products of two columns."""
    x = columns_of(shape)
    tables, _, columns = shape
    weights = relevances(tables, columns)
    terms = x * weights[:, None]
    if happens(0.5):
        waves = torch.sin(x * log_uniform(0.5, 3.0) + torch.randn(tables, 1, columns))
        terms = torch.cat([terms, waves * weights[:, None]], dim=-1)
    if happens(0.4):
        pairs = torch.randint(columns, (tables, 2, whole(1, 8)))
        products = picked(x, pairs[:, 0]) * picked(x, pairs[:, 1])
        terms = torch.cat([terms, products * log_uniform(0.2, 2.0)], dim=-1)
    return x, terms @ torch.randn(tables, terms.shape[-1], outputs)


def prototypes(shape: Shape, outputs: int, columns_of: ColumnSource) -> tuple[Rows, Outputs]:
    """Rows gather around centres, whose outputs are their own: groups that differ in many columns at once."""
    tables, rows, columns = shape
    count = whole(2, 4 * outputs + 4)
    spread = log_uniform(0.3, 3.0)
    counts = relevances(tables, columns).clamp(max=3.0)
    centres = torch.randn(tables, count, columns) * counts[:, None] * spread
    factors = whole(1, columns)
    mixing = torch.randn(tables, factors, columns) / math.sqrt(factors)
    member = torch.multinomial(torch.exp(uniform(0.0, 0.8) * torch.randn(tables, count)), rows, replacement=True)
    around = torch.randn(tables, rows, factors) @ mixing + uniform(0.1, 1.0) * torch.randn(tables, rows, columns)
    x = torch.gather(centres, 1, member[..., None].expand(-1, -1, columns)) + around
    answers = torch.randn(tables, count, outputs)
    return standard(x), torch.gather(answers, 1, member[..., None].expand(-1, -1, outputs))


Mechanism = Callable[[Shape, int, ColumnSource], tuple[Rows, Outputs]]

MECHANISMS: dict[str, Mechanism] = {
    "causal_graph": causal_graph,
    "trees": trees,
    "smooth": smooth,
    "network": network,
    "additive": additive,
    "prototypes": prototypes,
}
