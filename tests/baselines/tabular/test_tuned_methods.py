"""Each tuned classifier against its package, called directly."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from baselines.tabular.methods import METHODS, table
from catboost import CatBoostClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from priorfit.baselines import TunedBNN, TunedCatBoost, TunedGP, TunedKNN, TunedLogistic, TunedXGBoost
from priorfit.baselines.bnn.svi_bnn import SviBNN
from priorfit.baselines.tabular.probabilities import FLOOR
from priorfit.data import Classes
from priorfit.distributions.class_probabilities import class_probs
from priorfit.priors import BayesianNetwork

SEED = TunedKNN().package_seed
QUERIES = torch.randn(7, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def answered(method, settings, num_classes, x=None, queries=QUERIES, **fields):
    """The probabilities of a method that has no choice, and the rows that it was given."""
    given, y = table(num_classes=num_classes)
    x = given if x is None else x
    tuned = method(grid={name: (value,) for name, value in settings.items()}, num_classes=num_classes, **fields)
    return class_probs(tuned.condition(x, y).predict(queries)), x.numpy(), y.numpy().astype(int)


def check(given, expected):
    np.testing.assert_allclose(given.numpy(), expected, rtol=0, atol=3 * FLOOR)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize(
    ("penalty", "spelled"), [("l1", {"l1_ratio": 1.0}), ("l2", {"l1_ratio": 0.0}), ("none", {"C": np.inf})]
)
def test_logistic_regression_is_that_of_scikit_learn(num_classes, penalty, spelled):
    settings = {"solver": "saga", "tol": 0.01, "max_iter": 500, "fit_intercept": True, "C": 0.1}
    given, x, y = answered(TunedLogistic, settings | {"penalty": penalty}, num_classes)
    model = make_pipeline(StandardScaler(), LogisticRegression(**(settings | spelled), random_state=SEED))
    check(given, model.fit(x, y).predict_proba(QUERIES))


@pytest.mark.parametrize("num_classes", [2, 3])
def test_nearest_neighbours_are_those_of_scikit_learn(num_classes):
    given, x, y = answered(TunedKNN, {"n_neighbors": 4}, num_classes)
    check(given, make_pipeline(StandardScaler(), KNeighborsClassifier(4)).fit(x, y).predict_proba(QUERIES))


def test_there_are_never_more_neighbours_than_rows():
    x, y = table(num_rows=4)
    p = TunedKNN(grid={"n_neighbors": (5,)}).condition(x, y).predict(QUERIES).probs[..., 1]
    check(p, np.full(7, 0.5))


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_gp_is_that_of_scikit_learn_with_the_kernel_of_the_grid(num_classes):
    given, x, y = answered(TunedGP, {"params_y_scale": 5.0, "params_length_scale": 0.5}, num_classes)
    model = make_pipeline(StandardScaler(), GaussianProcessClassifier(5.0 * RBF(0.5), optimizer=None))
    check(given, model.fit(x, y).predict_proba(QUERIES))


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("activation", [None, "tanh"])
def test_the_bnn_is_svi_on_the_network_of_the_paper(num_classes, activation):
    settings = {"embed": 3, "lr": 0.01, "num_training_steps": 20, "num_samples_for_prediction": 10}
    given, x, y = answered(TunedBNN, settings, num_classes, activation=activation)
    network = BayesianNetwork(num_features=4, hidden=(3,), activation=activation, outcome=Classes(num_classes))
    scaler = StandardScaler().fit(x)
    posterior = SviBNN(network, num_steps=20, num_samples=10, learning_rate=0.01).condition(
        torch.from_numpy(scaler.transform(x)), torch.from_numpy(y)
    )
    check(given, class_probs(posterior.predict(torch.from_numpy(scaler.transform(QUERIES)))))


@pytest.mark.parametrize(("num_classes", "loss"), [(2, "Logloss"), (3, "MultiClass")])
def test_catboost_is_that_of_its_package_with_gaps_and_categories(num_classes, loss):
    x, _ = table()
    x[::4, 0] = torch.nan
    x[:, 1] = torch.arange(30) % 3
    queries = QUERIES.clone()
    queries[:, 1] = torch.arange(7) % 3
    settings = {"learning_rate": 0.5, "depth": 2, "l2_leaf_reg": 0.5, "iterations": 10}
    fields = {"x": x, "queries": queries, "categorical_features": (1,)}
    given, x, y = answered(TunedCatBoost, settings | {"loss_function": "Logloss"}, num_classes, **fields)
    model = CatBoostClassifier(
        **settings, loss_function=loss, cat_features=[1], random_seed=SEED, thread_count=1, silent=True,
        allow_writing_files=False,
    )  # fmt: skip
    expected = model.fit(_with_names(x), y).predict_proba(_with_names(queries.numpy()))
    check(given, expected)


def _with_names(x):
    return pd.DataFrame(x).astype({1: int}).astype({1: str})


def test_catboost_knows_which_columns_are_categorical():
    x, y = table()
    x[:, [0, 2]] = (torch.arange(60) % 5).reshape(30, 2).double()
    method = replace(METHODS["catboost"], categorical_features=(0, 2))
    told = method.condition(x, y).answers[0].classifier
    untold = METHODS["catboost"].condition(x, y).answers[0].classifier
    assert told.get_cat_feature_indices() == [0, 2]
    assert untold.get_cat_feature_indices() == []


@pytest.mark.parametrize("name", ["logistic", "knn", "gp", "catboost"])
def test_the_codes_of_categories_are_mere_names(name):
    x, y = table(num_rows=40)
    x[:, 0] = torch.randint(0, 4, (40,), generator=torch.Generator().manual_seed(1)).double()
    renamed = x.clone()
    renamed[:, 0] = torch.tensor([3.0, 0.0, 2.0, 1.0]).double()[x[:, 0].long()]
    told = replace(METHODS[name], categorical_features=(0,))
    torch.testing.assert_close(told.condition(renamed, y).predict(renamed).probs, told.condition(x, y).predict(x).probs)
    untold = METHODS[name]
    assert not torch.allclose(
        untold.condition(renamed, y).predict(renamed).probs, untold.condition(x, y).predict(x).probs, atol=1e-3
    )


def test_catboost_of_three_classes_takes_the_whole_grid():
    settings = {"learning_rate": 1.0, "depth": 7, "l2_leaf_reg": 0.0, "iterations": 70, "loss_function": "Logloss"}
    given, *_ = answered(TunedCatBoost, settings, 3)
    assert given.isfinite().all()


@pytest.mark.parametrize("num_classes", [2, 3])
def test_xgboost_is_that_of_its_package_with_gaps_and_one_hot_categories(num_classes):
    x, _ = table()
    x[::4, 0] = torch.nan
    x[:, 1] = torch.arange(30) % 3
    queries = QUERIES.clone()
    queries[:, 1] = torch.arange(7) % 3
    settings = {
        **{"min_child_weight": 0.5, "learning_rate": 0.2, "subsample": 0.5, "max_depth": 2},
        **{"colsample_bytree": 0.8, "eval_metric": "logloss", "n_estimators": 100},
    }
    fields = {"x": x, "queries": queries, "categorical_features": (1,)}
    given, x, y = answered(TunedXGBoost, settings, num_classes, **fields)
    model = XGBClassifier(**settings, random_state=SEED, n_jobs=1).fit(_one_hot(x), y)
    check(given, model.predict_proba(_one_hot(queries.numpy())))


def _one_hot(x):
    return np.hstack([x[:, [0, 2, 3]], x[:, [1]] == np.arange(3)])


def found_by_scikit_learn(estimator, grid, x, y):
    """The best setting and its score, by scikit-learn's own search over the same folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    scoring = {"score": "roc_auc", "likelihood": "neg_log_loss"}
    results = GridSearchCV(estimator, grid, cv=folds, scoring=scoring, refit=False).fit(x, y).cv_results_
    means = list(zip(results["mean_test_score"].round(12), results["mean_test_likelihood"], strict=True))
    best = max(range(len(means)), key=means.__getitem__)
    return results["params"][best], means[best][0], len({mean for mean, _ in means})


def test_the_search_finds_what_scikit_learns_search_finds_for_the_gp():
    x, y = table(num_rows=40)
    y[::5] = 1 - y[::5]
    (found,) = TunedGP().condition(x, y).searches
    settings = [
        {"params_y_scale": scale, "params_length_scale": length}
        for length in (0.1, 0.5, 1.0, 2.0)
        for scale in (0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
    ]
    kernels = [each["params_y_scale"] * RBF(each["params_length_scale"]) for each in settings]
    model = make_pipeline(StandardScaler(), GaussianProcessClassifier(optimizer=None))
    best, score, num_scores = found_by_scikit_learn(
        model, {"gaussianprocessclassifier__kernel": kernels}, x.numpy(), y.numpy()
    )
    assert num_scores > 3, "the settings differ"
    assert found.chosen == settings[kernels.index(best["gaussianprocessclassifier__kernel"])]
    assert (found.score, found.num_tried, found.num_settings, found.num_folds) == (pytest.approx(score), 24, 24, 5)


def test_the_search_finds_what_scikit_learns_search_finds_for_xgboost():
    x, y = table(num_rows=40)
    y[::5] = 1 - y[::5]
    grid = {"n_estimators": (3, 30), "max_depth": (1, 3), "learning_rate": (0.02, 0.5), "subsample": (0.5,)}
    (found,) = TunedXGBoost(grid=grid).condition(x, y).searches
    model = XGBClassifier(random_state=SEED, n_jobs=1)
    best, score, num_scores = found_by_scikit_learn(model, grid, x.numpy(), y.numpy().astype(int))
    assert num_scores > 3, "the settings differ"
    assert (found.chosen, found.score) == (best, pytest.approx(score))


def test_without_a_grid_of_its_own_each_searches_that_of_the_paper():
    counts = {TunedLogistic: 108, TunedKNN: 5, TunedGP: 24, TunedBNN: 8, TunedCatBoost: 81, TunedXGBoost: 16}
    x, y = table(num_rows=10)
    for method, count in counts.items():
        (found,) = method(time_limit=1e-9).condition(x, y).searches
        assert found.num_settings == count
