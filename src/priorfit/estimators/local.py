"""More rows than a network reads at once: each query is answered from a context of rows near to it.

The training rows are clustered, twice as many clusters as they would fill contexts. The context of a cluster are the
rows nearest to its centre and, to a quarter, random others, which keep the shares of the classes and the scale of the
targets in sight: without them a query near one class sees little else. A query goes to the nearest centre, so no query
changes the answer to another. Beside one subsample it lowers the log loss (`benchmarks/pilots/too_many_rows.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.distributions import Distribution

from priorfit.data import Classes, Outcome
from priorfit.distributions.joining import joined, selected
from priorfit.errors import InputError
from priorfit.estimators.permutations import Permuted, View
from priorfit.extras import needs_extra
from priorfit.predictor import Predictor
from priorfit.values import Values, as_tensor

with needs_extra("sklearn"):
    from sklearn.cluster import KMeans

NEAR_SHARE = 0.75
CENTRES = 2
"""Centres for each context that the rows would fill."""
MOST_CENTRES = 32
CLUSTERED_ROWS = 10_000
"""Rows that the centres are found by; more would take longer and move them little."""
MOST_LEVELS = 50
"""A nominal column of more levels does not count in distances."""
FARTHEST = 3.0
"""Standard deviations to which distances in a column are clipped: an outlier is no neighbourhood of its own."""

Points = Float[np.ndarray, "rows coordinates"]


@dataclass(frozen=True)
class Coordinates:
    """Rows as points: columns in standard units, a nominal one as an axis a level, which differ by as much on average.

    A missing value lies at the mean.
    """

    levels: Sequence[int | None]
    mean: Float[np.ndarray, " columns"]
    scale: Float[np.ndarray, " columns"]

    @classmethod
    def of(cls, x: Float[np.ndarray, "rows columns"], levels: Sequence[int | None]) -> "Coordinates":
        """The units of some rows."""
        present = np.where(np.isnan(x).all(0), 0.0, x)
        mean, scale = np.nanmean(present, axis=0), np.nanstd(present, axis=0)
        return cls(list(levels), mean, np.where(scale > 0, scale, 1.0))

    def points(self, x: Float[np.ndarray, "rows columns"]) -> Points:
        """The points of rows."""
        standard = np.nan_to_num((x - self.mean) / self.scale).clip(-FARTHEST, FARTHEST)
        axes = [
            standard[:, [place]] if count is None else (x[:, [place]] == np.arange(count)).astype(np.float64)
            for place, count in enumerate(self.levels)
            if count is None or count <= MOST_LEVELS
        ]
        return np.concatenate(axes, axis=1) if axes else np.zeros((len(x), 1))


class LocalContexts:
    """A `Predictor` that answers each query from ``size`` rows near to it.

    ``levels`` are the numbers of levels of the columns that hold codes. Where the ``outcome`` is a class, each context
    keeps a row of every class.
    """

    def __init__(
        self, predictor: Predictor, outcome: Outcome, size: int, levels: Sequence[int | None], seed: int
    ) -> None:
        self.predictor, self.outcome, self.size, self.levels, self.seed = predictor, outcome, size, levels, seed

    def condition(self, context_x: Values, context_y: Values) -> "LocalPosterior":
        """Find the centres and their contexts; a context goes through the predictor when a query needs it."""
        x = as_tensor(context_x, "context_x").double().numpy()
        y = as_tensor(context_y, "context_y").numpy()
        coordinates, generator = Coordinates.of(x, self.levels), np.random.RandomState(self.seed)
        points = coordinates.points(x)
        sample = points[generator.permutation(len(x))[:CLUSTERED_ROWS]]
        count = min(CENTRES * -(-len(x) // self.size), MOST_CENTRES, len(np.unique(sample, axis=0)))
        clusters = KMeans(count, n_init=1, max_iter=20, random_state=generator)  # pyright: ignore[reportArgumentType]
        centres = clusters.fit(sample).cluster_centers_
        labels = y if isinstance(self.outcome, Classes) else None
        rows = [context_rows(squared_distance(points, centre), self.size, labels, generator) for centre in centres]
        return LocalPosterior(self.predictor, (x, y), coordinates, centres, rows)


@dataclass(frozen=True)
class KeptLocal:
    """What a file holds of a `LocalPosterior`: the rows, from which contexts are formed when a query needs them.

    ``views`` are those of a `Permuted` model, none where the model itself answers.
    """

    context: tuple[np.ndarray, np.ndarray]
    coordinates: Coordinates
    centres: Points
    rows: list[np.ndarray]
    views: list[View]
    num_classes: int | None


class LocalPosterior:
    """The contexts of a table; a `Posterior`."""

    def __init__(
        self,
        predictor: Predictor,
        context: tuple[np.ndarray, np.ndarray],
        coordinates: Coordinates,
        centres: Points,
        rows: list[Int[np.ndarray, " size"]],
    ) -> None:
        self.predictor, self.context, self.coordinates = predictor, context, coordinates
        self.centres, self.rows = centres, rows

    def kept(self) -> KeptLocal:
        """What a file holds of it."""
        views, count = ([], None) if not isinstance(self.predictor, Permuted) else self.predictor.kept()
        return KeptLocal(self.context, self.coordinates, self.centres, self.rows, views, count)

    def predict(self, query_x: Values) -> Distribution:
        """See `Posterior.predict`."""
        queries = as_tensor(query_x, "query_x").double().numpy()
        points = self.coordinates.points(queries)
        nearest = np.stack([squared_distance(points, centre) for centre in self.centres]).argmin(0)
        homes = [np.flatnonzero(nearest == home) for home in range(len(self.centres))]
        x, y = self.context
        parts = [
            self.predictor.condition(torch.tensor(x[rows]), torch.tensor(y[rows])).predict(torch.tensor(queries[home]))
            for rows, home in zip(self.rows, homes, strict=True)
            if len(home)
        ]
        return selected(joined(parts), torch.from_numpy(np.argsort(np.concatenate(homes), kind="stable")))


def squared_distance(points: Points, centre: Float[np.ndarray, " coordinates"]) -> Float[np.ndarray, " rows"]:
    """The squared Euclidean distance of each point to a centre."""
    return ((points - centre) ** 2).sum(1)


def context_rows(
    distance: Float[np.ndarray, " rows"],
    size: int,
    labels: np.ndarray | None,
    generator: np.random.RandomState,
) -> Int[np.ndarray, " size"]:
    """The rows of one context: the nearest of each class first, then the nearest of all, then random others."""
    order = np.argsort(distance, kind="stable")
    first = np.zeros(0, dtype=np.int64)
    if labels is not None:
        _, places = np.unique(labels[order], return_index=True)
        first = order[places]
        if len(first) > size:
            raise InputError(f"{size} rows, as many as this model takes, cannot hold {len(first)} classes.")
    others = order[~np.isin(order, first)]
    near = max(0, int(NEAR_SHARE * size) - len(first))
    random = generator.permutation(others[near:])[: size - near - len(first)]
    return np.sort(np.concatenate([first, others[:near], random]))
