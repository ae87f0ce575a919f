"""Averages over views of a table, each compared with the same average made by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from estimators.stand_in import StandIn
from estimators.tiny_models import PADDED_LABELS, PADDED_QUARTERS, PADDED_REALS, random_model

from priorfit.data import Real
from priorfit.distributions.class_probabilities import class_probs
from priorfit.distributions.mixing import mixed
from priorfit.errors import InputError
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.permutations import View, views
from priorfit.network import RiemannHead

GENERATOR = np.random.RandomState(0)
X = GENERATOR.randn(24, 3)
Y = np.arange(24) % 3


def test_one_view_is_the_table_as_it_is():
    (view,) = views([None, 3], 1, np.random.RandomState(0))
    table = torch.tensor([[0.5, 2.0], [torch.nan, 1.0]])
    torch.testing.assert_close(view.table(table), table, equal_nan=True)
    assert view.shift == 0


def test_a_view_recodes_levels_and_keeps_what_is_missing():
    view = View(torch.tensor([1, 0]), {1: torch.tensor([2, 0, 1])}, 0)
    table = torch.tensor([[5.0, 0.0], [6.0, torch.nan], [7.0, 2.0]])
    expected = torch.tensor([[2.0, 5.0], [torch.nan, 6.0], [1.0, 7.0]])
    torch.testing.assert_close(view.table(table), expected, equal_nan=True)


@pytest.mark.parametrize("model", [StandIn(), random_model(PADDED_QUARTERS)], ids=["as many", "four"])
def test_probabilities_are_averaged_over_orders_of_columns_and_shifts_of_classes(model):
    found = PFNClassifier(model, n_estimators=4, random_state=3).fit(X, Y)
    count = 3 if model.problem.min_classes else 4
    members = []
    for view in found.predictor_.views:
        order = view.order.numpy()
        probs = class_probs(model.condition(X[:, order], (Y + view.shift) % count).predict(X[:, order]))
        members.append(probs[:, (np.arange(count) + view.shift) % count])
    mean = torch.stack(members).mean(0)[:, :3]
    np.testing.assert_allclose(found.predict_proba(X), mean / mean.sum(1, keepdim=True), rtol=1e-5)
    assert sorted({view.shift for view in found.predictor_.views}) == [0, 1, 2, 3]


def test_as_many_views_as_classes_forget_how_classes_are_numbered():
    """The stand-in leans towards the last class, whichever that is."""
    model, other = StandIn(), np.array([2, 0, 1])[Y]
    one = PFNClassifier(model).fit(X[:, :1], Y).predict_proba(X[:, :1])
    alone = PFNClassifier(model).fit(X[:, :1], other).predict_proba(X[:, :1])
    assert not np.allclose(alone[:, [2, 0, 1]], one, atol=1e-3)
    all_ = PFNClassifier(model, n_estimators=3).fit(X[:, :1], Y).predict_proba(X[:, :1])
    renamed = PFNClassifier(model, n_estimators=3).fit(X[:, :1], other).predict_proba(X[:, :1])
    np.testing.assert_allclose(renamed[:, [2, 0, 1]], all_, rtol=1e-10)


@pytest.mark.parametrize("head", [None, RiemannHead(20)], ids=["mixture", "bars"])
def test_a_regression_states_the_mixture_of_its_members(head):
    model = random_model(PADDED_REALS, head=head)
    found = PFNRegressor(model, n_estimators=3).fit(X, X[:, 0])
    orders = [view.order.numpy() for view in found.predictor_.views]
    parts = [model.condition(X[:, order], X[:, 0]).predict(X[:, order]) for order in orders]
    y = torch.linspace(-2, 2, 5)[:, None].double()
    torch.testing.assert_close(found.predict_distribution(X).log_prob(y), mixed(parts).log_prob(y))
    mean, std = found.predict(X, return_std=True)
    assert np.isfinite(std).all() and mean.shape == (24,)
    quantiles = found.predict_quantiles(X, [0.1, 0.9])
    below = found.predict_distribution(X).cdf(torch.tensor(quantiles[:, 1]))
    np.testing.assert_allclose(below, np.full(24, 0.9), rtol=1e-6)


def test_levels_have_other_codes_in_other_views():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.array(["u", "v", "w", "x"])[np.arange(24) % 4]})
    found = PFNClassifier(StandIn(), n_estimators=6).fit(frame, Y)
    codes = [tuple(view.codes[1].tolist()) for view in found.predictor_.views[1:]]
    assert all(sorted(each) == [0, 1, 2, 3] for each in codes) and len(set(codes)) > 1


def test_the_seed_decides_and_generators_are_taken():
    def answer(state: object) -> np.ndarray:
        return PFNRegressor(StandIn(Real()), n_estimators=3, random_state=state).fit(X, X[:, 0]).predict(X)

    np.testing.assert_array_equal(answer(1), answer(1))
    np.testing.assert_array_equal(answer(np.random.RandomState(1)), answer(1))
    assert not np.array_equal(answer(1), answer(2))
    assert answer(None).shape == (24,)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True, None])
def test_a_number_of_estimators_that_is_none_is_refused(count):
    with pytest.raises(InputError, match="n_estimators must be a whole number of at least 1; got"):
        PFNClassifier(random_model(PADDED_LABELS), n_estimators=count).fit(X, Y % 2)


def test_surprise_needs_one_context():
    with pytest.raises(InputError, match="surprise needs one context in a PFN; .* n_estimators=1"):
        PFNRegressor(random_model(PADDED_REALS), n_estimators=2).fit(X, X[:, 0]).surprise()
