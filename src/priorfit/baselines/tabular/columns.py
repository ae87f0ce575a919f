"""The columns of a table as each method takes them; all statistics are those of the rows that are fitted."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from priorfit.errors import InputError
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    import pandas as pd
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

Table = Float[np.ndarray, "rows features"]


@runtime_checkable
class Encoder(Protocol):
    """Learns from some rows how to write rows for a method."""

    def fit(self, x: Table, /) -> Any:
        """Take the statistics of these rows."""
        ...

    def transform(self, x: Table, /) -> Any:
        """The rows as the method takes them."""
        ...


class Standardizer(TransformerMixin, BaseEstimator):
    """Mean 0 and variance 1; a column that does not vary is 0 everywhere.

    scikit-learn's ``StandardScaler`` would keep the scale of such a column, so that a query which differs there could
    be further from all rows than any two of them.
    """

    def fit(self, x: Table, y: None = None) -> "Standardizer":
        """Take mean and standard deviation of each column."""
        self.mean_, scale = x.mean(0), x.std(0)
        varies = scale > 10 * np.finfo(np.float64).eps * np.abs(self.mean_)  # less is rounding
        self.factor_ = np.divide(1.0, scale, out=np.zeros_like(scale), where=varies)
        return self

    def transform(self, x: Table) -> Table:
        """The rows in units of the rows that were fitted."""
        return (x - self.mean_) * self.factor_


def standardized_columns(categorical: Sequence[int], num_features: int) -> Encoder:
    """Numbers with mean 0 and variance 1, a missing one becoming the mean; categories one-hot.

    A missing category is a category of its own, and one that was not seen has no column.
    """
    numbers = make_pipeline(SimpleImputer(strategy="mean", keep_empty_features=True), Standardizer())
    return _by_kind(numbers, categorical, num_features)


def one_hot_columns(categorical: Sequence[int], num_features: int) -> Encoder:
    """Numbers as they are, missing ones too; categories one-hot."""
    return _by_kind("passthrough", categorical, num_features)


def named_categories(categorical: Sequence[int]) -> Encoder:
    """A pandas table: numbers as they are, categories as strings ("missing" if missing)."""
    return FunctionTransformer(partial(_frame, categorical=tuple(categorical)))


def check_categories(x: Table, categorical: Sequence[int]) -> None:
    """Categorical columns must exist and hold whole numbers or NaN."""
    wrong = [column for column in categorical if not 0 <= column < x.shape[1]]
    if wrong:
        raise InputError(f"categorical_features must be columns of x, 0 to {x.shape[1] - 1}; got {wrong}.")
    codes = x[:, list(categorical)]
    if not ((codes == np.round(codes)) | np.isnan(codes)).all():
        raise InputError("the columns in categorical_features must hold whole numbers or NaN, one code a category.")


def _by_kind(numbers: Any, categorical: Sequence[int], num_features: int) -> Encoder:
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    others = [column for column in range(num_features) if column not in categorical]
    return ColumnTransformer([("numbers", numbers, others), ("categories", categories, list(categorical))])


def _frame(x: Table, categorical: Sequence[int]) -> pd.DataFrame:
    names = {column: [_name(code) for code in x[:, column]] for column in categorical}
    return pd.DataFrame({column: names.get(column, x[:, column]) for column in range(x.shape[1])})


def _name(code: float) -> str:
    return "missing" if np.isnan(code) else str(int(code))
