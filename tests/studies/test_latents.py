import argparse
import bz2
import io
import math
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.distributions import Binomial

import priorfit as pf
from priorfit.baselines.exact.program_oracle import ProgramOracle
from priorfit.importance.adaptation import Effort
from priorfit.seeding import seeded

PEER = """
import json, sys
import numpy as np

request = json.loads(sys.stdin.readline())
given = np.load(request["simulations"])
assert given["theta"].shape == (200, 10) and request["prior"]["family"] == "normal" and request["epochs"] == 1
draws = np.repeat(given["observed"][:, None] / 2, request["draws"], axis=1)
np.save(request["answers"], draws)
print(json.dumps({"training_seconds": 1.5, "drawing_seconds": 0.1, "epochs": 1}))
"""


@pytest.fixture
def tasks() -> dict:
    from latents_data import MadeUp  # pyright: ignore[reportMissingImports]
    from latents_tasks import tasks  # pyright: ignore[reportMissingImports]

    return tasks(MadeUp().design())


@pytest.fixture
def simulators() -> ModuleType:
    import latents_simulators  # pyright: ignore[reportMissingImports]

    return latents_simulators


def test_indices_occur_once_before_any_occurs_again(simulators: ModuleType):
    with seeded(0):
        x = simulators.IndexInputs(5).sample(50, 12, 1)
    assert (x[:, :5, 0].sort(-1).values == torch.arange(5)).all()
    assert (x[:, 5:10, 0].sort(-1).values == torch.arange(5)).all()
    assert len(x[:, 0].unique()) == 5


@pytest.mark.parametrize("name", ["two_moons", "gaussian_linear", "bernoulli_glm", "sir", "lotka_volterra", "slcp"])
def test_simulations_keep_components_and_latents_together(tasks: dict, name: str):
    from latents_tasks import simulated  # pyright: ignore[reportMissingImports]

    task = tasks[name]
    with seeded(0):
        bank = simulated(task, 12, chunk=5)
        drawn = bank.sample(40, task.components + 1)
    assert bank.y.shape == (12, task.components) and bool(bank.y.isfinite().all())
    assert task.parameters(bank.values).shape == (12, task.num_parameters)
    latent = task.prior.latents[0].name
    rows = [int((bank.values[latent] == value).all(-1).nonzero()[0]) for value in drawn.latents[latent]]
    index = drawn.x[..., 0].long()
    assert torch.equal(drawn.y[:, :-1], bank.y[rows].gather(1, index[:, :-1]).to(drawn.y))
    others = bank.y[:, index[:, -1]].to(drawn.y)  # the last is asked about again, and of any simulation
    assert bool((others == drawn.y[:, -1]).any(0).all())
    if name != "bernoulli_glm":
        assert not torch.equal(drawn.y[:, -1], bank.y[rows].gather(1, index)[:, -1].to(drawn.y))


def test_a_root_of_a_count_has_the_probability_of_the_count(simulators: ModuleType):
    from latents_laws import RootCounts, observed_root  # pyright: ignore[reportMissingImports]

    law = RootCounts(20, torch.tensor([0.3], dtype=torch.float64))
    y = torch.linspace(1e-6, math.sqrt(21) - 1e-6, 200_001, dtype=torch.float64)
    density = law.log_prob(y).exp()
    assert float(torch.trapezoid(density, y)) == pytest.approx(1.0, abs=1e-4)
    within = (y.square() >= 6) & (y.square() < 7)
    mass = float(torch.trapezoid(density[within], y[within]))
    assert mass == pytest.approx(float(Binomial(20, torch.tensor(0.3)).log_prob(torch.tensor(6.0)).exp()), abs=1e-3)
    assert float(observed_root(torch.tensor(6.0)).square().floor()) == 6
    with seeded(0):
        counts = law.sample(torch.Size((4000,))).square().floor()
    assert float(counts.mean()) == pytest.approx(6.0, abs=0.2)


@pytest.mark.parametrize("total", [20, 1000])
def test_the_moments_of_a_root_are_those_of_its_density(total: int):
    from latents_laws import RootCounts  # pyright: ignore[reportMissingImports]

    with seeded(0):
        probs = torch.cat([torch.rand(40), torch.rand(40) / total, torch.tensor([0.0, 1.0])]).double()
    y = torch.linspace(1e-6, math.sqrt(total + 1) - 1e-6, 100_001, dtype=torch.float64)
    law = RootCounts(total, probs.clamp(1e-12, 1 - 1e-12)[:, None])
    density = law.log_prob(y).exp()
    density = density / torch.trapezoid(density, y)[:, None]  # the density jumps at every count
    mean = torch.trapezoid(density * y, y)
    variance = torch.trapezoid(density * (y - mean[:, None]).square(), y)
    torch.testing.assert_close(law.mean[:, 0], mean, rtol=1e-4, atol=2e-3)
    torch.testing.assert_close(law.variance[:, 0], variance, rtol=2e-2, atol=1e-4)


def test_an_epidemic_keeps_to_its_conserved_quantity_and_an_ecology_to_its_own(simulators: ModuleType):
    rates = [torch.tensor([[value]], dtype=torch.float64) for value in (0.7, 0.1, 0.9, 0.12)]
    state = simulators.populations(*rates)[0]
    prey, predators = state[:10], state[10:]
    birth, eaten, death, fed = (float(rate) for rate in rates)
    kept = fed * prey.exp() - death * prey + eaten * predators.exp() - birth * predators
    assert torch.allclose(kept, kept[:1], rtol=1e-6)
    infected = simulators.epidemic(torch.tensor([[0.4]]).double(), torch.tensor([[0.125]]).double())[0]
    early = (0.4 - 0.125) * 17  # while nearly all are susceptible, growth is exponential
    assert float((infected[1] / infected[0]).log()) == pytest.approx(early, rel=1e-3)
    assert 1e-3 < float(infected.max()) < 1 - 1 / 3.2 * (1 + math.log(3.2)) + 1e-6  # the peak of the epidemic


def test_four_correlated_points_have_the_covariance_of_their_latents(simulators: ModuleType):
    latents = {"mean": torch.tensor([[1.0, -1.0]]), "root": torch.tensor([[1.2, -0.8]]), "bond": torch.tensor([[0.9]])}
    x = torch.arange(8.0)[None, :, None].expand(40_000, -1, 1)
    with seeded(0):
        y = simulators.slcp.function(x, **{name: value.expand(40_000, -1) for name, value in latents.items()})
    found = torch.cov(y[:, 2:4].T)
    scale, correlation = torch.tensor([1.44, 0.64]), math.tanh(0.9)
    expected = torch.outer(scale, scale) * torch.tensor([[1.0, correlation], [correlation, 1.0]])
    assert torch.allclose(found, expected, rtol=0.05)
    assert float(torch.corrcoef(y[:, [0, 2]].T)[0, 1]) == pytest.approx(0.0, abs=0.02)


def test_points_of_two_moons_lie_on_a_half_circle(simulators: ModuleType):
    x = torch.arange(2.0)[None, :, None].expand(2000, -1, 1)
    with seeded(0):
        y = simulators.two_moons.function(x, theta=torch.tensor([[0.4, -0.7]]).expand(2000, -1))
    centre = torch.tensor([0.25 - abs(0.4 - 0.7) / 2**0.5, (-0.7 - 0.4) / 2**0.5])
    away = y - centre
    assert float(away.norm(dim=1).mean()) == pytest.approx(0.1, abs=0.002)
    assert float(away[:, 0].min()) > -0.001 and float(away[:, 1].abs().max()) > 0.09


def test_the_likelihood_of_spikes_is_that_of_a_logistic_regression(tasks: dict):
    from latents_data import MadeUp  # pyright: ignore[reportMissingImports]

    task = tasks["bernoulli_glm"]
    with seeded(0):
        white, y = torch.randn(3, 10), (torch.rand(3, 100) < 0.5).float()
    weights = task.parameters({"white": white})
    x = torch.arange(100.0)[None, :, None].expand(3, -1, 1)
    logits = weights @ MadeUp().design().double().T
    expected = (y * logits - torch.nn.functional.softplus(logits)).sum(1)
    assert torch.allclose(task.prior.log_likelihood(x, y, {"white": white}), expected, atol=1e-3)
    assert torch.allclose(task.shown(y), y @ MadeUp().design())
    covariance = task.mixing.double() @ task.mixing.double().T
    precision = torch.tensor(task.peer_prior["precision"], dtype=torch.float64)
    assert torch.allclose(covariance @ precision, torch.eye(10, dtype=torch.float64), atol=1e-4)


def test_the_truth_of_an_epidemic_is_the_posterior_by_quadrature(tasks: dict):
    task = tasks["sir"]
    counts = torch.tensor([0.0, 1.0, 352.0, 40.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    x = torch.arange(10.0)[:, None]
    effort = Effort(first=2_048, each=512, last=1_024, kernels=32)
    oracle = ProgramOracle(task.prior, tolerance=10.0, effort=effort, efforts=(1,))
    found = oracle.condition(x, task.read(counts)).latents["contact"].mean
    contact, recovery = torch.linspace(0.57, 0.69, 25), torch.linspace(0.11, 0.23, 25)
    grid = torch.cartesian_prod(contact, recovery)
    latents = {"contact": grid[:, :1], "recovery": grid[:, 1:]}
    many = x.expand(len(grid), -1, 1)
    each = task.prior.log_likelihood(many, task.read(counts).expand(len(grid), -1), latents)
    weights = (each + task.prior.latent_log_prob(latents)).softmax(0)
    assert float(found) == pytest.approx(float((weights * grid[:, 0]).sum()), abs=0.002)


def test_the_wheel_is_read_without_its_package(tmp_path: Path):
    from latents_data import WHEEL, benchmark_in  # pyright: ignore[reportMissingImports]

    design = io.BytesIO()
    torch.save(torch.eye(3, dtype=torch.float64), design)
    place = "sbibm/tasks/sir/files/num_observation_2"
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.writestr(f"{place}/observation.csv", "data_1,data_2\n1.0,2.5\n")
        wheel.writestr(f"{place}/true_parameters.csv", "$\\beta$,$\\gamma$\n0.5,0.25\n")
        wheel.writestr(f"{place}/reference_posterior_samples.csv.bz2", bz2.compress(b"a,b\n0.5,1\n0.75,2\n1,3\n"))
        wheel.writestr("sbibm/tasks/bernoulli_glm/files/design_matrix.pt", design.getvalue())
    benchmark = benchmark_in(tmp_path)
    assert benchmark.observation("sir", 2).tolist() == [1.0, 2.5]
    assert benchmark.parameters("sir", 2).tolist() == [0.5, 0.25]
    assert benchmark.reference("sir", 2).tolist() == [[0.5, 1.0], [0.75, 2.0], [1.0, 3.0]]
    assert torch.equal(benchmark.design(), torch.eye(3))


def test_c2st_is_a_half_for_draws_of_one_law_and_one_for_laws_apart():
    from latents_scores import c2st  # pyright: ignore[reportMissingImports]

    drawn = np.random.default_rng(0).normal(size=(3, 200, 2))
    assert c2st(drawn[0], drawn[1], most_epochs=10) == pytest.approx(0.5, abs=0.1)
    assert c2st(100 * drawn[0], 100 * drawn[2] + 600.0, most_epochs=15) > 0.9


def test_a_peer_gets_simulations_and_its_seconds_are_the_budget_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import latents  # pyright: ignore[reportMissingImports]
    import latents_methods  # pyright: ignore[reportMissingImports]
    import study  # pyright: ignore[reportMissingImports]

    (tmp_path / "worker.py").write_text(PEER, encoding="utf-8")
    monkeypatch.setattr(latents_methods, "WORKER", tmp_path / "worker.py")
    options = argparse.Namespace(
        sbi=Path(sys.executable), tasks=None, methods="NPE", simulations="200", observations=1, threads=1, seconds=None
    )
    setup = study.Setup(study.Rows(tmp_path / "rows.jsonl", 0), tmp_path / "models", quick=True, options=options)
    (row,) = latents.run(setup)
    assert row["method"] == "NPE" and 0 <= row["c2st"] <= 1 and row["epochs"] == 1
    assert row["seconds"] == pytest.approx(1.5, abs=0.5)
    assert "NPE" in latents.tell(latents.kept(setup))
    ((case, _, _),) = latents.cases(setup)
    assert case._seconds() == row["seconds"]
    assert case.answers("NPE").draws[0, 0] == pytest.approx(case.observed[0].numpy() / 2, abs=1e-6)


def test_a_budget_in_seconds_becomes_steps_and_as_many_simulations_as_they_use(
    tasks: dict, monkeypatch: pytest.MonkeyPatch
):
    import latents_methods  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(latents_methods, "TIMED", 2)
    task = tasks["gaussian_linear"]
    fixed, steps = latents_methods.planned(task, latents_methods.Budgeted(500, 20.0), 0)
    assert fixed == 500 and steps > 5
    own, more = latents_methods.planned(task, latents_methods.Budgeted(None, 20.0), 0)
    assert own == 256 * more
    assert latents_methods.planned(task, latents_methods.Budgeted(500, steps=3), 0) == (500, 3)


def test_networks_that_learn_from_simulations_see_statistics_and_those_of_a_law_all_components(tasks: dict):
    from latents_methods import Budgeted, fitted, plain_answers, trained  # pyright: ignore[reportMissingImports]
    from latents_tasks import simulated  # pyright: ignore[reportMissingImports]

    task = tasks["bernoulli_glm"]
    with seeded(0):
        observed = simulated(task, 3).y
    for method in (trained, fitted):
        model, used = method(task, Budgeted(50, steps=2), 0)
        draws, _ = plain_answers(model, task, observed, 20)
        assert draws.shape == (3, 20, 10) and np.isfinite(draws).all()
        assert isinstance(model.problem.outcome, pf.Real) == (method is trained)
        assert used["simulations_used"] == (50 if method is trained else 0) and used["steps"] == 2
        assert model.card.trained_context[1] == (task.num_shown if method is trained else task.components)


def test_the_likelihood_of_four_correlated_points_is_that_of_torch(simulators: ModuleType):
    with seeded(5):
        latents = simulators.slcp.sample_latents(1_000)
        x = torch.randperm(8).float()[None, :, None].expand(1_000, -1, -1)
        y = simulators.slcp(x, **latents)
    scale, bond = latents["root"].double().square(), latents["bond"].double().tanh()[:, 0]
    joint = bond * scale.prod(1)
    covariance = torch.stack([scale[:, 0] ** 2, joint, joint, scale[:, 1] ** 2], dim=1).unflatten(1, (2, 2))
    law = torch.distributions.MultivariateNormal(latents["mean"].double(), covariance + 1e-6 * torch.eye(2))
    pairs = simulators.in_order(x, y).double().unflatten(1, (4, 2))
    expected = law.log_prob(pairs.movedim(1, 0)).sum(0)
    torch.testing.assert_close(simulators.slcp_likelihood(x, y, **latents), expected)


def test_the_likelihood_of_two_moons_integrates_to_one_and_is_that_of_its_draws(simulators: ModuleType):
    """By integration on a grid, and by the share of a hundred thousand draws in a box."""
    step = 0.002
    axis = torch.arange(-0.3, 0.7, step, dtype=torch.float64)
    theta = torch.tensor([[0.2, -0.1]], dtype=torch.float64)
    places = torch.cartesian_prod(axis, axis - 0.4)
    order = torch.tensor([[[0.0], [1.0]]])
    density = simulators.moons_likelihood(order.expand(len(places), -1, -1), places, theta.expand(len(places), -1))
    weights = density.exp() * step**2
    assert abs(float(weights.sum()) - 1) < 0.02
    with seeded(6):
        drawn = simulators.two_moons(order.expand(100_000, -1, -1), theta=theta.float().expand(100_000, -1))
    inside = (drawn[:, 1] > -0.2) & (drawn[:, 0] > 0.25)
    expected = weights[(places[:, 1] > -0.2) & (places[:, 0] > 0.25)].sum()
    assert abs(float(inside.double().mean()) - float(expected)) < 0.01
    with pytest.raises(ValueError, match="each component of an observation once"):
        simulators.moons_likelihood(torch.zeros(1, 2, 1), torch.zeros(1, 2), theta)
