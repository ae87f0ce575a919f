import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.network import ClassRegression, ImageEncoder, Problem
from priorfit.network.encoders.inputs import LinearEncoder
from priorfit.network.solver.class_regression import IndicatorRegression
from priorfit.seeding import seeded


def built(count: int = 4, features: int = 6) -> IndicatorRegression:
    with seeded(0):
        solver = ClassRegression(features).build(Problem(3, Classes(count)), LinearEncoder())
    assert isinstance(solver, IndicatorRegression)
    return solver.double()


def labelled(points: int = 12) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with seeded(1):
        x, query = torch.randn(2, points, 3).double(), torch.randn(2, 5, 3).double()
    return x, (torch.arange(points) % 3).double().expand(2, -1), query


def test_a_guess_is_a_softmax_of_ridge_regressions_on_indicators():
    solver, (x, y, query) = built(), labelled()
    found = solver.condition(x, y).predict(query).ppd.logits  # pyright: ignore[reportAttributeAccessIssue]
    phi, asked = (solver.directions(each)[0].detach().numpy() for each in (x, query))
    ridge = Ridge(alpha=0.1, fit_intercept=False).fit(phi, np.eye(4)[y[0].long().numpy()])
    logits = torch.from_numpy(12.0 * ridge.predict(asked))
    logits[:, 3] += -6.0  # the context has no such class
    torch.testing.assert_close(found[0].detach(), logits.log_softmax(-1), atol=1e-5, rtol=1e-5)


def test_exchanging_two_classes_exchanges_their_probabilities():
    solver, (x, y, query) = built(), labelled()
    order = torch.tensor([2, 0, 1, 3])
    one = solver.condition(x, y).predict(query).ppd.probs  # pyright: ignore[reportAttributeAccessIssue]
    other = solver.condition(x, order[y.long()].double()).predict(query).ppd.probs  # pyright: ignore
    torch.testing.assert_close(other[..., order], one)


def test_classes_that_the_model_could_know_cost_nothing_to_those_of_a_context():
    few, many = built(count=3), built(count=20)
    few.load_state_dict(many.state_dict())  # no weight depends on the number of classes
    x, y, query = labelled()
    small, large = (each.condition(x, y).predict(query).ppd.probs for each in (few, many))  # pyright: ignore
    torch.testing.assert_close(large[..., :3] / large[..., :3].sum(-1, keepdim=True), small)
    assert float(large[..., 3:].detach().sum(-1).max()) < 0.1


def test_before_training_drawn_characters_are_told_apart_by_their_maps():
    """Five straight strokes a class, five drawings each, wherever they lie: an untrained network is far from chance."""
    solver = ClassRegression(392, ImageEncoder(blur=2.0, stride=4))
    network = pf.NetworkSettings(
        width=16, layers=1, attention_heads=2, feedforward=16, encoder=pf.NoEncoder(), solver=solver
    )
    with seeded(0):
        model = network.build(Problem(784, Classes(20), (0.0, 1.0), min_classes=2)).frozen()
        tasks = pf.Curves(num_ways=5, num_shots=5, alike=0.0).sample(12, 45).split(25)
    ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    right = (ppd.logits.argmax(-1) == tasks.query_y).float().mean()  # pyright: ignore[reportAttributeAccessIssue]
    assert float(right) > 0.85


def test_reals_and_wrong_sizes_are_refused():
    with pytest.raises(InputError, match="is for classes"):
        ClassRegression().build(Problem(3, Real()), LinearEncoder())
    with pytest.raises(InputError, match="at least 1"):
        ClassRegression(features=0)
