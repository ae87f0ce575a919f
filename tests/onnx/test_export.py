"""Graphs in onnxruntime beside the networks that they were written from."""

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution
from web.fixtures import scrambled

import priorfit as pf
from priorfit.baselines.neural_process.settings import NeuralProcessSettings
from priorfit.cli.application import execute
from priorfit.data import Classes, Outcome, Real
from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann
from priorfit.errors import InputError, OutsideTrainingWarning
from priorfit.network import (
    PFN,
    CellSolver,
    ClassSolver,
    Columns,
    Harmonics,
    LatentSolver,
    LinearSolver,
    Model,
    NormalHead,
    PolynomialEncoder,
    Problem,
    RiemannHead,
    TableSettings,
)
from priorfit.network.heads.classes import TemperedHead
from priorfit.onnx import export_onnx

SIZES = [(1, 0, 3), (3, 7, 5), (1, 60, 150)]
"""Batch, context, query."""
SMALL = {"width": 16, "layers": 2, "attention_heads": 2, "feedforward": 24}
UNIT = (0.0, 1.0)


def network(
    outcome: Outcome, num_features: int = 1, input_range: tuple[float, float] | None = UNIT, **settings: object
) -> PFN:
    sample = torch.randn(200, 20, generator=torch.Generator().manual_seed(0))
    targets = sample if isinstance(outcome, Real) else (sample > 0).float()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = pf.NetworkSettings(**{**SMALL, **settings}).build(  # pyright: ignore
            Problem(num_features, outcome, input_range), None, targets
        )
    return scrambled(made).frozen()


PLAIN = {
    "a mixture": lambda: network(Real()),
    "one Normal, linear encoder": lambda: network(Real(), 2, input_range=None, output=NormalHead()),
    "smooth bars": lambda: network(Real(), output=RiemannHead(num_buckets=40)),
    "plain bars, units of the context": lambda: network(
        Real(), output=RiemannHead(num_buckets=30, shape="plain", tails="none"), target_scaling="context"
    ),
    "two classes": lambda: network(Classes(2), 2),
    "three classes": lambda: network(Classes(3), 2, input_range=None, output=TemperedHead()),
}
SOLVED = {
    "polynomials": lambda: network(Real(), 2, encoder=PolynomialEncoder(degree=3), solver=LinearSolver(12, 2, 0)),
    "bars on a solver": lambda: network(Real(), output=RiemannHead(num_buckets=40), solver=LinearSolver(12, 3, 8)),
    "no layers": lambda: network(Real(), solver=LinearSolver(12, 3, 8), layers=0, target_scaling="context"),
    "gp-rbf-1d-short": lambda: pf.load("gp-rbf-1d-short"),
}


def data(model: Model, size: tuple[int, int, int]) -> tuple[Tensor, Tensor, Tensor]:
    batch, context, query = size
    generator = torch.Generator().manual_seed(context)
    x, query_x = (torch.rand(batch, n, model.problem.num_features, generator=generator) for n in (context, query))
    if isinstance(model.problem.outcome, Classes):
        return x, torch.randint(model.problem.outcome.count, (batch, context), generator=generator), query_x
    return x, torch.sin(7 * x.sum(-1)), query_x


def asked(session: onnxruntime.InferenceSession, x: Tensor, y: Tensor, query_x: Tensor) -> dict[str, Tensor]:
    inputs = {"context_x": x.numpy(), "context_y": y.numpy(), "query_x": query_x.numpy()}
    names = [output.name for output in session.get_outputs()]
    return {
        name: torch.from_numpy(np.asarray(one)) for name, one in zip(names, session.run(names, inputs), strict=True)
    }


def opened(file: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options)


def distribution(model: Model, outputs: dict[str, Tensor]) -> Distribution:
    """What the outputs mean."""
    if isinstance(model.problem.outcome, Classes):
        return Categorical(logits=outputs["log_probs"])
    if "loc" in outputs:
        return NormalMixture(outputs["log_weights"], outputs["loc"], outputs["scale"])
    borders, logits = outputs["borders"], outputs["log_probs"]
    family = UnboundedRiemann if "half-normal" in meaning(model) else BoundedRiemann
    return family(borders, logits)


def meaning(model: Model) -> str:
    output = model.settings.output
    return output.tails if isinstance(output, RiemannHead) else ""


def difference(model: Model, session: onnxruntime.InferenceSession, size: tuple[int, int, int]) -> float:
    """The largest difference in log density, at y between the 2 % and the 98 % quantile."""
    x, y, query_x = data(model, size)
    outputs = asked(session, x, y, query_x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTrainingWarning)
        ppd = model.condition(x, y).predict(query_x)
    if isinstance(model.problem.outcome, Classes):
        values = torch.arange(query_x.shape[1]).expand(query_x.shape[:2]) % model.problem.outcome.count
    else:
        values = ppd.icdf(torch.linspace(0.02, 0.98, query_x.shape[1]).expand(query_x.shape[:2]))
    return float((distribution(model, outputs).log_prob(values) - ppd.log_prob(values)).abs().max())


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_transformer_says_the_same_at_every_size(name: str, tmp_path: Path) -> None:
    model = PLAIN[name]()
    export_onnx(model, tmp_path / "model.onnx")
    session = opened(tmp_path / "model.onnx")
    assert max(difference(model, session, size) for size in SIZES) < 2e-5


@pytest.mark.parametrize("name", SOLVED)
def test_a_linear_solver_is_unrolled_in_float64(name: str, tmp_path: Path) -> None:
    model = SOLVED[name]()
    export_onnx(model, tmp_path / "model.onnx")
    session = opened(tmp_path / "model.onnx")
    assert max(difference(model, session, size) for size in SIZES) < 1e-4


def test_the_sweeps_invert_as_cholesky_factors_do(tmp_path: Path) -> None:
    """A Gram matrix of condition 1e8 by the loop alone, beside torch's inverse."""
    from onnx import TensorProto, helper

    from priorfit.onnx.solver import sweep

    size = 20
    nodes = [helper.make_node("Loop", ["trips", "going", "matrix", "logs"], ["swept", "total"], body=sweep(size))]
    info = helper.make_tensor_value_info
    inputs = [info("trips", TensorProto.INT64, []), info("going", TensorProto.BOOL, [])]
    shapes = {"matrix": [1, 1, size, size], "logs": [1, 1]}
    inputs += [info(name, TensorProto.DOUBLE, shape) for name, shape in shapes.items()]
    outputs = [info("swept", TensorProto.DOUBLE, None), info("total", TensorProto.DOUBLE, None)]
    graph = helper.make_graph(nodes, "loop", inputs, outputs)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "loop.onnx"
    )
    factors = torch.randn(size, size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrix = factors @ torch.diag(torch.logspace(-4, 8, size, dtype=torch.float64)) @ factors.T + torch.eye(size)
    fed = {
        "trips": np.array(size),
        "going": np.array(True),
        "matrix": matrix[None, None].numpy(),
        "logs": np.zeros((1, 1)),
    }
    swept, total = opened(tmp_path / "loop.onnx").run(None, fed)
    assert float(total[0, 0]) == pytest.approx(float(torch.linalg.slogdet(matrix)[1]), abs=1e-6)
    assert -torch.from_numpy(swept[0, 0]) @ matrix == pytest.approx(torch.eye(size).numpy(), abs=1e-5)


def test_the_command_writes_a_graph_and_says_what_it_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "gp.onnx"
    assert execute(["export", "gp-rbf-1d-short", "--onnx", str(file)]) == 0
    assert "log_weights, loc, scale out (a mixture of Normals" in capsys.readouterr().out
    proto = onnx.load(file)
    assert {each.key: each.value for each in proto.metadata_props}["name"] == "gp-rbf-1d-short"
    axes = [dimension.dim_param or dimension.dim_value for dimension in proto.graph.input[0].type.tensor_type.shape.dim]
    assert axes == ["batch", "context", 1]


def test_the_command_wants_to_know_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["export", "gp-rbf-1d"]) == 2
    assert "--web FOLDER, --onnx FILE" in capsys.readouterr().err
    assert execute(["export", "gp-rbf-1d", "gp-rbf-5d", "--onnx", "x"]) == 2
    assert "holds one model; got 2" in capsys.readouterr().err


REFUSED = {
    "CellSolver chooses its cells by the data": lambda: network(Real(), solver=CellSolver(6, 2, rank=8)),
    "LatentSolver chooses its nodes": lambda: network(Real(), solver=LatentSolver(Harmonics(order=6))),
    "LinearSolver for classes is expectation propagation": lambda: network(Classes(2), 2, solver=LinearSolver(6, 2, 8)),
    "ClassSolver is expectation propagation": lambda: network(Classes(3), 2, solver=ClassSolver(6, 2, 8)),
    "sinusoidal positions": lambda: network(Real(), positions="sinusoidal"),
    "its units are free": lambda: PFN(
        pf.NetworkSettings(**SMALL), Problem(4, Real(), None, min_features=1, units="free", columns=Columns())
    ),
    "a TableNetwork": lambda: TableSettings().build(Problem(4, Classes(2))),
    "a .*NeuralProcess": lambda: NeuralProcessSettings().build(Problem(1, Real(), UNIT), None, torch.randn(20, 10)),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_form_in_onnx_is_said_at_export(why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"cannot export .*{why}"):
        export_onnx(REFUSED[why](), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
