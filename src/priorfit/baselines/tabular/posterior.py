"""The posterior predictive of a tuned classifier."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Categorical

from priorfit.baselines.tabular.columns import Encoder, Table, check_categories
from priorfit.baselines.tabular.cross_validation import Classifier, Search
from priorfit.baselines.tabular.probabilities import floored
from priorfit.errors import InputError
from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from threadpoolctl import threadpool_limits


@runtime_checkable
class Answer(Protocol):
    """The probabilities of all classes for the queries of one dataset."""

    def probabilities(self, x: Table) -> Float[np.ndarray, "rows classes"]:
        """One row for each query."""
        ...


@dataclass(frozen=True)
class Frequencies:
    """The same prediction for every query, where the context holds fewer than two classes."""

    shares: Float[np.ndarray, " classes"]

    @classmethod
    def of(cls, y: Int[np.ndarray, " rows"], num_classes: int) -> "Frequencies":
        """Laplace's rule: (rows of the class + 1) / (rows + classes).

        >>> Frequencies.of(np.array([1, 1]), num_classes=2).shares
        array([0.25, 0.75])
        """
        return cls((np.bincount(y, minlength=num_classes) + 1) / (len(y) + num_classes))

    def probabilities(self, x: Table) -> Float[np.ndarray, "rows classes"]:
        """See `Answer`."""
        return np.tile(self.shares, (len(x), 1))


@dataclass(frozen=True)
class Fitted:
    """A classifier fitted to the classes that the context holds; the others get the floor."""

    classifier: Classifier
    encoder: Encoder
    present: Int[np.ndarray, " present"]
    num_classes: int

    def probabilities(self, x: Table) -> Float[np.ndarray, "rows classes"]:
        """See `Answer`."""
        all_classes = np.zeros((len(x), self.num_classes))
        if len(x) > 0:  # no package answers an empty table
            all_classes[:, self.present] = self.classifier.predict_proba(self.encoder.transform(x))
        return floored(all_classes)


@dataclass(frozen=True)
class TunedPosterior:
    """One answer a dataset, and for each the search that led to it, the last axis of the batch fastest."""

    num_classes: int
    categorical_features: tuple[int, ...]
    num_threads: int
    answers: tuple[Answer, ...]
    searches: tuple[Search, ...]

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Categorical:
        """The probabilities of the classes; none is below `FLOOR`."""
        tables = query_x.reshape(len(self.answers), *query_x.shape[-2:])
        probs = torch.empty(*tables.shape[:-1], self.num_classes, dtype=torch.float64)  # (datasets, query, classes)
        with threadpool_limits(self.num_threads):
            for i, answer in enumerate(self.answers):
                probs[i] = torch.from_numpy(answer.probabilities(as_table(tables[i], self.categorical_features)))
        # as logits and from float64, small probabilities keep all their digits in float32
        logits = probs.log().reshape(*query_x.shape[:-1], self.num_classes).to(query_x.device)
        return Categorical(logits=logits.to(query_x.dtype), validate_args=False)


def as_table(x: Float[Tensor, "rows features"], categorical: tuple[int, ...]) -> Table:
    """The inputs of one dataset as the packages take them: float64, NaN where a value is missing."""
    table = x.detach().cpu().double().numpy()
    if np.isinf(table).any():
        raise InputError("x must be finite, or NaN where a value is missing; got an infinite value.")
    check_categories(table, categorical)
    return table
