"""A PFN as a scikit-learn classifier."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch.distributions import Categorical, Distribution

from priorfit.data import Classes
from priorfit.distributions.class_probabilities import class_log_probs, class_probs
from priorfit.errors import InputError
from priorfit.estimators.estimator import PFNEstimator, Target, refuse
from priorfit.estimators.images import check_ways
from priorfit.estimators.models import CLASSES, num_classes
from priorfit.estimators.too_many import TooManyColumns, TooManyRows
from priorfit.extras import needs_extra
from priorfit.network import Model

with needs_extra("sklearn"):
    from sklearn.base import ClassifierMixin
    from sklearn.utils import Tags
    from sklearn.utils.multiclass import check_classification_targets


class PFNClassifier(ClassifierMixin, PFNEstimator):
    """Classification by a PFN, as a scikit-learn estimator.

    Labels may be numbers or text. A model that answers for as many classes as its context has gets the sorted labels as
    0, 1, ... For one with a fixed number of classes, whole numbers that are among them, 0 ... K - 1, stay what they
    are, and where the training rows have fewer, the probabilities are those given that the class is one of them. A
    model with free units sees columns in units of the training rows; one with fixed units sees the numbers as they
    are. Frames may hold text, categories, truth values and missing values; see `TableEncoder`.

    Args:
        model: The name of a released model, the folder of a saved one, or a `PFN`; by default one for two classes and
            tables of up to ten columns and 200 rows.
        n_estimators: The probabilities are averages over so many orders of the columns and codes of the levels and of
            the classes; the first is that of the table itself.
        too_many_rows: With more training rows than the model was trained for: ``"local"`` answers each query from as
            many rows as that, most of which are near to it, ``"subsample"`` takes a random part of them with some of
            each class, ``"use_all"`` takes all and warns, ``"error"`` refuses; ``"auto"`` is ``"local"`` with a
            warning.
        too_many_columns: With more columns than the model takes: ``"select"`` takes those that have most variance in
            common with the classes of the training rows, each alone, ``"error"`` refuses; ``"auto"`` is ``"select"``
            with a warning, or ``"error"`` for a model of one number of columns.
        random_state: Decides permutations and random parts, as in scikit-learn.

    Images ``(n, height, width)`` are taken as rows of pixels, for models of images: ink is 1, the ground is 0.

    >>> import priorfit as pf
    >>> prior = pf.Binarized(pf.LinearRegression(num_features=2))
    >>> model = pf.fit(prior, num_points=20, steps=2, progress=False)
    >>> x = np.random.RandomState(0).rand(10, 2)
    >>> classifier = PFNClassifier(model).fit(x, np.where(x[:, 0] > 0.5, "high", "low"))
    >>> classifier.classes_, classifier.predict_proba(x).shape
    (array(['high', 'low'], dtype='<U4'), (10, 2))
    """

    classes_: Shaped[np.ndarray, " classes"]
    codes_: Int[np.ndarray, " classes"]

    def __init__(
        self,
        model: str | Path | Model = CLASSES,
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

    def fit(self, X: Any, y: Any, **refused: object) -> "PFNClassifier":
        """Condition the model on rows ``X (rows, features)`` and labels ``y (rows,)``; weights are refused."""
        refuse(self, refused)
        encoder, x, y = self._training_table(X, y)
        try:
            check_classification_targets(y)
            classes, labels = np.unique(y, return_inverse=True)
        except TypeError as error:  # they cannot be sorted
            raise InputError(
                f"labels must be all numbers or all text; got several types, or missing ones ({error}). Drop or encode "
                "those rows."
            ) from error
        model = self._loaded(Classes)
        check_number(len(classes), known_classes(model))
        check_ways(model, len(classes))
        codes = np.arange(len(classes))
        if model.problem.min_classes is None:
            codes = class_codes(classes, known_classes(model))
        self._condition(model, encoder, x, codes[labels], labels)
        self.classes_, self.codes_ = classes, codes
        return self

    def predict_distribution(self, X: Any) -> Distribution:
        """Posterior predictive over the indices of ``classes_``: a Categorical of shape ``(rows,)``."""
        ppd = self._answer(X)
        log_probs = class_log_probs(ppd)
        if len(self.classes_) == log_probs.shape[-1]:
            return ppd
        return Categorical(logits=log_probs[..., self.codes_], validate_args=False)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "rows classes"]:
        """The probability of each class, in the order of ``classes_``."""
        return class_probs(self.predict_distribution(X)).cpu().numpy()

    def predict(self, X: Any) -> Shaped[np.ndarray, " rows"]:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = num_classes(vars(self).get("model_", self.model)) != 2
        return tags

    def _indicators(self, y: Target) -> Float[np.ndarray, "rows targets"]:
        return (y[:, None] == np.arange(max(2, int(y.max()) + 1))).astype(np.float64)


def known_classes(model: Model) -> int:
    """How many classes a model knows."""
    assert isinstance(model.problem.outcome, Classes)
    return model.problem.outcome.count


def class_codes(classes: Shaped[np.ndarray, " classes"], known: int) -> Int[np.ndarray, " classes"]:
    """The model's number of each label: the label itself where all are numbers of the model, else its rank.

    >>> class_codes(np.array([0, 2]), known=3), class_codes(np.array(["no", "yes"]), known=3)
    (array([0, 2]), array([0, 1]))
    """
    if classes.dtype.kind in "biuf" and np.isin(classes, np.arange(known)).all():
        return classes.astype(np.int64)
    return np.arange(len(classes))


def check_number(found: int, known: int) -> None:
    """Refuse more classes than a model knows."""
    if found > known:
        only_binary = "Only binary classification is supported. " if known == 2 else ""
        raise InputError(
            f"{only_binary}This model knows {known} classes; y has {found}. Take a model for more, or wrap the "
            "classifier in scikit-learn's OneVsRestClassifier."
        )
