"""The one form of all tuned classifiers: a grid, how to write the columns, and how to fit one setting."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.one_by_one import one_by_one
from priorfit.baselines.tabular.columns import Encoder, Table, standardized_columns
from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Search, Settings, search, stratified_folds
from priorfit.baselines.tabular.grids import Grid
from priorfit.baselines.tabular.posterior import Answer, Fitted, Frequencies, TunedPosterior, as_table
from priorfit.baselines.tabular.scores import Score, roc_auc
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.seeding import derived_seed

with needs_extra("baselines"):
    from threadpoolctl import threadpool_limits


@dataclass(frozen=True, kw_only=True)
class TunedClassifier(ABC):
    """A classifier whose settings are chosen by cross-validation on the context of each dataset alone.

    - **Search**: every setting of ``grid``, by default the paper's, is scored by the mean of ``score`` over five
      stratified folds. The score is the area under the ROC curve, the paper's metric (`scores` has others; the authors'
      released code searched by accuracy, CatBoost by log loss). Of equal settings the one with the higher likelihood of
      the held-out rows wins, then the earlier one. The best is fitted to the whole context.
    - **Few rows**: there are as many folds as the rarest class of the context has rows, at most five. If that is one,
      nothing can be compared, and the first setting is fitted. If the context has one class or none, the answer
      is Laplace's rule, (rows of the class + 1) / (rows + classes). A class that is not in the context has
      the probability `FLOOR`.
    - **Order**: rows are sorted before anything else, so that folds and answers do not depend on their order.
    - **Columns**: those of ``categorical_features`` hold whole numbers that name categories; NaN is a missing value.
      Means and variances are those of the rows that are fitted, in a fold those outside it. The paper told CatBoost
      alone which columns are categorical: to repeat it, leave ``categorical_features`` empty for the others.
    - **Time**: after ``time_limit`` seconds for one dataset the search stops and the best setting so far is fitted (the
      first, if none has been scored). A fit that has begun is not interrupted. `TunedPosterior.searches` tells.

    ``seed`` is the same for every dataset, so that an answer does not depend on the batch.
    """

    grid: Grid
    num_classes: int = 2
    categorical_features: tuple[int, ...] = ()
    score: Score = roc_auc
    seed: int = 0
    time_limit: float | None = None
    num_threads: int = 1

    def __post_init__(self) -> None:
        """Check the fields."""
        Deadline(self.time_limit)
        if self.num_classes < 2 or self.num_threads < 1:
            raise InputError(
                "num_classes must be at least 2 and num_threads at least 1; "
                f"got {self.num_classes} and {self.num_threads}."
            )
        if any(isinstance(values, str) or len(values) == 0 for values in self.grid.values()):
            raise InputError(f"grid needs a sequence of at least one value for each setting; got {self.grid}.")

    @abstractmethod
    def fit(self, x: Any, y: Labels, settings: Settings) -> Classifier:
        """Fit one setting to rows as the encoder writes them, with labels 0 ... K - 1 that all occur."""

    def encoder(self, num_features: int) -> Encoder:
        """How rows are written for this method: by default standardised, without gaps, categories one-hot."""
        return standardized_columns(self.categorical_features, num_features)

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> TunedPosterior:
        """See `Predictor.condition`; all searching and fitting happens here."""
        with threadpool_limits(self.num_threads):
            pairs = one_by_one(context_x, context_y, self._answered)
        return TunedPosterior(
            num_classes=self.num_classes,
            categorical_features=self.categorical_features,
            num_threads=self.num_threads,
            answers=tuple(answer for answer, _ in pairs),
            searches=tuple(found for _, found in pairs),
        )

    @property
    def package_seed(self) -> int:
        """The seed in 31 bits, which every package takes."""
        return derived_seed(self.seed) >> 32

    def _answered(
        self, context_x: Float[Tensor, "context features"], context_y: Num[Tensor, " context"]
    ) -> tuple[Answer, Search]:
        deadline = Deadline(self.time_limit)
        x, y = self._sorted(context_x, context_y)
        present, labels = np.unique(y, return_inverse=True)
        if len(present) < 2:
            return Frequencies.of(y, self.num_classes), Search(chosen=None)
        folds = stratified_folds(x, labels, lambda: self.encoder(x.shape[1]), self.package_seed)
        found = search(self.grid, folds, self.fit, self.score, deadline)
        assert found.chosen is not None
        encoder = self.encoder(x.shape[1]).fit(x)
        classifier = self.fit(encoder.transform(x), labels, found.chosen)
        return Fitted(classifier, encoder, present, self.num_classes), found

    def _sorted(
        self, context_x: Float[Tensor, "context features"], context_y: Num[Tensor, " context"]
    ) -> tuple[Table, Labels]:
        """The rows sorted by their own values, so that their order in the context does not matter."""
        x = as_table(context_x, self.categorical_features)
        y = context_y.detach().cpu().double().numpy()
        if not np.isin(y, np.arange(self.num_classes)).all():
            raise InputError(
                f"context_y must hold the classes 0 to {self.num_classes - 1}; got {sorted(set(y.tolist()))}. "
                "Set num_classes to the number of classes."
            )
        order = np.lexsort((y, *x.T))
        return x[order], y[order].astype(np.int64)
