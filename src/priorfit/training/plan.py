"""How many steps a run has: a budget in minutes is planned from timed steps, and again on the way."""

import copy
import math
import time
from collections import deque

from priorfit.network import Model
from priorfit.training.devices import Processes
from priorfit.training.recipe import Budget, Recipe
from priorfit.training.trainer import Trainer

TIMED_STEPS = 24
"""Steps whose time turns a budget in minutes into a number of steps."""

TIMED_SHARE = 0.05
"""Share of a budget in minutes that the timing may take, where steps are slow."""

PLANNED_SHARE = 0.95
"""Share of a budget in minutes that is planned, since machines slow down during a run more often than they speed up."""

LOOKS = 20
"""How many times a run checks its plan; after half of the steps it is fixed, since the learning rate then falls."""

RECENT_STEPS = 100
"""The remaining steps are planned from the time of this many recent ones."""

SMALLEST_CHANGE = 0.05
"""A plan is kept while it is off by less than this share of the steps."""


def planned_steps(recipe: Recipe, network: Model, group: Processes) -> int:
    """The number of steps of a budget; minutes are turned into steps by timing some on a copy of the network."""
    budget = recipe.budget
    if budget.steps is not None:
        return budget.steps
    per_step = recipe.data.batch_size * recipe.data.micro_batches
    if budget.datasets is not None:
        return max(1, math.ceil(budget.datasets / per_step))
    assert budget.minutes is not None
    seconds = 60 * PLANNED_SHARE * budget.minutes * group.count
    steps = max(1, int(seconds / seconds_per_step(recipe, network, TIMED_SHARE * seconds)))
    return group.same_everywhere(steps)


def seconds_per_step(recipe: Recipe, network: Model, most: float) -> float:
    """The mean time of a step, after some to warm up; fewer are timed where they would take ``most`` seconds."""
    trial = Trainer(copy.deepcopy(network), recipe, steps=2 * TIMED_STEPS)
    begun = start = time.perf_counter()
    warm = timed = 0
    while timed < TIMED_STEPS and (timed < 1 or time.perf_counter() - begun < most):
        trial.take_step()
        if warm < TIMED_STEPS // 4 and time.perf_counter() - begun < most / 4:
            warm, start = warm + 1, time.perf_counter()
        else:
            timed += 1
    return (time.perf_counter() - start) / timed


class Clockwork:
    """Revises the number of steps of a budget in minutes where steps take longer or shorter than those timed first."""

    def __init__(self, budget: Budget, group: Processes) -> None:
        self._seconds = None if budget.minutes is None else 60 * PLANNED_SHARE * budget.minutes
        self._group = group
        self._ends: deque[float] = deque(maxlen=RECENT_STEPS + 1)

    def steps(self, step: int, steps: int, seconds: float) -> int:
        """The number of steps of a run that has taken ``step`` of ``steps`` in ``seconds``; called after each step."""
        self._ends.append(seconds)
        is_look = step < steps / 2 and step % max(1, steps // LOOKS) == 0
        if self._seconds is None or not is_look or len(self._ends) < 2:
            return steps
        per_step = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        found = step + max(1, int((self._seconds - seconds) / per_step))
        return self._group.same_everywhere(found if abs(found - steps) > SMALLEST_CHANGE * steps else steps)
