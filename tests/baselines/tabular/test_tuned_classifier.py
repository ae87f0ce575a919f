"""What all tuned classifiers share."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from baselines.tabular.methods import METHODS, table
from torch.distributions import Categorical

from priorfit.baselines import TunedKNN, TunedLogistic
from priorfit.baselines.tabular.probabilities import FLOOR
from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import InputError

every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def probs(method, x, y, queries):
    return class_probs(method.condition(x, y).predict(queries))


@every_method
@pytest.mark.parametrize("num_classes", [2, 3])
def test_it_answers_with_the_probabilities_of_all_classes(method, num_classes):
    x, y = table(num_classes=num_classes)
    ppd = replace(method, num_classes=num_classes).condition(x, y).predict(x)
    assert isinstance(ppd, Categorical) and ppd.probs.shape[-1] == num_classes
    p = class_probs(ppd)
    assert p.shape == (30, num_classes)
    torch.testing.assert_close(p.sum(-1), torch.ones(30).double())
    if method is not METHODS["bnn"]:  # its few steps teach it little
        assert ppd.log_prob(y).mean() > torch.tensor(1 / num_classes).log(), "better than a guess on what it has seen"


@every_method
def test_one_class_alone_is_answered_by_the_rule_of_laplace(method):
    x, _ = table(num_rows=3)
    p = probs(method, x, torch.ones(3), x)
    torch.testing.assert_close(p, torch.tensor([[1 / 5, 4 / 5]] * 3).double())
    posterior = replace(method, num_classes=4).condition(x, 2 * torch.ones(3))
    expected = torch.tensor([[1.0, 1.0, 4.0, 1.0]] * 3).double() / 7
    torch.testing.assert_close(class_probs(posterior.predict(x)), expected)
    assert posterior.searches[0].chosen is None


@every_method
def test_without_a_context_all_classes_are_alike(method):
    p = probs(replace(method, num_classes=3), torch.empty(0, 4), torch.empty(0), torch.randn(2, 4))
    torch.testing.assert_close(p, torch.full((2, 3), 1 / 3))


@every_method
def test_a_class_that_the_context_lacks_has_the_least_probability(method):
    x, y = table()
    p = probs(replace(method, num_classes=3), x, 2 * y, x)
    torch.testing.assert_close(p[:, 1], torch.full((30,), FLOOR, dtype=torch.float64), rtol=1e-9, atol=0)
    assert (p[:, [0, 2]] > FLOOR).all()


@every_method
def test_a_class_with_one_row_leaves_nothing_to_compare(method):
    x, _ = table(num_rows=6)
    posterior = method.condition(x, torch.tensor([0.0, 0, 0, 1, 0, 0]))
    (found,) = posterior.searches
    assert (found.num_folds, found.num_tried, found.score, found.cut_short) == (0, 0, None, False)
    assert found.chosen == {name: values[0] for name, values in method.grid.items()}
    assert posterior.predict(x).log_prob(torch.tensor(1.0)).isfinite().all()


@every_method
def test_missing_values_are_answered(method):
    x, y = table()
    x[::3, 0] = torch.nan
    x[:, 2] = torch.nan
    queries = x.clone()
    queries[1] = torch.nan
    assert method.condition(x, y).predict(queries).log_prob(y).isfinite().all()


@every_method
def test_unseen_and_missing_categories_are_answered(method):
    x, y = table()
    x[:, 1] = torch.arange(30) % 4
    x[5, 1] = torch.nan
    queries = x.clone()
    queries[0, 1] = 17
    ppd = replace(method, categorical_features=(1,)).condition(x, y).predict(queries)
    assert ppd.log_prob(y).isfinite().all()


@every_method
def test_rows_that_are_all_alike_are_answered_near_the_shares_of_the_classes(method):
    y = torch.tensor([0.0, 1.0]).repeat(6)
    p = probs(method, torch.full((12, 2), 0.1), y, torch.tensor([[0.1, 0.1], [50.0, 0.1]]))
    if method is not METHODS["knn"]:  # one neighbour is sure of itself
        torch.testing.assert_close(p, torch.full((2, 2), 0.5), atol=0.2, rtol=0)
    torch.testing.assert_close(p[0], p[1])


@every_method
def test_the_order_of_rows_does_not_change_one_digit(method):
    x, y = table()
    x[::4, 0] = torch.nan
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    first, second = method.condition(x, y), method.condition(x[order], y[order])
    assert first.searches == second.searches
    assert torch.equal(first.predict(x).logits, second.predict(x).logits)


@every_method
def test_one_seed_gives_one_answer(method):
    x, y = table()
    assert torch.equal(probs(method, x, y, x), probs(method, x, y, x))


@pytest.mark.parametrize("name", ["bnn", "catboost", "xgboost"])
def test_another_seed_gives_another_answer(name):
    x, y = table()
    # without a score that folds could change
    grid = {key: values[:1] for key, values in METHODS[name].grid.items()}
    method = replace(METHODS[name], grid=grid)
    assert not torch.allclose(probs(method, x, y, x), probs(replace(method, seed=1), x, y, x), atol=1e-6)


@every_method
def test_the_time_limit_ends_the_search(method):
    x, y = table()
    posterior = replace(method, time_limit=1e-9).condition(x, y)
    (found,) = posterior.searches
    assert (found.num_tried, found.cut_short, found.num_folds) == (0, True, 5)
    grid = {name: values[:1] for name, values in method.grid.items()}
    first = replace(method, grid=grid).condition(x, y)
    assert torch.equal(posterior.predict(x).logits, first.predict(x).logits)
    assert not first.searches[0].cut_short


@every_method
def test_the_state_of_the_process_stays_as_it_was(method, tmp_path, monkeypatch):
    def state():  # Python's own generator is not looked at: beartype draws from it
        generators = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
        return *generators, list(warnings.filters), torch.get_num_threads(), torch.get_default_dtype()

    monkeypatch.chdir(tmp_path)
    x, y = table()
    before = state()
    method.condition(x, y).predict(x)
    assert state() == before
    assert not any(tmp_path.iterdir())


def test_no_queries_are_answered_with_nothing():
    x, y = table()
    for method in METHODS.values():
        assert method.condition(x, y).predict(x[:0]).batch_shape == (0,)


def test_each_dataset_tells_of_its_own_search():
    x, y = table()
    method = METHODS["knn"]
    posterior = method.condition(torch.stack([x, x]), torch.stack([y, torch.zeros(30)]))
    assert posterior.searches[0] == method.condition(x, y).searches[0]
    assert posterior.searches[1].chosen is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_probability_is_so_small_that_the_likelihood_breaks(dtype):
    x = torch.tensor([[0.0], [0.1], [5.0], [5.1]], dtype=dtype)
    y = torch.tensor([0, 0, 1, 1])
    ppd = TunedKNN(grid={"n_neighbors": (1,)}).condition(x, y).predict(x)
    torch.testing.assert_close(
        ppd.log_prob(1 - y.to(dtype)).exp(), torch.full((4,), FLOOR, dtype=dtype), rtol=1e-5, atol=0
    )


def test_labels_and_inputs_that_make_no_sense_are_refused():
    x, y = table()
    method = METHODS["knn"]
    for wrong in (y + 1, y - 0.5, y.where(y == 0, torch.nan)):
        with pytest.raises(InputError, match="context_y must hold the classes 0 to 1; got"):
            method.condition(x, wrong)
    with pytest.raises(InputError, match="x must be finite, or NaN where a value is missing"):
        method.condition(x / 0, y)
    with pytest.raises(InputError, match="x must be finite"):
        method.condition(x, y).predict(x / 0)
    with pytest.raises(InputError, match="whole numbers"):
        replace(method, categorical_features=(0,)).condition(x, y)


def test_fields_that_make_no_sense_are_refused():
    for fields in ({"num_classes": 1}, {"num_threads": 0}):
        with pytest.raises(InputError, match="num_classes must be at least 2 and num_threads at least 1"):
            TunedLogistic(**fields)
    for grid in ({"C": ()}, {"solver": "saga"}):
        with pytest.raises(InputError, match="grid needs a sequence of at least one value for each setting"):
            TunedLogistic(grid=grid)
    with pytest.raises(InputError, match="time_limit"):
        TunedLogistic(time_limit=0.0)
