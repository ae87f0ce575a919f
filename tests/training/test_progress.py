import io

import pytest
from rich.console import Console

from priorfit.priors import BetaBernoulli
from priorfit.training import Budget, Recipe, train
from priorfit.training.displays import LiveBar, PlainLines, display_for
from priorfit.training.progress import Reading, Silent

READING = Reading(
    step=5, steps=10, loss=-0.25, gap=0.125, datasets_per_second=1234.0, seconds=2.0, learning_rate=1e-3, skipped=1
)


def test_a_reading_says_loss_gap_speed_and_what_was_skipped():
    assert str(READING) == "loss -0.250  gap 0.125  1,234 datasets/s  skipped 1"


def test_without_a_terminal_lines_are_plain(monkeypatch):
    monkeypatch.setattr("priorfit.training.displays.LINE_SECONDS", 0.0)
    stream = io.StringIO()
    display = display_for(Console(file=stream, width=200))
    assert isinstance(display, PlainLines)
    with display:
        display.show(READING)
    assert stream.getvalue() == "step 5/10  loss -0.250  gap 0.125  1,234 datasets/s  skipped 1  2 s left\n"


def test_on_a_terminal_there_is_a_bar():
    stream = io.StringIO()
    display = display_for(Console(file=stream, width=200, force_terminal=True))
    assert isinstance(display, LiveBar)
    with display:
        display.show(READING)
    assert "step 5/10" in stream.getvalue() and "gap 0.125" in stream.getvalue()


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_first_line_comes_before_the_first_step(is_terminal, monkeypatch):
    stream = io.StringIO()
    display = display_for(Console(file=stream, width=200, force_terminal=is_terminal))

    def build(*_, **__):
        first, rest = stream.getvalue().split("\n", maxsplit=1)
        assert first == "coins: building the network and timing some steps to plan 3 minutes ..."
        assert rest == ("\x1b[?25l" if is_terminal else "")  # the bar is open, and hides the cursor
        raise KeyError("the network")

    monkeypatch.setattr("priorfit.training.loop.start_network", build)
    recipe = Recipe(prior=BetaBernoulli(), num_points=5, budget=Budget(minutes=3), name="coins")
    with pytest.raises(KeyError, match="the network"):
        train(recipe, display=display)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_an_announcement_is_one_line_at_once(is_terminal: bool):
    stream = io.StringIO()
    display = display_for(Console(file=stream, width=200, force_terminal=is_terminal))
    display.announce("waves: chose the linear solver [NLL 0.1]")
    assert stream.getvalue() == "waves: chose the linear solver [NLL 0.1]\n"
    Silent().announce("nothing")
