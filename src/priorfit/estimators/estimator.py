"""What regressor and classifier share: training rows become the context, other rows the queries."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch.distributions import Distribution

from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.estimators.cells import is_numeric, rows_and_columns
from priorfit.estimators.encoding import Matrix, TableEncoder, fitted_encoder, numeric_encoder
from priorfit.estimators.images import check_images, pixel_rows
from priorfit.estimators.local import LocalContexts
from priorfit.estimators.models import loaded
from priorfit.estimators.permutations import Permuted, views
from priorfit.estimators.readable import numeric, plain, undated
from priorfit.estimators.saving import save_estimator
from priorfit.estimators.showing import Showing, showing_for
from priorfit.estimators.too_many import (
    Labels,
    TooManyColumns,
    TooManyRows,
    answers_locally,
    check_choice,
    explained,
    kept_columns,
    kept_rows,
    most_rows,
)
from priorfit.extras import needs_extra
from priorfit.network import Model
from priorfit.network.posterior import PFNPosterior
from priorfit.network.surprise import DRAWS, Surprise
from priorfit.predictor import Posterior, Predictor
from priorfit.priors import Prior

with needs_extra("sklearn"):
    from sklearn.base import BaseEstimator
    from sklearn.utils import Tags, check_array, check_random_state, check_X_y
    from sklearn.utils.validation import check_is_fitted, validate_data

Target = Num[np.ndarray, " rows"]
CHECKS: dict[str, Any] = {"dtype": (np.float64, np.float32), "ensure_all_finite": "allow-nan"}
"""What scikit-learn checks of a matrix: NaN is a missing value."""


class PFNEstimator(BaseEstimator, ABC):
    """A PFN as an estimator: ``fit`` conditions it on the training rows, once; other rows are queries.

    Attributes:
        model_: The network.
        encoder_: How the cells of a table become numbers.
        predictor_: The network with what is around it: an average over permutations, contexts of rows near to a query.
        context_: The matrix that ``predictor_`` was conditioned on, and its targets.
        posterior_: ``predictor_``, conditioned on the training rows.
        rows_: Indices of the training rows in use.
        columns_: Indices of the columns in use.
    """

    model: object
    n_estimators: int
    too_many_rows: TooManyRows
    too_many_columns: TooManyColumns
    random_state: object

    model_: Model
    encoder_: TableEncoder
    showing_: Showing
    predictor_: Predictor
    context_: tuple[Float[np.ndarray, "kept shown"], Num[np.ndarray, " kept"]]
    posterior_: Posterior
    rows_: Int[np.ndarray, " kept"]
    columns_: Int[np.ndarray, " used"]

    @abstractmethod
    def _indicators(self, y: Target) -> Float[np.ndarray, "rows targets"]:
        """The targets of the network as columns of reals, for the selection of columns."""

    def _loaded(self, kind: type[Real] | type[Classes]) -> Model:
        """Load the model, and check the kind of its targets and the arguments of the constructor."""
        check_choice("too_many_rows", self.too_many_rows, TooManyRows)
        check_choice("too_many_columns", self.too_many_columns, TooManyColumns)
        check_count("n_estimators", self.n_estimators)
        model = loaded(self.model)
        if not isinstance(model.problem.outcome, kind):
            needed, other = ("classes", "PFNRegressor") if kind is Classes else ("real targets", "PFNClassifier")
            raise InputError(
                f"{type(self).__name__} needs a model over {needed}; {model.card.name!r} was trained on "
                f"{model.problem.outcome}. Use {other}, or another model."
            )
        return model

    def _training_table(self, X: Any, y: Any, **checks: Any) -> tuple[TableEncoder, Matrix, Any]:
        """How the table is encoded, its numbers, and its targets, after the checks of scikit-learn and our own."""
        table = pixel_rows(plain(X, "X"))
        y = (numeric if checks.get("y_numeric") else plain)(y, "y")
        if is_numeric(table):
            x, y = self._plain_numbers(table, y=y, reset=True, **checks)
            encoder = numeric_encoder(x, self._column_names(x.shape[1]))
            return encoder, encoder.emptied(x), y
        table = rows_and_columns(table)
        validate_data(self, table, y, reset=True, skip_check_array=True)
        encoder = fitted_encoder(table)
        x, y = check_X_y(encoder.encoded(table), y, estimator=self, **CHECKS, **checks)
        return encoder, x, y

    def shown(self, X: Any) -> Float[np.ndarray, "rows shown"]:
        """Rows as the network sees them: the columns in use, encoded, filled or one-hot as it needs them."""
        check_is_fitted(self, "posterior_")
        table = pixel_rows(plain(X, "X"))
        if self.encoder_.reads_plainly(table):
            return self.showing_.shown(self.encoder_.emptied(self._plain_numbers(table, reset=False)))
        table = rows_and_columns(table)
        validate_data(self, table, reset=False, skip_check_array=True)
        x = check_array(self.encoder_.encoded(table), estimator=self, input_name="X", **CHECKS)
        return self.showing_.shown(x)

    def _plain_numbers(self, table: Any, **more: Any) -> Any:
        """Numbers in any form as an array, after the checks of scikit-learn."""
        try:
            return validate_data(self, undated(table, "X"), **CHECKS, **more)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InputError(f"X must be a table of rows and columns; got text ({error}).") from error

    def _column_names(self, count: int) -> list[str]:
        names = vars(self).get("feature_names_in_")
        return [str(place) for place in range(count)] if names is None else [str(name) for name in names]

    def _condition(self, model: Model, encoder: TableEncoder, x: Matrix, y: Target, labels: Labels) -> None:
        """Condition the model on the training rows, in the user's units; nothing is kept of a fit that fails."""
        check_images(model, x)
        generator = check_random_state(self.random_state)
        rows = kept_rows(len(x), model.card, self.too_many_rows, labels, generator)
        columns = kept_columns(
            x.shape[1],
            model.problem,
            self.too_many_columns,
            lambda: explained(x.astype(np.float64), self._indicators(y), encoder.num_levels),
        )
        showing = showing_for(model.problem, encoder, columns)
        context: Any = showing.shown(x[rows]), y[rows]
        predictor = self._predictor(model, showing, len(rows), generator)
        with torch.no_grad():
            self.posterior_ = predictor.condition(*context)
        self.model_, self.encoder_, self.showing_, self.predictor_ = model, encoder, showing, predictor
        self.context_, self.rows_, self.columns_ = context, rows, columns

    def _predictor(self, model: Model, showing: Showing, num_rows: int, generator: np.random.RandomState) -> Predictor:
        """The model itself, or an average over permutations, from all rows or those near to a query."""
        predictor, problem, levels = model, model.problem, showing.shown_levels
        if self.n_estimators > 1:
            predictor = Permuted(predictor, views(levels, self.n_estimators, generator), num_shifted(model))
        if answers_locally(num_rows, model.card, self.too_many_rows):
            most = most_rows(model.card)
            assert most is not None  # else no number of rows is too large
            predictor = LocalContexts(predictor, problem.outcome, most, levels, int(generator.randint(2**31)))
        return predictor

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a folder, from which `load_estimator` gives the same answers; no pickle."""
        save_estimator(self, path)

    def surprise(self, prior: Prior | None = None, draws: int = DRAWS, seed: int = 0) -> Surprise:
        """Did the model's prior draw the training rows? See `PFNPosterior.surprise`; ``print`` the result."""
        check_is_fitted(self, "posterior_")
        if not isinstance(self.posterior_, PFNPosterior):
            raise InputError(
                f"surprise needs one context in a PFN; this estimator has a {type(self.posterior_).__name__} of a "
                f"{type(self.model_).__name__}. Take n_estimators=1 and too_many_rows='subsample'."
            )
        return self.posterior_.surprise(prior, draws, seed)

    def _answer(self, X: Any) -> Distribution:
        """The posterior predictive of rows, in the user's units."""
        x: Any = self.shown(X)
        check_images(self.model_, x)
        with torch.no_grad():
            return self.posterior_.predict(x)

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def num_shifted(model: Model) -> int | None:
    """How many classes a model numbers: 0 for those of its context, None for real targets."""
    outcome = model.problem.outcome
    if not isinstance(outcome, Classes):
        return None
    return outcome.count if model.problem.min_classes is None else 0


def check_count(name: str, value: object) -> None:
    """Refuse what is not a whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1; got {value!r}.")


def refuse(estimator: object, arguments: Mapping[str, object]) -> None:
    """Refuse arguments of ``fit`` that a posterior has no place for; weights that are None are none."""
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise InputError(
            f"{type(estimator).__name__}.fit takes X and y alone; got {', '.join(given)}. A prior knows no weights of "
            "rows: drop them, or repeat rows in proportion to their weight."
        )
