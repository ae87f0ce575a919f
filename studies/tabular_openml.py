"""The paper's 21 sets from OpenML through scikit-learn, with subsets by the rule of the folder's splits."""

from functools import cache

import numpy as np
import pandas as pd
from jaxtyping import Int
from sklearn.datasets import fetch_openml
from tabular_data import Subset, Table

DATA_IDS = {
    "kr-vs-kp": 3,
    "credit-g": 31,
    "vehicle": 54,
    "wine": 973,
    "kc1": 1067,
    "airlines": 1169,
    "bank-marketing": 1461,
    "blood-transfusion-service-center": 1464,
    "phoneme": 1489,
    "covertype": 1596,
    "numerai28.6": 23517,
    "connect-4": 40668,
    "car": 40975,
    "Australian": 40981,
    "segment": 40984,
    "jungle_chess_2pcs_raw_endgame_complete": 41027,
    "sylvine": 41146,
    "MiniBooNE": 41150,
    "dionis": 41167,
    "jannis": 41168,
    "helena": 41169,
}
"""The sets of the paper's table 5 by their numbers on OpenML."""
NUM_SUBSETS, CONTEXT, QUERY = 20, 15, 35
"""Subsets of a set, and rows of each class that are labelled and asked."""


class OpenML:
    """The paper's sets, fetched when first asked for; scikit-learn keeps them on disk."""

    label = "openml"

    def names(self, group: str) -> list[str]:
        """The sets of the study; OpenML has no other group here."""
        return list(DATA_IDS) if group == "paper" else []

    @cache  # noqa: B019  (it lives as long as the run)
    def table(self, name: str) -> Table:
        """A set by its name."""
        bunch = fetch_openml(data_id=DATA_IDS[name], as_frame=True, parser="auto")
        y = bunch.target.astype(str)
        x = bunch.data.copy()
        for column in x.select_dtypes("category"):
            x[column] = x[column].astype(object)
        first, second = y.value_counts().index[:2]
        subsets = balanced_subsets(y, (first, second), seed=DATA_IDS[name])
        return Table(name, x, y, subsets, (first, second))

    def other_answers(self) -> pd.DataFrame | None:
        """Answers of others on the same subsets: there are none."""
        return None


def balanced_subsets(y: pd.Series, classes: tuple[str, str], seed: int) -> tuple[Subset, ...]:
    """Twenty subsets of 15 labelled and 35 asked rows of each class, without a common row where there are enough."""
    generator = np.random.default_rng(seed)
    members = [np.flatnonzero(y.to_numpy() == name) for name in classes]
    size = CONTEXT + QUERY
    if min(map(len, members)) >= NUM_SUBSETS * size:
        orders = [generator.permutation(rows)[: NUM_SUBSETS * size].reshape(NUM_SUBSETS, size) for rows in members]
    else:
        orders = [np.stack([generator.permutation(rows)[:size] for _ in range(NUM_SUBSETS)]) for rows in members]
    return tuple(both_classes(orders[0][i], orders[1][i], generator) for i in range(NUM_SUBSETS))


def both_classes(
    first: Int[np.ndarray, " rows"], second: Int[np.ndarray, " rows"], generator: np.random.Generator
) -> Subset:
    """A subset of rows of two classes, in random order."""
    context = np.concatenate([first[:CONTEXT], second[:CONTEXT]])
    query = np.concatenate([first[CONTEXT:], second[CONTEXT:]])
    return Subset(generator.permutation(context), generator.permutation(query))
