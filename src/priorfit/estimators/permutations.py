"""An ensemble over what an answer should not depend on: the order of columns, the codes of levels and of classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float, Int64, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_log_probs
from priorfit.distributions.mixing import mixed
from priorfit.estimators.saving import Keeping
from priorfit.predictor import Posterior, Predictor
from priorfit.values import Values, as_tensor


@dataclass(frozen=True)
class View:
    """One way to show a table: columns in an ``order``, levels by other codes, classes numbered from ``shift`` on."""

    order: Int64[Tensor, " columns"]
    codes: dict[int, Int64[Tensor, " levels"]]
    shift: int

    def table(self, x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
        """The table in this view; a missing value stays missing."""
        x = x.clone()
        for column, codes in self.codes.items():
            is_there = ~x[:, column].isnan()
            x[is_there, column] = codes[x[is_there, column].long()].to(x)
        return x[:, self.order]


def views(levels: Sequence[int | None], count: int, generator: np.random.RandomState) -> list[View]:
    """Views of a table with so many levels in its nominal columns: the first is the table as it is.

    The classes are shifted by one from view to view, so that as many views as classes number each in every way.
    """
    first = View(torch.arange(len(levels)), {}, 0)
    return [first, *(_random_view(levels, shift, generator) for shift in range(1, count))]


def _random_view(levels: Sequence[int | None], shift: int, generator: np.random.RandomState) -> View:
    codes = {
        place: torch.from_numpy(generator.permutation(number))
        for place, number in enumerate(levels)
        if number is not None
    }
    return View(torch.from_numpy(generator.permutation(len(levels))), codes, shift)


class Permuted:
    """A `Predictor` whose answer is the average over views of the table: of probabilities, or of densities.

    ``num_classes`` is the number of a model's classes, 0 for as many as the context has, None for real targets.
    """

    def __init__(self, predictor: Predictor, shown: Sequence[View], num_classes: int | None) -> None:
        self.predictor, self.views, self.num_classes = predictor, tuple(shown), num_classes

    def kept(self) -> tuple[list[View], int | None]:
        """What a file holds of it: the views, and the number of classes."""
        return list(self.views), self.num_classes

    def condition(self, context_x: Values, context_y: Values) -> "PermutedPosterior":
        """See `Predictor.condition`; the context goes through the predictor once a view."""
        x, y = as_tensor(context_x, "context_x").double(), as_tensor(context_y, "context_y")
        count = None if self.num_classes is None else self.num_classes or max(2, int(y.max()) + 1)
        posteriors = [self.predictor.condition(view.table(x), shifted(y, view.shift, count)) for view in self.views]
        return PermutedPosterior(posteriors, self.views, count)


def shifted(y: Num[Tensor, " rows"], shift: int, num_classes: int | None) -> Num[Tensor, " rows"]:
    """Classes numbered from ``shift`` on; real targets as they are."""
    return y if num_classes is None else (y + shift) % num_classes


@dataclass(frozen=True)
class KeptPermuted:
    """What a file holds of a `PermutedPosterior`."""

    posteriors: list[Any]
    views: list[View]
    num_classes: int | None


class PermutedPosterior:
    """A context in several views; a `Posterior`."""

    def __init__(self, posteriors: Sequence[Posterior], shown: Sequence[View], num_classes: int | None) -> None:
        self.posteriors, self.views, self.num_classes = tuple(posteriors), tuple(shown), num_classes

    def kept(self) -> KeptPermuted:
        """What a file holds of it."""
        kept = [cast(Keeping, posterior).kept() for posterior in self.posteriors]
        return KeptPermuted(kept, list(self.views), self.num_classes)

    def predict(self, query_x: Values) -> Distribution:
        """See `Posterior.predict`."""
        x = as_tensor(query_x, "query_x").double()
        pairs = zip(self.posteriors, self.views, strict=True)
        return mixed([self._unshifted(posterior.predict(view.table(x)), view) for posterior, view in pairs])

    def _unshifted(self, ppd: Distribution, view: View) -> Distribution:
        if self.num_classes is None:
            return ppd
        places = (torch.arange(self.num_classes) + view.shift) % self.num_classes
        return Categorical(logits=class_log_probs(ppd)[..., places], validate_args=False)
