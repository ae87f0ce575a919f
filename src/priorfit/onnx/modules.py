"""Encoders and the transformer as operations of a graph; each function mirrors the forward pass of its module."""

import math
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.network.attention.attention import ContextAttention
from priorfit.network.attention.transformer import Block, Transformer
from priorfit.network.encoders.inputs import FourierLayer
from priorfit.network.encoders.polynomials import PolynomialLayer
from priorfit.network.encoders.targets import ClassEncoder, RealTargetEncoder
from priorfit.onnx.graph import DOUBLE, FLOAT, Graph, Value

Memory = tuple[Value, Value]
"""Keys and values of a layer, (batch, heads, memory, head width) each."""


def linear(
    graph: Graph, x: Value, weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"] | None
) -> Value:
    """A linear layer on the last axis."""
    product = graph("MatMul", x, graph.constant(weight.T))
    return product if bias is None else graph("Add", product, graph.constant(bias))


def gelu(graph: Graph, x: Value) -> Value:
    """x times the standard Normal cdf of x."""
    error = graph("Erf", graph("Mul", x, graph.constant(math.sqrt(0.5))))
    return graph("Mul", x, graph("Mul", graph("Add", error, graph.constant(1.0)), graph.constant(0.5)))


@singledispatch
def encoded(encoder: nn.Module, graph: Graph, x: Value) -> Value:
    """Tokens of inputs or targets."""
    raise InputError(f"{type(encoder).__name__} has no form in ONNX.")


@encoded.register
def _(encoder: nn.Linear, graph: Graph, x: Value) -> Value:
    return linear(graph, x, encoder.weight, encoder.bias)


def in_unit_range(graph: Graph, x: Value, input_range: tuple[float, float], dtype: torch.dtype) -> Value:
    """The range of inputs mapped to [-1, 1]."""
    low, high = input_range
    centred = graph("Sub", x, graph.constant((low + high) / 2, dtype))
    return graph("Div", centred, graph.constant((high - low) / 2, dtype))


@encoded.register
def _(encoder: FourierLayer, graph: Graph, x: Value) -> Value:
    unit = in_unit_range(graph, x, encoder.input_range, torch.float32)
    angles = graph("MatMul", unit, graph.constant(encoder.frequencies))
    waves = graph("Concat", graph("Sin", angles), graph("Cos", angles), unit, axis=-1)
    return linear(graph, waves, encoder.linear.weight, encoder.linear.bias)


@encoded.register
def _(encoder: PolynomialLayer, graph: Graph, x: Value) -> Value:
    def number(value: float) -> Value:
        return graph.constant(value, torch.float64)

    unit = in_unit_range(graph, graph.cast(x, DOUBLE), encoder.input_range, torch.float64)
    unit = graph("Clip", unit, number(-1.0), number(1.0))
    orders = [graph("Add", graph("Mul", unit, number(0.0)), number(1.0)), unit]
    for order in range(2, encoder.degree + 1):  # Bonnet's recursion
        ahead = graph("Mul", graph("Mul", unit, number(2.0 * order - 1)), orders[-1])
        behind = graph("Mul", orders[-2], number(order - 1.0))
        orders.append(graph("Div", graph("Sub", ahead, behind), number(float(order))))
    of_unit_square = [graph("Mul", orders[k], number(math.sqrt(2 * k + 1))) for k in range(encoder.degree + 1)]
    columns = [graph("Unsqueeze", each, graph.constant([3])) for each in of_unit_square]
    table = graph("Concat", *columns, axis=3)  # (batch, points, features, orders)
    product = graph.constant(encoder.scale, torch.float64)
    for feature, degrees in enumerate(encoder.degrees.T.tolist()):
        own = graph("Gather", table, graph.constant(torch.tensor(feature), torch.int64), axis=2)
        product = graph("Mul", product, graph("Gather", own, graph.constant(degrees), axis=2))
    return linear(graph, graph.cast(product, FLOAT), encoder.linear.weight, encoder.linear.bias)


@encoded.register
def _(encoder: RealTargetEncoder, graph: Graph, y: Value) -> Value:
    column = graph("Unsqueeze", y, graph.constant([2]))
    return linear(graph, column, encoder.linear.weight, encoder.linear.bias)


@encoded.register
def _(encoder: ClassEncoder, graph: Graph, y: Value) -> Value:
    return graph("Gather", graph.constant(encoder.table.weight), y, axis=0)


def normed(graph: Graph, norm: nn.LayerNorm, tokens: Value) -> Value:
    """Layer normalisation."""
    weight, bias = graph.constant(norm.weight), graph.constant(norm.bias)
    return graph("LayerNormalization", tokens, weight, bias, axis=-1, epsilon=norm.eps)


class Attention:
    """One layer's attention to the context and its sink."""

    def __init__(self, graph: Graph, attention: ContextAttention) -> None:
        self.graph, self.attention = graph, attention
        self.heads = attention.projections.heads
        self.width = attention.projections.query.in_features

    def _heads(self, tokens: Value, projection: nn.Linear) -> Value:
        split = self.graph.sized(linear(self.graph, tokens, projection.weight, None), 0, 0, self.heads, self._size)
        return self.graph("Transpose", split, perm=[0, 2, 1, 3])

    @property
    def _size(self) -> int:
        return self.width // self.heads

    def memory(self, context: Value, batch: Value) -> Memory:
        """Keys and values of normalised tokens, with the sink's behind them; ``batch`` is a shape to expand to."""
        graph, parts = self.graph, self.attention.projections

        def with_sink(values: Value, sink: Float[Tensor, "heads one size"]) -> Value:
            return graph("Concat", values, graph("Expand", graph.constant(sink[None]), batch), axis=2)

        return (
            with_sink(self._heads(context, parts.key), self.attention.sink_key),
            with_sink(self._heads(context, parts.value), self.attention.sink_value),
        )

    def __call__(self, tokens: Value, memory: Memory) -> Value:
        """What normalised tokens find in the memory."""
        graph, (keys, values) = self.graph, memory
        queries = self._heads(tokens, self.attention.projections.query)
        scores = graph("MatMul", queries, graph("Transpose", keys, perm=[0, 1, 3, 2]))
        shares = graph("Softmax", graph("Mul", scores, graph.constant(self._size**-0.5)), axis=-1)
        attended = graph("Transpose", graph("MatMul", shares, values), perm=[0, 2, 1, 3])
        return linear(graph, graph.sized(attended, 0, 0, self.width), self.attention.projections.output.weight, None)


def transformed(graph: Graph, transformer: Transformer, context: Value | None, queries: Value, batch: Value) -> Value:
    """The states of queries; no context is needed where there are no layers."""
    layers = transformer.layers()
    for block in layers:
        assert context is not None
        attention = Attention(graph, block.attention)
        normed_context = normed(graph, block.attention_norm, context)
        memory = attention.memory(normed_context, batch)
        queries = _passed(graph, block, queries, attention(normed(graph, block.attention_norm, queries), memory))
        if block is not layers[-1]:  # nobody reads the context after this
            context = _passed(graph, block, context, attention(normed_context, memory))
    return normed(graph, transformer.final_norm, queries)


def _passed(graph: Graph, block: Block, tokens: Value, attended: Value) -> Value:
    tokens = graph("Add", tokens, attended)
    inner = linear(graph, normed(graph, block.feedforward_norm, tokens), block.expand.weight, block.expand.bias)
    return graph("Add", tokens, linear(graph, gelu(graph, inner), block.contract.weight, block.contract.bias))
