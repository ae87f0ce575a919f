"""The paper's grids for its tabular baselines (appendix, "Hyperparameters used in cross-validation"), as data.

Names and values are those that are printed. Where a package of today spells an option otherwise, the baseline
translates:

- Logistic regression: since scikit-learn 1.8, ``penalty`` "l1" is ``l1_ratio=1``, "l2" is ``l1_ratio=0``, and "none" is
  ``C=inf`` (so the six values of C are then one and the same model).
- Nearest neighbours: the name is printed as "n_neighbors (max number of samples)". There are never more neighbours than
  rows.
- GP: the kernel is ``params_y_scale * RBF(params_length_scale)``.
- BNN: ``embed`` is the number of hidden units, ``lr`` Adam's learning rate.
- CatBoost: "Logloss" is for two classes; with more it is "MultiClass".
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

Grid = Mapping[str, Sequence[object]]
"""The values to try for each setting; every combination is one candidate."""

PAPER: Mapping[str, Grid] = MappingProxyType(
    {
        "logistic": MappingProxyType(
            {
                "solver": ("saga",),
                "penalty": ("l1", "l2", "none"),
                "tol": (0.01, 0.0001, 1e-10),
                "max_iter": (500,),
                "fit_intercept": (True, False),
                "C": (1e-05, 0.001, 0.01, 0.1, 1.0, 2.0),
            }
        ),
        "knn": MappingProxyType({"n_neighbors": (1, 2, 3, 4, 5)}),
        "bnn": MappingProxyType(
            {
                "embed": (5, 10, 30, 64),
                "lr": (0.001, 0.0001),
                "num_training_steps": (400,),
                "num_samples_for_prediction": (400,),
            }
        ),
        "gp": MappingProxyType(
            {
                "params_y_scale": (0.05, 0.1, 0.5, 1.0, 5.0, 10.0),
                "params_length_scale": (0.1, 0.5, 1.0, 2.0),
            }
        ),
        "catboost": MappingProxyType(
            {
                "learning_rate": (0.1, 0.5, 1.0),
                "depth": (2, 4, 7),
                "l2_leaf_reg": (0.0, 0.5, 1),
                "iterations": (10, 40, 70),
                "loss_function": ("Logloss",),
            }
        ),
        "xgboost": MappingProxyType(
            {
                "min_child_weight": (0.5, 1.0),
                "learning_rate": (0.02, 0.2),
                "subsample": (0.5, 0.8),
                "max_depth": (1, 2),
                "colsample_bytree": (0.8,),
                "eval_metric": ("logloss",),
                "n_estimators": (100,),
            }
        ),
    }
)
"""For each baseline the settings that the paper searched."""


def paper_grid(baseline: str) -> Grid:
    """A copy of the paper's grid for one baseline: a plain dict, which pickles.

    >>> paper_grid("knn")
    {'n_neighbors': (1, 2, 3, 4, 5)}
    """
    return dict(PAPER[baseline])
