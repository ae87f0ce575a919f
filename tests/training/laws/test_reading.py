from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.distributions import Normal, Uniform
from torch.testing import assert_close

import priorfit as pf
from priorfit.network import CellSolver, NetworkSettings
from priorfit.seeding import seeded
from priorfit.training import Budget, Display, Recipe, train
from priorfit.training.laws import another_point, learned
from priorfit.training.laws.reading import by_learned_law, share_of
from priorfit.training.loop import RunOptions
from priorfit.training.schedule import learning_rate_factor

FIT = import_module("priorfit.training.fit")
STEPS = 300


@pf.prior(num_features=1, offset=Normal(0.0, 1.0), slope=Normal(0.0, 1.0))
def lines(x: torch.Tensor, offset: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Lines with noise, drawn: their posterior is that of a linear regression."""
    return offset + slope * x[..., 0] + 0.3 * torch.randn(x.shape[:2])


@pf.prior(num_features=1, height=Uniform(-1.0, 1.0))
def joined(x: torch.Tensor, height: torch.Tensor) -> torch.Tensor:
    """Curves with noise that all points share."""
    return height * x[..., 0] + 0.3 * torch.randn(len(x), 1) + 0.1 * torch.randn(x.shape[:2])


class Recorder(Display):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def announce(self, words: str) -> None:
        self.lines.append(words)

    def show(self, reading: object) -> None:
        return


def recipe_of(prior: pf.Prior, minutes: float = 5.0) -> Recipe:
    return Recipe(prior, num_points=20, budget=Budget(minutes=minutes), name="own")


@pytest.fixture(autouse=True, scope="module")
def _fixed_steps():
    """As many steps on any machine."""

    def steps_within(_: float):
        return ((step / STEPS, learning_rate_factor(step, STEPS, 0.05)) for step in range(STEPS))

    with pytest.MonkeyPatch.context() as patched:
        for module in (learned, another_point):
            patched.setattr(module, "steps_within", steps_within)
        yield


@pytest.fixture(scope="module")
def read() -> tuple[Recipe, pf.PFN]:
    recipe, model = by_learned_law(recipe_of(lines), Recorder())
    assert isinstance(model, pf.PFN)
    return recipe, model


@torch.no_grad()
def test_a_simulator_of_lines_is_answered_as_a_linear_regression_before_it_is_trained(read: tuple[Recipe, pf.PFN]):
    recipe, model = read
    assert isinstance(model.settings, NetworkSettings) and isinstance(model.settings.solver, CellSolver)
    assert recipe.prior is lines and recipe.budget.minutes is not None and recipe.budget.minutes < 5.0
    with seeded(4):
        tasks = lines.sample(200, 20).split(12)
    posterior = model.condition(tasks.context_x, tasks.context_y)
    ones = torch.ones(200, 12, 1, dtype=torch.float64)
    design = torch.cat([ones, tasks.context_x.double()], dim=-1)
    covariance = (torch.eye(2) + design.mT @ design / 0.09).inverse()
    mean = (covariance @ design.mT @ tasks.context_y.double()[..., None] / 0.09)[..., 0]
    deviation = covariance.diagonal(dim1=-2, dim2=-1).sqrt()
    for place, name in enumerate(("offset", "slope")):
        margin = posterior.latents[name]
        assert float(((margin.mean - mean[:, place]) / deviation[:, place]).square().mean().sqrt()) < 0.15
        assert float((margin.stddev / deviation[:, place] - 1).square().mean().sqrt()) < 0.1
    query = torch.cat([torch.ones(200, 8, 1), tasks.query_x], dim=-1).double()
    exact = Normal((query @ mean[..., None])[..., 0], ((query @ covariance * query).sum(-1) + 0.09).sqrt())
    with seeded(5):
        y = exact.sample((64,))
    found = posterior.predict(tasks.query_x)
    assert float((exact.log_prob(y) - found.log_prob(y.float())).mean()) < 0.01


def test_points_that_depend_on_each_other_are_left_to_a_race_and_the_line_says_why():
    recorder = Recorder()
    recipe, model = by_learned_law(recipe_of(joined), recorder)
    assert model is None and recipe.budget.minutes is not None and recipe.budget.minutes < 5.0
    assert "another point of a dataset tells" in recorder.lines[0] and "race" in recorder.lines[0]


@pytest.mark.parametrize(
    "prior", [pf.GaussianProcess(), pf.prior(num_features=3, a=Normal(0.0, 1.0))(lambda x, a: a * x.sum(-1))]
)
def test_other_priors_are_left_as_they_are(prior: pf.Prior):
    recipe = recipe_of(prior)
    assert by_learned_law(recipe, Recorder()) == (recipe, None)


def test_fit_takes_it_where_a_function_draws_and_there_is_a_clock(monkeypatch: pytest.MonkeyPatch):
    model = pf.fit(lines, num_points=20, minutes=0.02, progress=False)
    assert isinstance(model.settings, NetworkSettings) and isinstance(model.settings.solver, CellSolver)
    assert model.prior is lines
    law = model.card.training["started_from"]["training"]["law"]
    assert law["steps"] == STEPS and abs(law["told_by_another_point"]) < 0.005
    monkeypatch.setattr(FIT, "by_learned_law", lambda *_: pytest.fail("a budget in steps has no clock to share"))
    assert pf.fit(lines, num_points=20, steps=2, progress=False).settings == NetworkSettings()


def test_a_run_with_cells_of_a_simulator_is_resumed_from_its_folder(tmp_path: Path, read: tuple[Recipe, pf.PFN]):
    """Nothing can be read off the prior there: the cells come from the folder."""
    recipe, start = read
    recipe = Recipe(lines, 20, Budget(steps=6), "own", network=recipe.network, data=recipe.data)
    whole = train(recipe, start=start)
    stopped = Recipe(lines, 20, Budget(steps=6, stop=3), "own", network=recipe.network, data=recipe.data)
    train(stopped, RunOptions(tmp_path / "run"), start=start)
    resumed = train(stopped, RunOptions(tmp_path / "run", resume=True))
    assert resumed.card.training["steps"] in (3, 6)
    saved = pf.load(tmp_path / "run" / "model")
    for name, weight in saved.state_dict().items():
        assert_close(weight, resumed.state_dict()[name])
    assert_close(whole.state_dict()["solver.laws.curves"], saved.state_dict()["solver.laws.curves"])


def test_the_share_of_a_short_budget_is_at_most_a_half():
    assert share_of(1.0) == 0.5 and share_of(1e6) == 0.15
