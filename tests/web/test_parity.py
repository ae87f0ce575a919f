import json
from pathlib import Path

import pytest
import torch
from web.fixtures import scrambled, write_fixture
from web.node import TOLERANCE, compared, needs_node, run_script

import priorfit as pf
from priorfit.data import Classes, Outcome, Real
from priorfit.network import (
    PFN,
    ClassSolver,
    Columns,
    FourierEncoder,
    Harmonics,
    LatentSolver,
    LinearSolver,
    NormalHead,
    PolynomialEncoder,
    Problem,
    RiemannHead,
)
from priorfit.network.encoders.inputs import NoEncoder
from priorfit.network.heads.classes import TemperedHead
from priorfit.network.latent_spaces import LatentSpace
from priorfit.zoo import catalogue, names

pytestmark = needs_node

SMALL = {"width": 16, "layers": 2, "attention_heads": 2, "feedforward": 24}
UNIT = (0.0, 1.0)


def network(
    outcome: Outcome, num_features: int = 1, input_range: tuple[float, float] | None = UNIT, **settings: object
) -> PFN:
    problem = Problem(num_features, outcome, input_range)
    sample = torch.randn(200, 20, generator=torch.Generator().manual_seed(0))
    targets = sample if isinstance(outcome, Real) else (sample > 0).float()
    return PFN(pf.NetworkSettings(**{**SMALL, **settings}), problem, target_sample=targets)  # pyright: ignore


NETWORKS = {
    "plain transformer": lambda: network(Real()),
    "one Normal, linear encoder": lambda: network(Real(), input_range=None, output=NormalHead()),
    "smooth bars": lambda: network(Real(), output=RiemannHead(num_buckets=40)),
    "plain bars": lambda: network(Real(), output=RiemannHead(num_buckets=30, shape="plain", tails="none")),
    "positions, units of the context": lambda: network(Real(), positions="sinusoidal", target_scaling="context"),
    "polynomials": lambda: network(Real(), 2, encoder=PolynomialEncoder(degree=3), solver=LinearSolver(12, 2, 0)),
    "bars on a solver": lambda: network(Real(), output=RiemannHead(num_buckets=40), solver=LinearSolver(12, 3, 8)),
    "latents": lambda: network(Real(), solver=LatentSolver(Harmonics(order=6), latents=3, anchors=5, nodes=4)),
    "latents of two features, no layers": lambda: network(Real(), 2, solver=LatentSolver(Harmonics(order=3)), layers=0),
    "two classes": lambda: network(Classes(2), 2, encoder=FourierEncoder(num_frequencies=6)),
    "two classes on a solver": lambda: network(Classes(2), 2, solver=LinearSolver(6, 2, 8)),
    "three classes": lambda: network(Classes(3), 2, input_range=None),
    "classes without inputs": lambda: network(Classes(3), 2, encoder=NoEncoder(), output=TemperedHead()),
    "tempered classes on a solver": lambda: network(Classes(3), 2, output=TemperedHead(), solver=ClassSolver(6, 2, 8)),
    "three classes on a solver": lambda: network(Classes(3), 2, solver=ClassSolver(6, 2, 8)),
}


LEFT_OUT = ('"TableSettings"', '"ClassRegression"', '"KernelSolver"')
OF_POINTS = [
    name
    for name in names()
    if not any(part in (catalogue.FOLDER / name / "config.json").read_text() for part in LEFT_OUT)
]
"""Released models but those of tables, of characters and of objectives, which the page refuses."""


@pytest.mark.parametrize("name", OF_POINTS)
def test_a_released_model_says_the_same_in_javascript(name: str, tmp_path: Path) -> None:
    pf.load(name).save(tmp_path / name, torch.float16)
    found = compared(tmp_path / name)
    assert max(found.values()) < TOLERANCE, found


@pytest.mark.parametrize("name", NETWORKS)
def test_each_kind_of_network_says_the_same_in_javascript(name: str, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        scrambled(NETWORKS[name]()).save(tmp_path / "model", torch.float16)
    found = compared(tmp_path / "model")
    assert len(found) > 7 and max(found.values()) < TOLERANCE, found


def test_latents_known_and_unknown_are_those_of_python(latents: PFN, tmp_path: Path) -> None:
    latents.save(tmp_path / "model", torch.float16)
    found = compared(tmp_path / "model")
    numbers = {"latent frequency 0", "latent decay 0", "latent kind 0", "latent bias 0", "latent bias 1"}
    assert numbers <= found.keys()
    assert max(found.values()) < TOLERANCE, found


def test_a_known_latent_changes_the_answer(latents: PFN) -> None:
    """The fixtures would show little if it did not."""
    x, y, query = torch.rand(5, 1), torch.zeros(5), torch.tensor([[0.5]])
    means = [latents.condition(x, y, **known).predict(query).mean for known in ({}, {"kind": 2, "decay": 0.3})]
    assert abs(float(means[0] - means[1])) > 1e-3


def test_latents_on_a_solver_are_those_of_python(tmp_path: Path) -> None:
    slope = LatentSpace("slope", 1, "real", (0.0,), (1.0,), (0.3,), (2.0,))
    debt = LatentSpace("debt", 1, "below", (1.5,), (1.0,), (-0.2,), (0.7,))
    settings = pf.NetworkSettings(**SMALL, solver=LinearSolver(12, 2, 8))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = PFN(settings, Problem(1, Real(), UNIT, latents=(slope, debt)))
        assert model.latent_parts is not None
        scrambled(model).save(tmp_path / "model", torch.float16)
    found = compared(tmp_path / "model")
    assert {"latent slope 0", "latent debt 0"} <= found.keys() and max(found.values()) < TOLERANCE


@pytest.mark.parametrize("columns", [Columns(), Columns(range=(-1.0, 2.0))])
def test_free_units_are_taken_from_the_context_as_in_python(columns: Columns, tmp_path: Path) -> None:
    problem = Problem(4, Real(), columns.range, min_features=1, units="free", columns=columns)
    settings = pf.NetworkSettings(**SMALL)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        scrambled(PFN(settings, problem)).save(tmp_path / "model", torch.float16)
    assert max(compared(tmp_path / "model").values()) < TOLERANCE


def test_a_released_folder_with_older_names_is_read_as_it_is() -> None:
    folder = catalogue.FOLDER / "gp-rbf-1d-short"
    assert "heads" in json.loads((folder / "config.json").read_text())["network"]
    assert run_script("loads.mjs", folder) == {"loaded": True}


def test_a_fixture_of_other_weights_is_stale(tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("other", 1)):
        scrambled(network(Real()), seed).save(tmp_path / name, torch.float16)
    (found,) = run_script("parity.mjs", tmp_path / "other", write_fixture(tmp_path / "one"))
    assert "fixture was written for weights of sha256" in found["stale"]
