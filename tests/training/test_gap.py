import pytest

import priorfit as pf
from priorfit.training.gap import FEWEST, MOST, MOST_POINTS, GapMeter
from priorfit.training.recipe import Budget, Recipe


@pytest.mark.parametrize("num_points", [2, 40, 300, 1_200])
def test_larger_contexts_are_measured_on_fewer_datasets(num_points):
    meter = GapMeter(Recipe(pf.GaussianProcess(), num_points=num_points, budget=Budget(steps=1)))
    for tasks in meter._tasks:
        count, size = tasks.context_y.shape
        assert FEWEST <= count <= MOST
        assert count == FEWEST or count * (size + 1) <= MOST_POINTS
        assert count == MOST or (count + 1) * (size + 1) > MOST_POINTS
    assert meter._tasks[0].context_y.shape[1] == 0
    assert meter._tasks[-1].context_y.shape[1] == num_points - 1


def test_a_prior_without_an_exact_answer_has_no_gap():
    prior = pf.BayesianNetwork()
    meter = GapMeter(Recipe(prior, num_points=10, budget=Budget(steps=1)))
    model = pf.fit(prior, num_points=10, steps=1, progress=False)
    assert meter.measure(model) is None
