"""CatBoost with tuned settings, told which columns are categorical."""

from dataclasses import dataclass, field
from typing import Any, cast

from priorfit.baselines.tabular.columns import Encoder, named_categories
from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    import pandas as pd
    from catboost import CatBoostClassifier, CatBoostError
    from sklearn.dummy import DummyClassifier

LEAST_L2_OF_MANY_CLASSES = 1e-3
"""Without any, Newton's steps for more than two classes are singular: a shift of all logits changes nothing."""


@dataclass(frozen=True, kw_only=True)
class TunedCatBoost(TunedClassifier):
    """CatBoost as a `TunedClassifier`. It knows the categorical columns as such and takes missing values as they are.

    The settings are options of ``CatBoostClassifier``. With more than two classes "Logloss" becomes "MultiClass" and
    ``l2_leaf_reg`` is at least 1e-3. CatBoost refuses rows that are all alike; there the answer is the shares of the
    classes.
    """

    grid: Grid = field(default_factory=lambda: paper_grid("catboost"))

    def encoder(self, num_features: int) -> Encoder:
        """See `TunedClassifier.encoder`."""
        return named_categories(self.categorical_features)

    def fit(self, x: pd.DataFrame, y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        model = CatBoostClassifier(
            **_for_classes(settings, int(y.max()) + 1),
            cat_features=list(self.categorical_features),
            random_seed=self.package_seed,
            thread_count=self.num_threads,
            logging_level="Silent",
            allow_writing_files=False,
        )
        try:
            return model.fit(x, y)
        except CatBoostError as error:
            if "All features are either constant or ignored" not in str(error):
                raise
            return cast(Classifier, DummyClassifier(strategy="prior").fit(x, y))


def _for_classes(settings: Settings, num_classes: int) -> Settings:
    if num_classes == 2:
        return settings
    options: dict[str, Any] = dict(settings)
    if options.get("loss_function") == "Logloss":
        options["loss_function"] = "MultiClass"
    if "l2_leaf_reg" in options:
        options["l2_leaf_reg"] = max(options["l2_leaf_reg"], LEAST_L2_OF_MANY_CLASSES)
    return options
