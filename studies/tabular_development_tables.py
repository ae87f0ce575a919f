"""The tables of `tabular_development`: one for each group of sets and number of rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from study import Row, table
from tabular_scores import CalibrationBins


@dataclass(frozen=True)
class Section:
    """The sets of a group whose targets are ``classes`` or ``numbers``, with this many labelled rows."""

    group: str
    kind: str
    rows: int

    def holds(self, row: Row) -> bool:
        """Whether a row belongs here."""
        return (row["group"], row["kind"], row["rows"]) == (self.group, self.kind, self.rows)


class Scores:
    """The scores of one method by set, on the first subsets; sets that the method refuses have none."""

    def __init__(self, rows: Sequence[Row], subsets: int | None) -> None:
        self._rows = {row["set"]: row for row in rows}
        self._subsets = subsets

    @property
    def refused(self) -> dict[str, str]:
        """The sets that the method refuses, and the first sentence of its reason."""
        refused = {name: row["refused"] for name, row in self._rows.items() if "refused" in row}
        return {name: reason.split(". ")[0] for name, reason in refused.items()}

    @property
    def sets(self) -> list[str]:
        """The sets that the method answers."""
        return [name for name, row in self._rows.items() if "refused" not in row]

    def of(self, name: str, score: str) -> np.ndarray:
        """A score of each subset of a set."""
        return np.array(self._rows[name][score][: self._subsets], dtype=np.float64)

    def mean(self, score: str) -> float:
        """The mean over sets of the mean over subsets."""
        return float(np.mean([np.nanmean(self.of(name, score)) for name in self.sets]))

    def nrmse(self) -> float:
        """The mean over sets of the root of the mean squared error."""
        return float(np.mean([np.sqrt(np.nanmean(self.of(name, "squared_error"))) for name in self.sets]))

    def calibration_error(self) -> float:
        """The ECE of all predictions together."""
        surplus = sum(self.of(name, "surplus").sum(0) for name in self.sets)
        return CalibrationBins(np.asarray(surplus), int(sum(self.of(name, "count").sum() for name in self.sets))).error

    def milliseconds(self) -> float:
        """Milliseconds for one subset, fitting and predicting, over all sets."""
        rows = [self._rows[name] for name in self.sets]
        return 1000 * sum(row["seconds"] for row in rows) / sum(len(row["log_loss"]) for row in rows)


def difference(one: Scores, other: Scores, score: str) -> tuple[float, float]:
    """The mean difference of two methods on the sets that both answer, and half of its 95 % interval over subsets."""
    pairs = [in_both(one.of(name, score), other.of(name, score)) for name in one.sets if name in other.sets]
    if not pairs:
        return float("nan"), float("nan")
    mean = np.mean([pair.mean() for pair in pairs])
    variance = np.sum([pair.var(ddof=1) / len(pair) for pair in pairs if len(pair) > 1]) / len(pairs) ** 2
    return float(mean), float(1.96 * np.sqrt(variance))


def in_both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The differences on the subsets that both have scores of; one may have answered fewer."""
    count = min(len(one), len(other))
    difference = one[:count] - other[:count]
    return difference[np.isfinite(difference)]


REFERENCES = ("CatBoost", "GP (ARD)")
"""The baseline that others are compared with: that of classes, and that of numbers."""

Column = Callable[[Scores], str]

CLASSES: dict[str, Column] = {
    "AUC": lambda scores: f"{scores.mean('auc'):.4f}",
    "log loss": lambda scores: f"{scores.mean('log_loss'):.4f}",
    "ECE": lambda scores: f"{scores.calibration_error():.4f}",
}
NUMBERS: dict[str, Column] = {
    "CRPS": lambda scores: f"{scores.mean('crps'):.4f}",
    "log loss": lambda scores: f"{scores.mean('log_loss'):.4f}",
    "NRMSE": lambda scores: f"{scores.nrmse():.4f}",
    "in 95 %": lambda scores: f"{scores.mean('coverage'):.3f}",
}


def tell(rows: Sequence[Row], sections: Sequence[Section], subsets: int | None = None) -> str:
    """One table with means and one with the loss of each set, for each section that has rows."""
    told = []
    for section in sections:
        methods: dict[str, list[Row]] = {}
        for row in rows:
            if section.holds(row):
                methods.setdefault(row["method"], []).append(row)
        if methods:
            told.append(told_section(section, {name: Scores(found, subsets) for name, found in methods.items()}))
    return "\n\n".join(told)


def told_section(section: Section, methods: dict[str, Scores]) -> str:
    """The means of the methods, and their loss on each set."""
    columns, loss = (NUMBERS, "crps") if section.kind == "numbers" else (CLASSES, "log_loss")
    answering = {name: scores for name, scores in methods.items() if scores.sets}
    sets = max((scores.sets for scores in answering.values()), key=len, default=[])
    if not answering:
        return f"## {section.group}, {section.kind}, {section.rows} rows: no method answers"
    reference = next((name for name in REFERENCES if name in answering), next(iter(answering)))
    lines, by_set = [], []
    for name, scores in answering.items():
        named = name if len(scores.sets) == len(sets) else f"{name} ({len(scores.sets)} of {len(sets)} sets)"
        mean, half = difference(scores, answering[reference], loss)
        versus = "–" if name == reference else f"{mean:+.4f} ± {half:.4f}"
        lines.append([named, *(make(scores) for make in columns.values()), versus, f"{scores.milliseconds():.1f}"])
        cells = [f"{np.nanmean(scores.of(one, loss)):.3f}" if one in scores.sets else "–" for one in sets]
        by_set.append([name, *cells])
    shown = {"crps": "CRPS", "log_loss": "log loss"}[loss]
    head = ["method", *columns, f"{shown} v. {reference}", "ms a subset"]
    refusals = [
        f"- {name} refuses {one}: {why}" for name, scores in methods.items() for one, why in scores.refused.items()
    ]
    title = f"## {section.group}, {section.kind}, {section.rows} rows: {len(sets)} sets"
    tables = [title, table(head, lines), table([shown, *sets], by_set)]
    return "\n\n".join([*tables, "\n".join(refusals)] if refusals else tables)
