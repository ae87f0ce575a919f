import warnings
from importlib import import_module

import pytest
import torch
from torch.distributions import Normal

import priorfit as pf
from priorfit.errors import GapWarning, InputError, TrainingError
from priorfit.metrics import Estimate
from priorfit.training import Budget, Display, Reading, Recipe
from priorfit.training.gap import GapMeter
from priorfit.training.quality import Aim, hardly_helped, judge_for, words

QUALITY = import_module("priorfit.training.quality")
TINY = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
GP = pf.GaussianProcess()


@pf.prior(num_features=1, slope=Normal(0.0, 1.0))
def simulated_lines(x: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Draws without a law."""
    return slope * x[..., 0]


class Recorder(Display):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def announce(self, words: str) -> None:
        self.lines.append(words)

    def show(self, reading: Reading) -> None:
        return None


def test_training_ends_as_soon_as_the_gap_is_reached():
    model = pf.fit(GP, num_points=5, gap=5.0, minutes=0.02, network=TINY, progress=False)
    found = model.card.training["gap"]
    assert found["mean"] + found["half_width"] <= 5.0 == found["asked"]
    assert judge_for(Recipe(GP, 5, Budget(minutes=1.0))).measure(model) == pytest.approx(found["mean"])
    assert model.prior is GP


def test_a_training_by_its_gap_leaves_its_model_in_the_folder(tmp_path):
    model = pf.fit(GP, num_points=5, gap=5.0, minutes=0.02, network=TINY, progress=False, folder=tmp_path / "run")
    assert pf.load(tmp_path / "run" / "model").card.training["gap"] == model.card.training["gap"]
    with pytest.raises(TrainingError, match="already holds a run"):
        pf.fit(GP, num_points=5, gap=5.0, minutes=0.02, network=TINY, progress=False, folder=tmp_path / "run")


def test_a_gap_that_is_not_reached_is_told():
    with pytest.warns(GapWarning, match=r"not surely below the 1e-09 asked for: give it more minutes"):
        model = pf.fit(GP, num_points=5, gap=1e-9, minutes=0.02, network=TINY, progress=False)
    assert model.card.training["gap"]["mean"] > 1e-9


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    """Trainings that take no time of their own: a clock and gaps that are given."""

    def run(gaps: list[float], aim: Aim) -> tuple[list[float], Recorder, list[str]]:
        clock, lengths, left, recorder = [0.0], [], list(gaps), Recorder()
        model = TINY.build(pf.Problem(1, pf.Real(), (0.0, 1.0)))

        def train(recipe: Recipe, *_: object) -> pf.PFN:
            lengths.append(recipe.budget.minutes)
            clock[0] += 60 * (recipe.budget.minutes or 0)
            return model

        monkeypatch.setattr(QUALITY, "train", train)
        monkeypatch.setattr(QUALITY, "perf_counter", lambda: clock[0])
        monkeypatch.setattr(GapMeter, "estimate", lambda *_: Estimate(left.pop(0), 0.001, 128))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GapWarning)
            QUALITY.trained_until(
                Recipe(GP, 5, Budget(minutes=2.0), network=TINY), pf.RunOptions(), recorder, None, aim
            )
        return lengths, recorder, [str(each.message) for each in caught]

    return run


def test_each_round_is_as_long_as_all_before_it_and_the_last_keeps_to_the_minutes(fake):
    lengths, recorder, told = fake([0.08, 0.04, 0.02, 0.012, 0.008], Aim(0.01, 20.0))
    assert lengths == [2.0, 2.0, 4.0, 8.0, 4.0] and sum(lengths) == 20.0
    assert not told
    assert recorder.lines[-1] == (
        "gap 0.008 ± 0.001 nats on 128 new datasets after 20.0 minutes; 0.01 asked. "
        "Twice the minutes left 67% of the gap."
    )


def test_rounds_end_where_two_of_them_hardly_helped(fake):
    lengths, _, told = fake([0.08, 0.04, 0.039, 0.038, 0.037], Aim(0.01, 60.0))
    assert lengths == [2.0, 2.0, 4.0, 8.0]
    assert "more minutes would hardly help; try a larger network" in told[0] and "0.038 ± 0.001" in told[0]


def test_a_gap_within_its_interval_is_not_reached(fake):
    lengths, _, told = fake([0.0095, 0.005], Aim(0.01, 60.0))
    assert len(lengths) == 2 and not told


def test_one_round_says_nothing_of_minutes():
    readings = [Estimate(0.02, 0.001, 8)]
    assert "Twice" not in words(readings, Aim(0.01, 5.0), 2.0)
    assert not hardly_helped(readings) and not hardly_helped(2 * readings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gap": 0.0}, "gap is a positive number of nats"),
        ({"gap": 0.1, "minutes": 0.0}, "minutes is the longest training"),
        ({"gap": 0.1, "steps": 10}, "no fixed number of steps"),
        ({"gap": 0.1, "folder": "run", "resume": True}, "keeps no checkpoints to resume"),
    ],
)
def test_wrong_aims_are_refused(options: dict, words: str):
    with pytest.raises(InputError, match=words):
        pf.fit(GP, num_points=5, network=TINY, progress=False, **options)


def test_a_prior_without_a_truth_has_no_gap_to_reach():
    with pytest.raises(InputError, match="Let its function return a law, or train by minutes"):
        pf.fit(simulated_lines, num_points=5, gap=0.1, network=TINY, progress=False)
