"""What regressor and classifier share: training rows become the context, other rows the queries."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch.distributions import Distribution

from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.estimators.models import loaded
from priorfit.estimators.readable import numeric, plain, undated
from priorfit.estimators.too_many import Labels, TooManyColumns, TooManyRows, check_choice, kept_columns, kept_rows
from priorfit.extras import needs_extra
from priorfit.network import Model
from priorfit.network.posterior import PFNPosterior
from priorfit.network.surprise import DRAWS, Surprise
from priorfit.predictor import Posterior
from priorfit.priors import Prior

with needs_extra("sklearn"):
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

Table = Float[np.ndarray, "rows features"]
Target = Num[np.ndarray, " rows"]


class PFNEstimator(BaseEstimator, ABC):
    """A PFN as an estimator: ``fit`` conditions it on the training rows, once; other rows are queries.

    Attributes:
        model_: The network.
        posterior_: The network, conditioned on the training rows.
        rows_: Indices of the training rows in the context.
        columns_: Indices of the columns in use.
    """

    model: object
    too_many_rows: TooManyRows
    too_many_columns: TooManyColumns
    random_state: object

    model_: Model
    posterior_: Posterior
    rows_: Int[np.ndarray, " kept"]
    columns_: Int[np.ndarray, " used"]

    @abstractmethod
    def _explained(self, x: Table, y: Target) -> Float[np.ndarray, " features"]:
        """The share of y that each column explains, for the selection of columns."""

    def _loaded(self, kind: type[Real] | type[Classes]) -> Model:
        """Load the model, and check the kind of its targets and the arguments of the constructor."""
        check_choice("too_many_rows", self.too_many_rows, TooManyRows)
        check_choice("too_many_columns", self.too_many_columns, TooManyColumns)
        model = loaded(self.model)
        if not isinstance(model.problem.outcome, kind):
            needed, other = ("classes", "PFNRegressor") if kind is Classes else ("real targets", "PFNClassifier")
            raise InputError(
                f"{type(self).__name__} needs a model over {needed}; {model.card.name!r} was trained on "
                f"{model.problem.outcome}. Use {other}, or another model."
            )
        return model

    def _validated(self, X: Any, **more: Any) -> Any:
        """Tables and targets as arrays, after the checks of scikit-learn and of what it lets pass."""
        if more.get("y") is not None:
            more["y"] = (numeric if more.get("y_numeric") else plain)(more["y"], "y")
        try:
            return validate_data(self, undated(plain(X, "X"), "X"), dtype=(np.float64, np.float32), **more)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InputError(
                f"{type(self).__name__} takes numbers; got text ({error}). Encode such columns first, for instance by "
                "OneHotEncoder or OrdinalEncoder of scikit-learn."
            ) from error

    def _context_rows(self, model: Model, num_rows: int, labels: Labels) -> Int[np.ndarray, " kept"]:
        generator = check_random_state(self.random_state)
        return kept_rows(num_rows, model.card, self.too_many_rows, labels, generator)

    def _condition(self, model: Model, x: Table, y: Target) -> None:
        """Condition the model on the rows of the context, in the user's units."""
        columns = kept_columns(x.shape[1], model.problem, self.too_many_columns, lambda: self._explained(x, y))
        with torch.no_grad():
            self.posterior_ = model.condition(x[:, columns], y)
        self.model_, self.columns_ = model, columns

    def surprise(self, prior: Prior | None = None, draws: int = DRAWS, seed: int = 0) -> Surprise:
        """Did the model's prior draw the training rows? See `PFNPosterior.surprise`; ``print`` the result."""
        check_is_fitted(self, "posterior_")
        if not isinstance(self.posterior_, PFNPosterior):
            raise InputError(f"surprise needs a PFN; this estimator has a {type(self.model_).__name__}.")
        return self.posterior_.surprise(prior, draws, seed)

    def _answer(self, X: Any) -> Distribution:
        """The posterior predictive of rows, in the user's units."""
        check_is_fitted(self, "posterior_")
        x = self._validated(X, reset=False)
        with torch.no_grad():
            return self.posterior_.predict(x[:, self.columns_])
