"""A network as an ONNX file: context and queries in, the parameters of each query's distribution out."""

import json
from pathlib import Path

import torch

from priorfit.checkpoint import write_atomically
from priorfit.data import Classes
from priorfit.description import describe
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.network import PFN, Model
from priorfit.network.solver.linear import RealRegression
from priorfit.network.units import ContextScaling
from priorfit.onnx.graph import FLOAT, LONG, Graph, Value
from priorfit.onnx.heads import Answer, Units, answer
from priorfit.onnx.modules import encoded, linear, transformed
from priorfit.onnx.solver import Guess, SolverGraph, told
from priorfit.paths import usable_path

with needs_extra("onnx"):
    from onnx import ModelProto, checker, helper

OPSET = 17
FORMAT = 8
"""The versions of the operations and of the file: those that onnxruntime reads since 1.12."""


def export_onnx(model: Model, file: str | Path) -> Answer:
    """Write a network as one ONNX file with dynamic batch, context and query; what cannot be written is refused.

    Inputs are ``context_x`` (batch, context, features), ``context_y`` (batch, context) and ``query_x`` (batch, query,
    features), all in the model's units; an empty context is the prior. Outputs are (batch, query, numbers): for reals
    ``log_weights``, ``loc`` and ``scale`` of a mixture of Normals, or ``log_probs`` and ``borders`` of bars; for
    classes ``log_probs``. Latents that the prior names are integrated out.
    """
    network = exportable(model)
    place = usable_path(file)
    proto, found = graph_of(network)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, proto.SerializeToString())
    return found


def exportable(model: Model) -> PFN:
    """The model, or an `InputError` that says what of it has no form in ONNX, and why."""
    if not isinstance(model, PFN):
        raise InputError(f"cannot export a {type(model).__name__} to ONNX: only networks of type PFN. {INSTEAD}")
    if model.problem.units == "free":
        raise InputError(
            "cannot export this model to ONNX: its units are free, and the graph does not take them from the context. "
            "Export model.in_model_units() by priorfit.onnx.export_onnx, and standardise the data as the model does."
        )
    if model.settings.positions != "none":
        raise InputError(f"cannot export this model to ONNX: it has {model.settings.positions} positions. {INSTEAD}")
    if model.solver is not None and not isinstance(model.solver, RealRegression):
        raise InputError(
            f"cannot export this model to ONNX: {why_not(type(model.settings.solver).__name__)}. {INSTEAD}"
        )
    return model


INSTEAD = "Use it in Python, or as a page by priorfit export --web."


def why_not(solver: str) -> str:
    """Why a solver has no form in ONNX."""
    reasons = {
        "LinearSolver": "its LinearSolver for classes is expectation propagation",
        "ClassSolver": "its ClassSolver is expectation propagation",
        "LatentSolver": "its LatentSolver chooses its nodes by the data, with Cholesky factors that ONNX does not have",
        "CellSolver": "its CellSolver chooses its cells by the data, with Cholesky factors that ONNX does not have",
        "StepSolver": "its StepSolver chooses its cells by the data",
    }
    return reasons.get(solver, f"its {solver} needs Cholesky factors that ONNX does not have")


def graph_of(model: PFN) -> tuple[ModelProto, Answer]:
    """The graph of a network, checked, and its outputs."""
    graph = Graph()
    try:
        found = _answered(model, graph)
    except InputError as error:
        raise InputError(f"cannot export this model to ONNX: {error} {INSTEAD}") from error
    for name, value in found.outputs.items():
        graph.output(value, name)
    features = model.problem.num_features
    kind = LONG if isinstance(model.problem.outcome, Classes) else FLOAT
    info = helper.make_tensor_value_info
    inputs = [
        info("context_x", FLOAT, ["batch", "context", features]),
        info("context_y", kind, ["batch", "context"]),
        info("query_x", FLOAT, ["batch", "query", features]),
    ]
    outputs = [info(name, FLOAT, ["batch", "query", size]) for name, size in found.sizes.items()]
    whole = graph.whole("priorfit", inputs, outputs)
    proto = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="priorfit")
    proto.ir_version = FORMAT
    about = {"name": model.card.name, "outputs": found.meaning, "problem": json.dumps(describe(model.problem))}
    helper.set_model_props(proto, about)
    checker.check_model(proto, full_check=True)
    return proto, found


@torch.no_grad()
def _answered(model: PFN, graph: Graph) -> Answer:
    y, units = _targets(model, graph)
    batch = graph("Concat", graph("Shape", "context_x", start=0, end=1), graph.constant([1, 1, 1]), axis=0)
    queries = encoded(model.input_encoder, graph, "query_x")
    context = None
    if model.settings.layers:
        context = graph(
            "Add", encoded(model.input_encoder, graph, "context_x"), encoded(model.target_encoder, graph, y)
        )
    guess: Guess | None = None
    if isinstance(model.solver, RealRegression):
        solver = SolverGraph(graph, model.solver)
        solved = solver.condition("context_x", y, batch)
        guess = solver.predict("query_x", solved)
        queries = graph("Add", queries, told(graph, model.guess_encoder, guess, None))
        if context is not None:
            context = graph("Add", context, told(graph, model.guess_encoder, solved.left_out, y))
    states = transformed(graph, model.transformer, context, queries, batch)
    parameters = linear(graph, states, model.decoder.weight, model.decoder.bias)
    return answer(model.head, graph, parameters, units if guess is None else _around(graph, units, guess))


def _targets(model: PFN, graph: Graph) -> tuple[Value, Units]:
    """The targets of the context in the network's units, and these units."""
    if isinstance(model.problem.outcome, Classes):
        return "context_y", Units("", "")
    location, spread = (graph.constant(each.reshape(1, 1)) for each in (model.scaling.location, model.scaling.spread))
    if isinstance(model.scaling, ContextScaling):
        count = graph("Add", graph.cast(graph("Shape", "context_y", start=1, end=2), FLOAT), graph.constant(1.0))
        mean = graph("Div", graph("Add", graph.total("context_y", 1), location), count)
        off = graph("Sub", "context_y", mean)
        squares = graph("Add", graph.total(graph("Mul", off, off), 1), graph("Mul", spread, spread))
        location, spread = mean, graph("Sqrt", graph("Div", squares, count))
    y = graph("Div", graph("Sub", "context_y", location), spread)
    wide = (graph("Unsqueeze", each, graph.constant([2])) for each in (location, spread))
    return y, Units(*wide)


def _around(graph: Graph, units: Units, guess: Guess) -> Units:
    """The units of a correction: the guess's location and scale, in the user's units."""
    location, scale = (
        graph("Unsqueeze", graph.cast(each, FLOAT), graph.constant([2])) for each in (guess.location, guess.scale)
    )
    return Units(units.to_user(graph, location), graph("Mul", units.scale, scale))
