import math
import re
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch

import priorfit as pf
from priorfit.errors import TrainingError
from priorfit.network import LinearSolver, Model, NetworkSettings
from priorfit.training import Budget, DataSettings, Display, Reading, Recipe
from priorfit.training.batches import draw_batch
from priorfit.training.race import FEWEST_STEPS, Race, judged_batches, mean_loss, race
from priorfit.training.trainer import Trainer

FIT = import_module("priorfit.training.fit")  # the file: the package has the function by this name
PLAIN = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
SOLVING = replace(PLAIN, solver=LinearSolver(16, 1, 16))
CANDIDATES = {"plain transformer": PLAIN, "linear solver": SOLVING}


@pf.prior(num_features=1)
def own_gp(x: torch.Tensor) -> torch.Tensor:
    """A Gaussian process, drawn by a user's own function: nothing is known of it."""
    return pf.GaussianProcess(lengthscale=0.3).draw(x).y


RECIPE = Recipe(own_gp, num_points=12, budget=Budget(minutes=1.0), name="own_gp", data=DataSettings(batch_size=16))


@pytest.fixture(scope="module")
def found() -> Race:
    return race(RECIPE, CANDIDATES, seconds=6.0)


def test_the_winner_is_the_candidate_of_the_lowest_nll(found: Race):
    assert {runner.name for runner in found.runners} == set(CANDIDATES)
    judged = judged_batches(RECIPE)
    for runner in found.runners:
        assert runner.nll == mean_loss(runner.network, judged)
        assert runner.network.settings == runner.recipe.network == CANDIDATES[runner.name]
        assert runner.steps >= FEWEST_STEPS
    assert found.winner.nll == min(runner.nll for runner in found.runners)
    assert found.winner.name == "linear solver"  # a GP is what it solves


@pytest.mark.parametrize(("behind", "chosen"), [(0.3, "plain transformer"), (0.7, "linear solver")])
def test_a_solver_must_lead_the_plain_transformer_clearly(found: Race, behind: float, chosen: str):
    solving, plain = (next(runner for runner in found.runners if runner.name == name) for name in reversed(CANDIDATES))
    close = Race((solving, replace(plain, nll=solving.nll + behind)), seconds=1.0)
    assert close.winner.name == chosen
    assert ("A solver must lead by 0.5" in str(close)) == (chosen == "plain transformer")


@pytest.mark.parametrize(("behind", "steps", "chosen"), [(0.02, 5, 1), (0.02, 50, 0), (0.2, 5, 0)])
def test_of_two_solvers_that_are_alike_the_one_of_fewer_steps_is_chosen(found: Race, behind, steps, chosen):
    solving, plain = (next(runner for runner in found.runners if runner.name == name) for name in reversed(CANDIDATES))
    first = replace(solving, steps=20)
    other = replace(solving, name="latent solver", steps=steps, nll=solving.nll + behind)
    close = Race((first, other, replace(plain, nll=solving.nll + 2)), seconds=1.0)
    assert close.winner is (first, other)[chosen]
    assert ("this one took fewer steps" in str(close)) == bool(chosen)


def test_each_candidate_trains_on_the_data_that_suit_it(found: Race):
    data = {runner.name: runner.recipe.data for runner in found.runners}
    assert not data["plain transformer"].same_n and data["linear solver"].same_n


def test_a_candidates_card_tells_of_its_share(found: Race):
    training = found.winner.network.card.training
    assert training["steps"] == found.winner.steps
    assert 0 < training["seconds"] <= found.seconds


def test_one_line_says_what_was_chosen_and_why(found: Race):
    best, other = found.runners
    expected = (
        f"chose the linear solver: NLL {best.nll:.3f} after 16% of the clock; others after as long: "
        f"plain transformer {other.nll:.3f}."
    )
    assert str(found) == expected


def test_candidates_are_judged_on_datasets_that_nobody_trains_on():
    first, second = judged_batches(RECIPE), judged_batches(RECIPE)
    assert [batch.context_y.shape[1] for batch in first] == [0, 2, 4, 7, 9, 11]
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.query_y, other.query_y) and one.query_law is None
    trained = torch.cat([draw_batch(RECIPE, step, 0).query_y.flatten() for step in range(50)])
    assert not torch.isin(first[0].query_y, trained).any()


def test_a_candidate_whose_training_is_not_finite_loses(monkeypatch: pytest.MonkeyPatch):
    take_step = Trainer.take_step

    def broken(trainer: Trainer):
        if trainer.network.settings == SOLVING:
            raise TrainingError("the gradient was not finite in 20 steps in a row")
        return take_step(trainer)

    monkeypatch.setattr(Trainer, "take_step", broken)
    found = race(RECIPE, CANDIDATES, seconds=0.1)
    assert found.winner.name == "plain transformer" and math.isfinite(found.winner.nll)
    assert found.runners[1].nll == math.inf
    assert "linear solver inf" in str(found)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("settings", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_a_network_whose_answers_are_not_finite_has_an_infinite_nll(settings: NetworkSettings, value: float):
    model = settings.build(pf.Problem(1, pf.Real(), (0.0, 1.0)))
    assert math.isfinite(mean_loss(model, judged_batches(RECIPE)))
    with torch.no_grad():
        model.decoder.bias.fill_(value)
    assert mean_loss(model, judged_batches(RECIPE)) == math.inf


class Recorder(Display):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.readings: list[Reading] = []

    def announce(self, words: str) -> None:
        self.lines.append(words)

    def show(self, reading: Reading) -> None:
        self.readings.append(reading)


def refuse(*_: object) -> Race:
    raise AssertionError("there must be no race")


@pytest.mark.parametrize(
    ("prior", "options"),
    [
        (own_gp, {"steps": 1}),
        (own_gp, {"minutes": 0.001, "network": PLAIN}),
        (pf.GaussianProcess(), {"steps": 1, "network": SOLVING}),
    ],
    ids=["a budget in steps", "a network that was named", "both"],
)
def test_there_is_a_race_only_for_a_clock_and_where_nothing_is_known(
    prior: pf.Prior, options: dict, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(FIT, "race", refuse)
    model = pf.fit(prior, num_points=6, progress=False, **options)
    assert model.settings == options.get("network", NetworkSettings())


def test_a_known_prior_is_not_raced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FIT, "race", refuse)
    trained: list[Recipe] = []

    def caught(recipe: Recipe, *_: object) -> Model:
        trained.append(recipe)
        return recipe.network.build(pf.Problem(1, pf.Real(), (0.0, 1.0)))

    monkeypatch.setattr(FIT, "train", caught)
    pf.fit(pf.GaussianProcess(), minutes=3.0, progress=False)
    assert trained[0].network.solver == LinearSolver(64, 1, 128)


def test_fit_goes_on_from_the_winners_weights_with_what_is_left_of_the_clock(
    found: Race, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(FIT, "race", lambda *_: replace(found, seconds=45.0))
    started: list[tuple[Recipe, Model]] = []

    def caught(recipe: Recipe, options: object, display: Display, start: Model, stop: object) -> Model:
        assert stop is None  # a race's winner answers nothing before it is trained
        started.append((recipe, start))
        return start

    monkeypatch.setattr(FIT, "train", caught)
    recorder = Recorder()
    monkeypatch.setattr(FIT, "screen", lambda: recorder)
    pf.fit(own_gp, num_points=12, minutes=3.0)
    recipe, start = started[0]
    assert start is found.winner.network and recipe.network == SOLVING
    assert recipe.budget.minutes == pytest.approx(3.0 * (1 - 45 / 180))
    assert recorder.lines == [f"own_gp: {found}"]


def test_a_whole_fit_races_and_trains_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FIT, "candidates", lambda _: CANDIDATES)
    recorder = Recorder()
    monkeypatch.setattr(FIT, "screen", lambda: recorder)
    model = pf.fit(own_gp, num_points=12, minutes=0.1)
    assert re.fullmatch(
        r"own_gp: chose the .*: NLL .* after 16% of the clock; others after as long: .*\.", recorder.lines[0]
    )
    assert model.settings in CANDIDATES.values()
    before = model.card.training["started_from"]["training"]["steps"]
    assert model.card.trained_in_all("steps") == model.card.training["steps"] + before
    fresh = model.settings.build(model.problem, target_sample=own_gp.sample(20, 12).y)
    judged = judged_batches(RECIPE)
    assert mean_loss(model, judged) < mean_loss(fresh, judged)
    assert recorder.readings[0].loss < fresh_loss(model)


def fresh_loss(model: pf.PFN) -> float:
    """The loss of the first step of a training from random weights."""
    recipe = Recipe(own_gp, num_points=12, budget=Budget(steps=1), network=model.settings)
    recorder = Recorder()
    pf.train(recipe, display=recorder)
    return recorder.readings[0].loss


def test_a_raced_run_goes_on_with_what_the_race_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    races = []
    monkeypatch.setattr(FIT, "candidates", lambda prior: CANDIDATES)
    monkeypatch.setattr(FIT, "race", lambda *arguments: races.append(race(*arguments)) or races[-1])
    call = {"num_points": 12, "minutes": 0.05, "progress": False, "folder": tmp_path / "run"}
    whole = pf.fit(own_gp, **call)
    shutil.rmtree(tmp_path / "run" / "model")  # as if it had been stopped before its end
    again = pf.fit(own_gp, **call, resume=True)
    assert len(races) == 1
    assert again.settings == whole.settings == races[0].winner.recipe.network
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())
