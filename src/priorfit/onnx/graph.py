"""A graph that grows by one operation at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from priorfit.extras import needs_extra

with needs_extra("onnx"):
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT, DOUBLE, LONG = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64

Value = str
"""The name of a tensor in the graph."""


class Graph:
    """Operations and weights; ``graph("MatMul", a, b)`` adds an operation and gives the name of its result."""

    def __init__(self, prefix: str = "") -> None:
        """Begin a graph; names inside of a loop need a prefix of their own."""
        self._prefix = prefix
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []
        self._kept: dict[tuple[bytes, str, tuple[int, ...]], Value] = {}
        self._count = 0

    def __call__(self, operation: str, *inputs: Value, **attributes: Any) -> Value:
        """Add an operation with one result."""
        name = self.name(operation.lower())
        self._nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def add(self, operation: str, inputs: Sequence[Value], outputs: Sequence[Value], **attributes: Any) -> None:
        """Add an operation with several results."""
        self._nodes.append(helper.make_node(operation, list(inputs), list(outputs), **attributes))

    def name(self, kind: str) -> Value:
        """A name that no other tensor has."""
        self._count += 1
        return f"{self._prefix}{kind}_{self._count}"

    def constant(
        self, values: Shaped[Tensor, "..."] | Sequence[int] | float, dtype: torch.dtype = torch.float32
    ) -> Value:
        """A tensor of weights, in float32 unless it says otherwise; whole numbers are shapes and axes, in int64."""
        if isinstance(values, Tensor):
            array = values.detach().to(dtype).cpu().contiguous().numpy()
        elif isinstance(values, float):
            array = torch.tensor(values, dtype=dtype).numpy()
        else:
            array = np.array(values, dtype=np.int64)
        key = (array.tobytes(), str(array.dtype), array.shape)
        if key not in self._kept:
            self._kept[key] = self.name("weight")
            self._weights.append(numpy_helper.from_array(array, self._kept[key]))
        return self._kept[key]

    def cast(self, value: Value, to: int) -> Value:
        """The same numbers in another type."""
        return self("Cast", value, to=to)

    def sized(self, value: Value, *shape: int) -> Value:
        """The same numbers in another shape; 0 keeps a dimension."""
        return self("Reshape", value, self.constant(list(shape)))

    def total(self, value: Value, axis: int) -> Value:
        """Sums over an axis, which is kept."""
        return self("ReduceSum", value, self.constant([axis]), keepdims=1)

    def part(self, value: Value, start: int, end: int) -> Value:
        """Some neighbouring numbers of the last axis."""
        return self("Slice", value, *(self.constant([each]) for each in (start, end, -1)))

    def output(self, value: Value, name: Value) -> None:
        """Call a result of the graph by a name for users."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def whole(self, name: str, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> GraphProto:
        """The graph with its inputs and outputs."""
        return helper.make_graph(self._nodes, name, inputs, outputs, self._weights)
