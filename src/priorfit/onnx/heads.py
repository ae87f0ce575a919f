"""Heads as operations: from the network's numbers to the parameters of a distribution over the user's y."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import nn

from priorfit.distributions import UnboundedRiemann
from priorfit.errors import InputError
from priorfit.network.heads.classes import ClassLogits, OneLogit, TemperedLogits
from priorfit.network.heads.head import LOG_SCALE_RANGE
from priorfit.network.heads.mixture import MixtureOfNormals, OneNormal
from priorfit.network.heads.riemann import PlainBars, SmoothBars
from priorfit.onnx.graph import Graph, Value


@dataclass(frozen=True)
class Answer:
    """The outputs of a graph by name, how many numbers each has for a query, and what they mean."""

    outputs: Mapping[str, Value]
    sizes: Mapping[str, int]
    meaning: str


@dataclass(frozen=True)
class Units:
    """``y = shift + scale * network's y``: (batch, query, 1) each, or one number; for classes they are not used."""

    shift: Value
    scale: Value

    def to_user(self, graph: Graph, value: Value) -> Value:
        """Places of y in the user's units."""
        return graph("Add", self.shift, graph("Mul", self.scale, value))


@singledispatch
def answer(head: nn.Module, graph: Graph, parameters: Value, units: Units) -> Answer:
    """The outputs of a head."""
    raise InputError(f"{type(head).__name__} has no form in ONNX.")


@answer.register
def _(head: OneNormal, graph: Graph, parameters: Value, units: Units) -> Answer:
    location, log_scale = graph.part(parameters, 0, 1), graph.part(parameters, 1, 2)
    weights = graph("Mul", location, graph.constant(0.0))
    return _mixture(graph, (weights, location, log_scale), units, 1)


@answer.register
def _(head: MixtureOfNormals, graph: Graph, parameters: Value, units: Units) -> Answer:
    count = head.components
    logits, location, log_scale = (graph.part(parameters, k * count, (k + 1) * count) for k in range(3))
    return _mixture(graph, (graph("LogSoftmax", logits, axis=-1), location, log_scale), units, count)


def _mixture(graph: Graph, parts: tuple[Value, Value, Value], units: Units, count: int) -> Answer:
    weights, location, log_scale = parts
    scale = graph("Mul", units.scale, graph("Exp", bounded(graph, log_scale)))
    outputs = {"log_weights": weights, "loc": units.to_user(graph, location), "scale": scale}
    return Answer(outputs, dict.fromkeys(outputs, count), "a mixture of Normals: log weights, means, deviations")


def bounded(graph: Graph, log_scale: Value) -> Value:
    """A log scale within its bounds."""
    return graph("Clip", log_scale, *(graph.constant(bound) for bound in LOG_SCALE_RANGE))


@answer.register
def _(head: PlainBars, graph: Graph, parameters: Value, units: Units) -> Answer:
    return _bars(head, graph, parameters, units)


@answer.register
def _(head: SmoothBars, graph: Graph, parameters: Value, units: Units) -> Answer:
    count, borders = head.bars.num_parameters, head.bars.borders.detach()
    free, location, log_scale = (
        graph.part(parameters, *ends) for ends in ((0, count), (count, count + 1), (count + 1, count + 2))
    )
    off = graph("Sub", graph.constant((borders[1:] + borders[:-1]) / 2), location)
    standard = graph("Mul", off, graph("Exp", graph("Neg", bounded(graph, log_scale))))
    shape = graph("Mul", graph("Mul", standard, standard), graph.constant(-0.5))
    shape = graph("Max", shape, graph.constant(-60.0))
    widths = graph.constant(borders.diff().log())
    return _bars(head.bars, graph, graph("Add", graph("Add", free, shape), widths), units)


def _bars(bars: PlainBars, graph: Graph, logits: Value, units: Units) -> Answer:
    outputs = {"log_probs": graph("LogSoftmax", logits, axis=-1)}
    ends = graph("Mul", graph.part(logits, 0, 1), graph.constant(0.0))  # one set of borders for each query
    borders = graph("Add", ends, graph.constant(bars.borders))
    outputs["borders"] = units.to_user(graph, borders)
    tails = "the outer bars are half-normal tails" if bars.family is UnboundedRiemann else "there is nothing outside"
    sizes = {"log_probs": bars.num_parameters, "borders": bars.num_parameters + 1}
    return Answer(outputs, sizes, f"bars: their log probabilities and the borders between them; {tails}")


@answer.register
def _(head: ClassLogits, graph: Graph, parameters: Value, units: Units) -> Answer:
    return _classes(graph, parameters, head.num_parameters)


@answer.register
def _(head: TemperedLogits, graph: Graph, parameters: Value, units: Units) -> Answer:
    count = head.num_parameters - 1
    return _classes(graph, graph.part(parameters, 0, count), count)


@answer.register
def _(head: OneLogit, graph: Graph, parameters: Value, units: Units) -> Answer:
    zero = graph("Mul", parameters, graph.constant(torch.tensor(0.0)))
    return _classes(graph, graph("Concat", zero, parameters, axis=-1), 2)


def _classes(graph: Graph, logits: Value, count: int) -> Answer:
    outputs = {"log_probs": graph("LogSoftmax", logits, axis=-1)}
    return Answer(outputs, {"log_probs": count}, "log probabilities of the classes")
