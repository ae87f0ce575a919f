"""The solve of a `LinearSolver` as operations of a graph, in float64.

ONNX has no Cholesky factor. The Gram matrix of the features plus the identity is positive definite with no eigenvalue
below 1, so it is inverted by sweeps, one a feature, none of which needs a pivot: sweep k subtracts the outer product of
row k over its diagonal element d, and sets the row and the column to row / d and the element to -1 / d. After all of
them the matrix is minus its inverse, and the log determinant is the sum of the logarithms of d.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.extras import needs_extra
from priorfit.network.solver.features import PACE, LearnedFeatures
from priorfit.network.solver.linear import RealRegression
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.tokens import GuessEncoder
from priorfit.onnx.graph import DOUBLE, FLOAT, Graph, Value
from priorfit.onnx.modules import encoded, gelu, linear

with needs_extra("onnx"):
    from onnx import GraphProto, TensorProto, helper

SQUASHED = 3.0
"""Standard deviations at which a surprise is tanh(1), as in `network/solver/solver.py`."""


@dataclass(frozen=True)
class Guess:
    """Location and scale (batch, points) in float64, and what tokens are told (batch, points, numbers) in float32."""

    location: Value
    scale: Value
    features: Value


@dataclass(frozen=True)
class Solved:
    """The posterior of each component's weights, its log evidence, and the guess at each point given the others."""

    covariance: Value
    weights: Value
    log_evidence: Value
    left_out: Guess


class SolverGraph:
    """A `RealRegression` as operations."""

    def __init__(self, graph: Graph, solver: RealRegression) -> None:
        self.graph, self.solver = graph, solver
        self.size = solver.features.slow_log_gain.shape[-1]
        self.log_noise = solver.log_noise.detach()  # (components, 1)

    def condition(self, x: Value, y: Value, batch: Value) -> Solved:
        """Solve for a context, whose y are in the network's units; ``batch`` is the shape (batch, 1, 1, 1)."""
        graph = self.graph
        phi = self._phi(x)  # (batch, components, points, features)
        targets = graph("Unsqueeze", graph.cast(y, DOUBLE), graph.constant([1]))
        values = graph("Mul", targets, self._number((-self.log_noise).exp()))  # (batch, components, points)
        # One more point of zeros changes nothing; of an empty context, onnxruntime's products would be anything.
        padded = self._padded(phi, self.size, batch)
        turned = graph("Transpose", padded, perm=[0, 1, 3, 2])
        gram = graph("Add", graph("MatMul", turned, padded), self._number(torch.eye(self.size)))
        covariance, log_determinant = self._inverse(gram)
        column = self._padded(graph("Unsqueeze", values, graph.constant([3])), 1, batch)
        moment = graph("MatMul", turned, column)
        weights = graph("MatMul", covariance, moment)  # (batch, components, features, 1)
        explained = self._summed(graph("Mul", moment, weights), [2, 3])
        squares = self._summed(graph("Mul", values, values), [2])
        evidence = self._half(graph("Sub", graph("Sub", explained, squares), log_determinant))
        noises = graph("Mul", self._count(targets), self._number(self.log_noise[:, 0]))  # in units of y
        evidence = graph("Sub", evidence, noises)
        mean, leverage = self._moments(phi, covariance, weights)
        rest = graph("Sub", self._number(1.0), leverage)
        left_mean = graph("Div", graph("Sub", mean, graph("Mul", leverage, values)), rest)
        left_out = self._guess(left_mean, graph("Div", leverage, rest), evidence)
        return Solved(covariance, weights, evidence, left_out)

    def predict(self, x: Value, solved: Solved) -> Guess:
        """The guess for queries."""
        return self._guess(*self._moments(self._phi(x), solved.covariance, solved.weights), solved.log_evidence)

    def _number(self, value: Float[Tensor, "..."] | float) -> Value:
        return self.graph.constant(value, torch.float64)

    def _padded(self, table: Value, width: int, batch: Value) -> Value:
        """A table (batch, components, points, width) with a point of zeros behind the others."""
        zeros = self._number(torch.zeros(1, self.solver.features.components, 1, width))
        return self.graph("Concat", table, self.graph("Expand", zeros, batch), axis=2)

    def _half(self, value: Value) -> Value:
        return self.graph("Mul", value, self._number(0.5))

    def _summed(self, value: Value, axes: list[int]) -> Value:
        return self.graph("ReduceSum", value, self.graph.constant(axes), keepdims=0)

    def _count(self, y: Value) -> Value:
        """The number of points of a context (batch, 1, points), as a float64."""
        shape = self.graph("Shape", y, start=2, end=3)
        return self.graph.cast(shape, DOUBLE)

    def _phi(self, x: Value) -> Value:
        graph, features = self.graph, self.solver.features
        made = _features(graph, features, encoded(features.encoder, graph, x))
        split = graph.sized(made, 0, 0, features.components, self.size)
        return graph.cast(graph("Transpose", split, perm=[0, 2, 1, 3]), DOUBLE)

    def _moments(self, phi: Value, covariance: Value, weights: Value) -> tuple[Value, Value]:
        """The posterior mean and variance of w . phi, (batch, components, points) each."""
        graph = self.graph
        mean = graph("Squeeze", graph("MatMul", phi, weights), graph.constant([3]))
        variance = self._summed(graph("Mul", graph("MatMul", phi, covariance), phi), [3])
        return mean, graph("Max", variance, self._number(0.0))

    def _guess(self, mean: Value, variance: Value, log_evidence: Value) -> Guess:
        """The Normal with the moments of the components' mixture, as `mixed` has it."""
        graph = self.graph
        log_scale = graph(
            "Add", self._half(graph("Log", graph("Add", variance, self._number(1.0)))), self._number(self.log_noise)
        )
        mean = graph("Mul", mean, self._number(self.log_noise.exp()))
        log_weights = graph("Unsqueeze", graph("LogSoftmax", log_evidence, axis=1), graph.constant([2]))
        weights = graph("Exp", log_weights)
        location = graph.total(graph("Mul", weights, mean), 1)  # (batch, 1, points)
        off = graph("Sub", mean, location)
        spread = graph("Add", graph("Exp", graph("Add", log_scale, log_scale)), graph("Mul", off, off))
        whole = self._half(graph("Log", graph.total(graph("Mul", weights, spread), 1)))
        told = graph("Div", graph("Max", log_weights, self._number(LEAST_LOG_WEIGHT)), self._number(TOKEN_SCALE))
        told = graph("Add", told, graph("Mul", mean, self._number(0.0)))  # one for each point
        standard = graph("Div", off, graph("Exp", whole))
        parts = graph("Concat", standard, graph("Sub", log_scale, whole), told, location, whole, axis=1)
        features = graph.cast(graph("Transpose", parts, perm=[0, 2, 1]), FLOAT)
        flat = [graph("Squeeze", each, graph.constant([1])) for each in (location, graph("Exp", whole))]
        return Guess(flat[0], flat[1], features)

    def _inverse(self, gram: Value) -> tuple[Value, Value]:
        """The inverse of matrices (batch, components, features, features), and their log determinants."""
        graph = self.graph
        swept, logs = graph.name("swept"), graph.name("logs")
        diagonal = graph("ReduceSum", graph("Mul", gram, self._number(0.0)), graph.constant([2, 3]), keepdims=0)
        trips, always = (
            graph.constant(torch.tensor(self.size), torch.int64),
            graph.constant(torch.tensor(True), torch.bool),
        )
        graph.add("Loop", [trips, always, gram, diagonal], [swept, logs], body=sweep(self.size))
        return graph("Neg", swept), logs


def _features(graph: Graph, features: LearnedFeatures, tokens: Value) -> Value:
    gain = (PACE * features.slow_log_gain.detach()).exp().flatten()
    if features.output is None:
        return graph("Mul", tokens, graph.constant(gain))
    weight, bias = gain[:, None] * features.output.weight.detach(), gain * features.output.bias.detach()
    return linear(graph, gelu(graph, tokens), weight, bias)


def told(graph: Graph, encoder: GuessEncoder, guess: Guess, y: Value | None) -> Value:
    """What tokens are told of a guess, and of how far a known y, in the network's units, lies off it."""
    weight, bias = encoder.linear.weight.detach(), encoder.linear.bias
    tokens = linear(graph, guess.features, weight[:, :-1], bias)
    if y is None:
        return tokens
    off = graph("Div", graph("Sub", graph.cast(y, DOUBLE), guess.location), guess.scale)
    surprise = graph("Tanh", graph.cast(graph("Div", off, graph.constant(SQUASHED, torch.float64)), FLOAT))
    column = graph("Unsqueeze", surprise, graph.constant([2]))
    return graph("Add", tokens, linear(graph, column, weight[:, -1:], None))


def sweep(size: int) -> GraphProto:
    """The body of the loop: sweep number k of matrices (batch, components, size, size)."""
    graph = Graph("sweep_")
    row = graph("Gather", "matrix", "k", axis=2)  # (batch, components, size)
    pivot = graph("Gather", row, "k", axis=2)  # (batch, components)
    over = graph("Unsqueeze", pivot, graph.constant([2]))
    share = graph("Div", row, over)
    across, down = (graph("Unsqueeze", share, graph.constant([axis])) for axis in (2, 3))
    outer = graph("Mul", graph("Unsqueeze", row, graph.constant([3])), across)
    rest = graph("Sub", "matrix", outer)
    is_own = graph("Equal", graph.constant(list(range(size))), "k")
    in_row, in_column = (graph("Unsqueeze", is_own, graph.constant([axis])) for axis in (1, 0))
    rest = graph("Where", in_row, across, graph("Where", in_column, down, rest))
    inverse = graph("Unsqueeze", graph("Neg", graph("Reciprocal", over)), graph.constant([3]))
    graph.output(graph("Where", graph("And", in_row, in_column), inverse, rest), "matrix_next")
    graph.output(graph("Add", "logs", graph("Log", pivot)), "logs_next")
    graph.output("going", "going_next")
    info = helper.make_tensor_value_info
    shapes = {"matrix": [None, None, size, size], "logs": [None, None]}
    inputs = [info("k", TensorProto.INT64, []), info("going", TensorProto.BOOL, [])]
    inputs += [info(name, TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
    outputs = [info("going_next", TensorProto.BOOL, [])]
    outputs += [info(f"{name}_next", TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
    return graph.whole("sweep", inputs, outputs)
