"""Methods that answer small tables: classifiers without tuning, the paper's tuned ones, and released models.

A method for classes gives probabilities (queries, classes); one for numbers gives a distribution of each query.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from catboost import CatBoostClassifier, CatBoostRegressor
from jaxtyping import Float, Int
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from tabular_data import Matrix, Targets, Task
from torch.distributions import Distribution, Normal
from xgboost import XGBClassifier

from priorfit.baselines.tabular.columns import Encoder, named_categories, one_hot_columns, standardized_columns
from priorfit.baselines.tabular.tuned_bnn import TunedBNN
from priorfit.baselines.tabular.tuned_catboost import TunedCatBoost
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.baselines.tabular.tuned_gp import TunedGP
from priorfit.baselines.tabular.tuned_knn import TunedKNN
from priorfit.baselines.tabular.tuned_logistic import TunedLogistic
from priorfit.baselines.tabular.tuned_xgboost import TunedXGBoost
from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import TableWarning
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.network import Model

SEED = 0
"""The seed that every package gets."""

Probabilities = Float[np.ndarray, "rows classes"]
Classify = Callable[[Task], Probabilities]
Regress = Callable[[Task], Distribution]
RawClassify = Callable[[Matrix, Targets, Matrix], Probabilities]
"""Context, labels and queries as numbers (see `Task.matrices`) to probabilities."""
RawRegress = Callable[[Matrix, Targets, Matrix], Distribution]
"""Context, targets and queries as numbers (see `Task.matrices`) to distributions in the unit of the targets."""


def raw_answer(answer: Callable[[Matrix, Targets, Matrix], Any], task: Task) -> Any:
    """What a function of matrices answers; it need not know frames."""
    context, query = task.matrices()
    return answer(context, task.context_y, query)


def encoded(columns: Callable[[tuple[int, ...], int], Encoder], task: Task) -> tuple[Matrix, Matrix]:
    """Context and query as an encoder writes them that is fitted to the context alone."""
    context, query = task.matrices()
    encoder = columns(task.categorical, context.shape[1]).fit(context)
    return encoder.transform(context), encoder.transform(query)


def encoded_answer(
    columns: Callable[[tuple[int, ...], int], Encoder], make: Callable[[], Any], task: Task
) -> Probabilities:
    """The probabilities of a scikit-learn classifier behind an encoder of columns."""
    context, query = encoded(columns, task)
    return make().fit(context, task.context_y).predict_proba(query)


def catboost_answer(task: Task) -> Probabilities:
    """CatBoost with its own defaults, told which columns are categories."""
    context, query = catboost_frames(task)
    model = CatBoostClassifier(cat_features=list(task.categorical), **CATBOOST)
    return model.fit(context, task.context_y).predict_proba(query)


def catboost_frames(task: Task) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Context and query with categories as names, as CatBoost takes them."""
    frames = named_categories(task.categorical)
    context, query = task.matrices()
    return frames.fit(context).transform(context), frames.transform(query)


CATBOOST: dict[str, Any] = {
    "random_seed": SEED,
    "thread_count": 1,
    "logging_level": "Silent",
    "allow_writing_files": False,
}
FOREST: dict[str, Any] = {"random_state": SEED, "n_jobs": 1}

UNTUNED: Mapping[str, Classify] = {
    "random forest": partial(encoded_answer, one_hot_columns, partial(RandomForestClassifier, **FOREST)),
    "ExtraTrees": partial(encoded_answer, one_hot_columns, partial(ExtraTreesClassifier, **FOREST)),
    "CatBoost": catboost_answer,
    "XGBoost": partial(encoded_answer, one_hot_columns, partial(XGBClassifier, **FOREST)),
    "logistic": partial(encoded_answer, standardized_columns, partial(LogisticRegression, max_iter=1000)),
}
"""Classifiers with the defaults of their packages; categories one-hot except for CatBoost, which takes them itself."""


def gp_regression(task: Task) -> Normal:
    """A GP with a lengthscale for each column (ARD), by maximal evidence, on standardised columns."""
    context, query = encoded(standardized_columns, task)
    width = context.shape[1]
    kernel = ConstantKernel(1.0) * RBF(np.full(width, width**0.5), (0.05, 1e4)) + WhiteKernel(0.1, (1e-3, 1e2))
    gp = GaussianProcessRegressor(kernel, normalize_y=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a lengthscale at its bound is a column that does not matter
        mean, deviation = gp.fit(context, task.context_y).predict(query, return_std=True)
    return normal(mean, deviation)


def catboost_uncertainty(task: Task) -> Normal:
    """CatBoost with mean and variance as its outputs (RMSEWithUncertainty) and its own defaults.

    The variance is that of ten virtual ensembles with posterior sampling, of the data and of the ensemble: without
    them its intervals are narrower still.
    """
    context, query = catboost_frames(task)
    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty", posterior_sampling=True, cat_features=list(task.categorical), **CATBOOST
    )
    answer = model.fit(context, task.context_y).virtual_ensembles_predict(
        query, prediction_type="TotalUncertainty", virtual_ensembles_count=10, thread_count=1
    )
    return normal(answer[:, 0], (answer[:, 1] + answer[:, 2]) ** 0.5)


def catboost_regression(task: Task) -> Normal:
    """CatBoost with its own defaults, and the root mean square of its errors in five folds as the deviation."""
    context, query = catboost_frames(task)
    y, errors = task.context_y, np.empty(len(task.context_y))

    def fitted(rows: Int[np.ndarray, " rows"]) -> CatBoostRegressor:  # scikit-learn cannot clone one with categories
        return CatBoostRegressor(cat_features=list(task.categorical), **CATBOOST).fit(context.iloc[rows], y[rows])

    for shown, held in KFold(5, shuffle=True, random_state=SEED).split(context):
        errors[held] = fitted(shown).predict(context.iloc[held]) - y[held]
    mean = fitted(np.arange(len(y))).predict(query)
    return normal(mean, np.full_like(mean, np.sqrt(np.mean(errors**2))))


def forest_regression(task: Task) -> Normal:
    """A random forest, with the root mean square of its out-of-bag errors as the deviation of every query."""
    context, query = encoded(one_hot_columns, task)
    forest = RandomForestRegressor(oob_score=True, **FOREST).fit(context, task.context_y)
    deviation = np.sqrt(np.mean((forest.oob_prediction_ - task.context_y) ** 2))
    mean = forest.predict(query)
    return normal(mean, np.full_like(mean, deviation))


def normal(mean: Float[np.ndarray, " rows"], deviation: Float[np.ndarray, " rows"]) -> Normal:
    """Normal distributions whose deviation is at least 1e-6 of the largest mean, so that every density is finite."""
    least = 1e-6 * max(float(np.abs(mean).max()), 1e-6)
    return Normal(torch.from_numpy(mean), torch.from_numpy(np.maximum(deviation, least)))


REGRESSIONS: Mapping[str, Regress] = {
    "GP (ARD)": gp_regression,
    "CatBoost, uncertainty": catboost_uncertainty,
    "CatBoost, five folds": catboost_regression,
    "random forest": forest_regression,
}
"""Regressors without tuning, each with a distribution."""


def model_classify(model: Model, task: Task) -> Probabilities:
    """A network through its estimator, which is given the frames as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # small models fill gaps and take some columns, and say so
        return PFNClassifier(model=model).fit(task.context_x, task.context_y).predict_proba(task.query_x)


def model_regress(model: Model, task: Task) -> Distribution:
    """A network through its estimator, which is given the frames as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return PFNRegressor(model=model).fit(task.context_x, task.context_y).predict_distribution(task.query_x)


def tuned_answer(make: type[TunedClassifier], task: Task) -> Probabilities:
    """One of the paper's baselines with its grid, searched by cross-validation on the context alone."""
    context, query = (torch.from_numpy(x) for x in task.matrices())
    baseline = make(num_classes=task.num_classes, categorical_features=task.categorical, seed=SEED)  # pyright: ignore[reportCallIssue]
    return class_probs(baseline.condition(context, torch.from_numpy(task.context_y)).predict(query)).numpy()


TUNED: Mapping[str, Classify] = {
    "tuned kNN": partial(tuned_answer, TunedKNN),
    "tuned GP": partial(tuned_answer, TunedGP),
    "tuned XGBoost": partial(tuned_answer, TunedXGBoost),
    "tuned logistic": partial(tuned_answer, TunedLogistic),
    "tuned CatBoost": partial(tuned_answer, TunedCatBoost),
    "tuned BNN": partial(tuned_answer, TunedBNN),
}
"""The paper's baselines, the fastest first; all are told which columns are categories."""
