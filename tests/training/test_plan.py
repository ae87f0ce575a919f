from itertools import count

from priorfit.training import Budget
from priorfit.training.devices import Processes
from priorfit.training.plan import LOOKS, PLANNED_SHARE, Clockwork


def run(budget: Budget, steps: int, seconds_of) -> tuple[int, float, list[int]]:
    """A run whose step i takes ``seconds_of(i)``: its number of steps, its time, and where its plan changed."""
    clockwork, seconds, changes = Clockwork(budget, Processes()), 0.0, []
    for step in count(1):
        seconds += seconds_of(step)
        found = clockwork.steps(step, steps, seconds)
        if found != steps:
            changes.append(step)
        steps = found
        if step >= steps:
            return step, seconds, changes
    raise AssertionError


def test_a_plan_made_in_a_bad_moment_is_mended():
    steps, seconds, _ = run(Budget(minutes=3), 34, lambda _: 0.1)  # planned for steps of five seconds
    assert abs(seconds - 180 * PLANNED_SHARE) < 0.1 * 180
    assert steps > 1_500


def test_a_machine_that_slows_down_early_gets_fewer_steps():
    _, seconds, changes = run(Budget(minutes=1), 570, lambda step: 0.1 if step < 60 else 0.3)
    assert seconds < 75
    assert changes


def test_from_the_half_on_the_plan_stands():
    steps, seconds, changes = run(Budget(minutes=1), 570, lambda step: 0.1 if step < 290 else 0.3)
    assert (steps, changes) == (570, [])
    assert seconds > 100


def test_a_plan_that_is_nearly_right_is_kept():
    steps, _, changes = run(Budget(minutes=1), 570, lambda _: 0.103)
    assert (steps, changes) == (570, [])


def test_a_budget_in_steps_is_what_it_says():
    steps, _, changes = run(Budget(steps=40), 40, lambda step: float(step))
    assert (steps, changes) == (40, [])


def test_the_clock_is_looked_at_some_times_only():
    _, _, changes = run(Budget(minutes=1), 400, lambda step: 0.05 * (1 + step % 7))
    assert len(changes) <= LOOKS
