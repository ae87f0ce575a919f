"""The rows of small tables by method, set and subset, and what follows from all of a method's answers."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from sklearn.metrics import roc_auc_score
from study import Row
from tabular_scores import CalibrationBins, calibration_floor
from tabular_statistics import Scores, mean_ranks

BINS = 100
"""Bins of the calibration error, as in the paper."""
NUM_SUBSETS = 20
"""Subsets of a set, to which the time of a method with fewer is scaled."""


class Board:
    """Answers of methods to subsets, and the seconds of passes that timed them side by side."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._answers: dict[str, dict[tuple[str, int], Row]] = {}
        self._times: dict[str, dict[tuple[str, int], float]] = {}
        for row in rows:
            if "timing" in row:
                self._times.setdefault(row["method"], {})[row["set"], row["timing"]] = row["seconds"]
            else:
                self._answers.setdefault(row["method"], {})[row["set"], row["subset"]] = row
        self.sets = list(dict.fromkeys(name for answers in self._answers.values() for name, _ in answers))

    @property
    def methods(self) -> list[str]:
        """All methods."""
        return list(self._answers)

    @property
    def complete(self) -> list[str]:
        """The methods that answer every set."""
        return [name for name, answers in self._answers.items() if {one for one, _ in answers} == set(self.sets)]

    def incomplete(self) -> list[str]:
        """A line on each method that does not answer every set, and is not ranked."""
        lines = []
        for name in self.methods:
            if name not in self.complete:
                count = len({one for one, _ in self._answers[name]})
                lines.append(f"{name} answers {count} of {len(self.sets)} sets and is not ranked.")
        return lines

    def num_subsets(self, name: str) -> int:
        """The fewest subsets that a method has answered of a set."""
        return min(sum(one == key for key, _ in self._answers[name]) for one in self.sets)

    def scores(self, name: str, score: str) -> Scores:
        """A score of each set and subset."""
        return {key: row[score] for key, row in self._answers[name].items()}

    def of_set(self, name: str, one: str, score: str) -> float | None:
        """The mean of a score over the subsets of a set; None where the method has no answer."""
        values = [value for key, value in self.scores(name, score).items() if key[0] == one]
        return float(np.mean(values)) if values else None

    def mean(self, name: str, score: str) -> float:
        """The mean over sets of the mean over subsets."""
        values = [self.of_set(name, one, score) for one in self.sets]
        return float(np.mean([value for value in values if value is not None]))

    def mean_ranks(self, methods: Sequence[str]) -> dict[str, float]:
        """The mean ranks of some methods by AUC."""
        return self.ranks_of({name: self.scores(name, "auc") for name in methods}, self.sets)

    @staticmethod
    def ranks_of(scores: Mapping[str, Scores], sets: Sequence[str]) -> dict[str, float]:
        """The mean ranks of methods by their scores; empty where there are no sets."""
        return mean_ranks(scores, sets) if sets else {}

    def predictions(self, name: str) -> tuple[Float[np.ndarray, " all"], Bool[np.ndarray, " all"]]:
        """The stated probabilities of class 1 of all queries, and whether they are of class 1."""
        return pooled(list(self._answers[name].values()))

    def pooled_auc(self, name: str) -> float:
        """The mean over sets of the AUC of all predictions of a set together, as in the authors' code."""
        areas = []
        for one in self.sets:
            stated, happened = pooled([row for key, row in self._answers[name].items() if key[0] == one])
            areas.append(roc_auc_score(happened, stated))
        return float(np.mean(areas))

    def calibration_error(self, name: str) -> float:
        """The ECE of class 1 over all predictions."""
        stated, happened = self.predictions(name)
        return CalibrationBins.of_events(happened, stated, BINS).error

    def calibration_floor(self, name: str) -> float:
        """The ECE that the same predictions would have if they were perfectly calibrated."""
        return calibration_floor(self.predictions(name)[0], BINS)

    def seconds(self, name: str) -> float | None:
        """Seconds for all subsets of all sets, by the mean of those that a method has; None for given answers."""
        if None in self.scores(name, "seconds").values():
            return None
        means = [self.of_set(name, one, "seconds") for one in self.sets]
        return NUM_SUBSETS * sum(mean for mean in means if mean is not None)

    def timed(self, name: str) -> dict[tuple[str, int], float]:
        """The seconds of a method by set and pass."""
        return self._times.get(name, {})


def pooled(rows: Sequence[Row]) -> tuple[Float[np.ndarray, " all"], Bool[np.ndarray, " all"]]:
    """The stated probabilities of class 1 of the queries of some rows, and whether they are of class 1."""
    zeros, ones = (np.concatenate([probabilities(row[name]) for row in rows]) for name in ("class_0", "class_1"))
    return np.concatenate([zeros, ones]), np.repeat([False, True], [len(zeros), len(ones)])


def probabilities(digits: str) -> Float[np.ndarray, " queries"]:
    """Probabilities from four digits each, in units of 1e-4."""
    return np.array([int(digits[start : start + 4]) for start in range(0, len(digits), 4)]) / 10_000
