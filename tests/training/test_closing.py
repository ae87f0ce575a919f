"""The last line of a training."""

import io
from importlib import import_module

import pytest
from rich.console import Console
from torch.distributions import Normal, Uniform

import priorfit as pf
from priorfit.network import ModelCard
from priorfit.training.closing import closing_words
from priorfit.training.displays import display_for
from priorfit.training.gap import GapMeter
from priorfit.training.recipe import Budget, Recipe

FIT = import_module("priorfit.training.fit")
TINY = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)


def card(**training) -> ModelCard:
    return ModelCard(name="waves", prior={}, trained_context=(0, 9), recipe={}, training={"steps": 100, **training})


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [(0.002, 0.001, "would hardly help."), (0.004, 0.002, "may help:"), (0.1, 0.01, "may help:")],
)
def test_more_minutes_are_of_no_use_where_the_whole_gap_is_negligible(mean: float, half_width: float, verdict: str):
    words = closing_words(card(gap={"mean": mean, "half_width": half_width, "datasets": 12}))
    assert words.startswith(
        f"waves: gap {mean:.3f} \u00b1 {half_width:.3f} nats, the most that more training could gain."
    )
    assert f"More minutes {verdict}" in words


@pytest.mark.parametrize(
    ("best", "verdict"), [(0, "would hardly help."), (50, "would hardly help."), (51, "may help:")]
)
def test_more_minutes_are_of_no_use_where_no_later_weights_were_better(best: int, verdict: str):
    words = closing_words(card(left_out={"before": 1.0, "best": 0.9, "best_step": best, "readings": 20}))
    assert f"the best weights are those of step {best} of 100. More minutes {verdict}" in words


def test_a_training_that_was_compared_with_nothing_has_no_last_line():
    assert closing_words(card()) == ""


def test_fit_keeps_the_gap_of_its_result_and_says_it_last(monkeypatch: pytest.MonkeyPatch):
    stream, prior = io.StringIO(), pf.GaussianProcess()
    monkeypatch.setattr(FIT, "screen", lambda: display_for(Console(file=stream, width=200)))
    model = pf.fit(prior, num_points=5, steps=3, network=TINY)
    found = GapMeter(Recipe(prior, 5, Budget(steps=3), network=TINY)).estimate(model)
    assert model.card.training["gap"]["mean"] == pytest.approx(found.mean, rel=1e-5)
    assert stream.getvalue().splitlines()[-1] == closing_words(model.card)


def test_a_simulator_has_no_gap():
    @pf.prior(num_features=1, slope=Normal(0.0, 1.0), noise=Uniform(0.1, 0.5))
    def lines(x, slope, noise):
        return Normal(slope * x[..., 0], noise).sample()

    model = pf.fit(lines, num_points=5, steps=2, network=TINY, progress=False)
    assert "gap" not in model.card.training
