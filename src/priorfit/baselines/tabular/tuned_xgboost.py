"""XGBoost with tuned settings."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from priorfit.baselines.tabular.columns import Encoder, one_hot_columns
from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from xgboost import XGBClassifier


@dataclass(frozen=True, kw_only=True)
class TunedXGBoost(TunedClassifier):
    """XGBoost as a `TunedClassifier`. It takes missing values as they are; categories are one-hot.

    The settings are options of ``XGBClassifier``.
    """

    grid: Grid = field(default_factory=lambda: paper_grid("xgboost"))

    def encoder(self, num_features: int) -> Encoder:
        """See `TunedClassifier.encoder`."""
        return one_hot_columns(self.categorical_features, num_features)

    def fit(self, x: Float[np.ndarray, "rows features"], y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        return XGBClassifier(**settings, random_state=self.package_seed, n_jobs=self.num_threads).fit(x, y)
