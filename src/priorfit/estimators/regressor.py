"""A PFN as a scikit-learn regressor with predictive distributions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Real
from priorfit.errors import InputError
from priorfit.estimators.estimator import PFNEstimator, Target, refuse
from priorfit.estimators.models import REGRESSION
from priorfit.estimators.too_many import TooManyColumns, TooManyRows
from priorfit.extras import needs_extra
from priorfit.network import Model

with needs_extra("sklearn"):
    from sklearn.base import RegressorMixin

PerRow = Float[np.ndarray, " rows"]


class PFNRegressor(RegressorMixin, PFNEstimator):
    """Regression by a PFN, as a scikit-learn estimator.

    The answer is that of ``model.condition(X, y)``: a model with free units sees targets with the mean and standard
    deviation of the training rows taken out, and columns likewise, and its distribution is mapped back exactly, in
    float64; a model with fixed units gets the numbers as they are. Frames may hold text, categories, truth values and
    missing values; see `TableEncoder`.

    Args:
        model: The name of a released model, the folder of a saved one, or a `PFN`; by default one for tables of up to
            ten columns and 200 rows.
        n_estimators: The answer is the mixture over so many orders of the columns and codes of the levels; the first
            is that of the table itself.
        too_many_rows: With more training rows than the model was trained for: ``"local"`` answers each query from as
            many rows as that, most of which are near to it, ``"subsample"`` takes a random part of them, ``"use_all"``
            takes all and warns, ``"error"`` refuses; ``"auto"`` is ``"local"`` with a warning.
        too_many_columns: With more columns than the model takes: ``"select"`` takes those that explain most of y in the
            training rows, each alone, ``"error"`` refuses; ``"auto"`` is ``"select"`` with a warning, or ``"error"``
            for a model of one number of columns.
        random_state: Decides permutations and random parts, as in scikit-learn.

    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> regressor = PFNRegressor("gp-rbf-1d").fit(x, np.sin(4 * x[:, 0]))
    >>> mean, std = regressor.predict(x, return_std=True)
    >>> mean.shape, std.shape, regressor.predict_quantiles(x, [0.1, 0.9]).shape
    ((20,), (20,), (20, 2))
    """

    def __init__(
        self,
        model: str | Path | Model = REGRESSION,
        *,
        n_estimators: int = 1,
        too_many_rows: TooManyRows = "auto",
        too_many_columns: TooManyColumns = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.n_estimators = n_estimators
        self.too_many_rows = too_many_rows
        self.too_many_columns = too_many_columns
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **refused: object) -> "PFNRegressor":
        """Condition the model on rows ``X (rows, features)`` and targets ``y (rows,)``; weights are refused."""
        refuse(self, refused)
        encoder, x, y = self._training_table(X, y, y_numeric=True)
        self._condition(self._loaded(Real), encoder, x, y.astype(np.float64), labels=None)
        return self

    def predict_distribution(self, X: Any) -> Distribution:
        """The posterior predictive of each row, in the units of y: a torch ``Distribution`` of shape ``(rows,)``."""
        return self._answer(X)

    def predict(self, X: Any, return_std: bool = False) -> PerRow | tuple[PerRow, PerRow]:
        """The mean of each row's distribution, and its standard deviation if asked for."""
        ppd = self.predict_distribution(X)
        return (as_array(ppd.mean), as_array(ppd.stddev)) if return_std else as_array(ppd.mean)

    def predict_quantiles(
        self, X: Any, quantiles: Sequence[float] | Float[np.ndarray, " quantiles"] = (0.025, 0.5, 0.975)
    ) -> Float[np.ndarray, "rows quantiles"]:
        """The quantiles of each row's distribution, one column for each level."""
        try:
            levels = np.asarray(quantiles, dtype=np.float64)
        except (ValueError, TypeError):
            levels = np.zeros(0)
        if levels.ndim != 1 or not levels.size or not ((levels > 0) & (levels < 1)).all():
            raise InputError(
                f"quantiles must be a list of levels above 0 and below 1; got {quantiles}. Write 95 % as 0.95."
            )
        ppd = self.predict_distribution(X)
        mean = ppd.mean
        return as_array(torch.stack([ppd.icdf(mean.new_tensor(level)) for level in levels], dim=-1))

    def _indicators(self, y: Target) -> Float[np.ndarray, "rows targets"]:
        return y.astype(np.float64)[:, None]


def as_array(values: Num[Tensor, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """A tensor as an array of float64."""
    return values.cpu().double().numpy()
