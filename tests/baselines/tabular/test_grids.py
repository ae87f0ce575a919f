import copy

import pytest
from sklearn.model_selection import ParameterGrid

from priorfit.baselines.tabular.grids import PAPER, paper_grid

# Typed from the paper's appendix, "Hyperparameters used in cross-validation for each baseline method".
PRINTED = {
    "logistic": {
        **{"solver": ["saga"], "penalty": ["l1", "l2", "none"], "tol": [0.01, 0.0001, 1e-10], "max_iter": [500]},
        **{"fit_intercept": [True, False], "C": [1e-05, 0.001, 0.01, 0.1, 1.0, 2.0]},
    },
    "knn": {"n_neighbors": [1, 2, 3, 4, 5]},
    "bnn": {
        **{"embed": [5, 10, 30, 64], "lr": [0.001, 0.0001], "num_training_steps": [400]},
        **{"num_samples_for_prediction": [400]},
    },
    "gp": {"params_y_scale": [0.05, 0.1, 0.5, 1.0, 5.0, 10.0], "params_length_scale": [0.1, 0.5, 1.0, 2.0]},
    "catboost": {
        **{"learning_rate": [0.1, 0.5, 1.0], "depth": [2, 4, 7], "l2_leaf_reg": [0.0, 0.5, 1]},
        **{"iterations": [10, 40, 70], "loss_function": ["Logloss"]},
    },
    "xgboost": {
        **{"min_child_weight": [0.5, 1.0], "learning_rate": [0.02, 0.2], "subsample": [0.5, 0.8]},
        **{"max_depth": [1, 2], "colsample_bytree": [0.8], "eval_metric": ["logloss"], "n_estimators": [100]},
    },
}


def test_the_grids_are_those_that_the_paper_prints():
    assert {name: {key: list(values) for key, values in grid.items()} for name, grid in PAPER.items()} == PRINTED


@pytest.mark.parametrize(
    ("baseline", "count"),
    [("logistic", 108), ("knn", 5), ("bnn", 8), ("gp", 24), ("catboost", 81), ("xgboost", 16)],
)
def test_a_grid_has_this_many_settings(baseline, count):
    assert len(ParameterGrid(paper_grid(baseline))) == count


def test_nobody_can_change_the_grids_of_the_paper():
    with pytest.raises(TypeError):
        PAPER["knn"] = {}  # pyright: ignore[reportIndexIssue]
    with pytest.raises(TypeError):
        PAPER["knn"]["n_neighbors"] = (1,)  # pyright: ignore[reportIndexIssue]
    own = paper_grid("knn")
    own["n_neighbors"] = (1,)  # pyright: ignore[reportIndexIssue]
    assert PAPER["knn"]["n_neighbors"] == (1, 2, 3, 4, 5)


def test_a_copy_of_a_grid_can_be_copied_itself_so_that_a_predictor_reaches_other_processes():
    for name in PAPER:
        assert copy.deepcopy(paper_grid(name)) == paper_grid(name) == PAPER[name]
