"""The nearest neighbours, of a tuned number."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from sklearn.neighbors import KNeighborsClassifier


@dataclass(frozen=True, kw_only=True)
class TunedKNN(TunedClassifier):
    """The shares of the classes among the nearest neighbours, scikit-learn's, as a `TunedClassifier`.

    The settings are options of ``KNeighborsClassifier``; there are never more neighbours than rows.
    """

    grid: Grid = field(default_factory=lambda: paper_grid("knn"))

    def fit(self, x: Float[np.ndarray, "rows features"], y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        options: dict[str, Any] = dict(settings)
        num_neighbors = min(options.pop("n_neighbors"), len(y))
        return KNeighborsClassifier(num_neighbors, **options).fit(x, y)
