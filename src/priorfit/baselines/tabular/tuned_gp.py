"""A Gaussian process classifier whose kernel is tuned."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel


@dataclass(frozen=True, kw_only=True)
class TunedGP(TunedClassifier):
    """A GP with an RBF kernel and Laplace's approximation, scikit-learn's, as a `TunedClassifier`.

    The settings are the kernel's, ``params_y_scale`` (a variance) and ``params_length_scale``. They are kept as the
    grid says; the authors' released code took them as the start of an ascent of the evidence.
    """

    grid: Grid = field(default_factory=lambda: paper_grid("gp"))

    def fit(self, x: Float[np.ndarray, "rows features"], y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        fixed: Any = None  # scikit-learn's stubs know only the name of an optimiser
        return GaussianProcessClassifier(_kernel(**settings), optimizer=fixed).fit(x, y)


def _kernel(params_y_scale: float, params_length_scale: float) -> Kernel:
    return ConstantKernel(params_y_scale) * RBF(params_length_scale)
