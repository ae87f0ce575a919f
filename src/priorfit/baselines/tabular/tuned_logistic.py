"""Logistic regression with a tuned penalty."""

import warnings
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from sklearn.dummy import DummyClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

PENALTIES: dict[str, dict[str, float]] = {"l1": {"l1_ratio": 1.0}, "l2": {"l1_ratio": 0.0}, "none": {"C": np.inf}}
"""The paper's ``penalty`` as scikit-learn spells it since 1.8."""


@dataclass(frozen=True, kw_only=True)
class TunedLogistic(TunedClassifier):
    """Logistic regression, scikit-learn's, as a `TunedClassifier`.

    The settings are options of ``LogisticRegression``; ``penalty`` is "l1", "l2" or "none", as in the paper. If no
    column varies, the answer is the shares of the classes.

    >>> import torch
    >>> x, y = torch.arange(12.0)[:, None], torch.tensor([0.0, 1.0]).repeat_interleave(6)
    >>> posterior = TunedLogistic(grid={"C": (0.1, 10.0)}).condition(x, y)
    >>> posterior.predict(x[:2]).probs.shape, posterior.searches[0].num_tried
    (torch.Size([2, 2]), 2)
    """

    grid: Grid = field(default_factory=lambda: paper_grid("logistic"))

    def fit(self, x: Float[np.ndarray, "rows features"], y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        if not x.any():  # its solver would divide by the largest row
            return cast(Classifier, DummyClassifier(strategy="prior").fit(x, y))
        options: dict[str, Any] = dict(settings)
        options |= PENALTIES[options.pop("penalty", "l2")]
        model = LogisticRegression(**options, random_state=self.package_seed)
        with warnings.catch_warnings():
            # the grid itself asks for 500 steps and a tolerance of 1e-10, which they do not always reach
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(x, y)
