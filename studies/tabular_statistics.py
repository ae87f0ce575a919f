"""Comparison of methods over sets: ranks, wins, and the signed-rank test with sets as the unit."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, wilcoxon

LEVEL = 0.01
"""The level of significance that is asked for."""
DIGITS = 3
"""Digits to which two areas under the ROC curve must agree for a tie, as in the paper's table."""

PerSet = Float[np.ndarray, " sets"]
Scores = Mapping[tuple[str, int], float]
"""A score of each set and subset."""


def paired(one: Scores, other: Scores, sets: Sequence[str]) -> tuple[PerSet, PerSet]:
    """The means of two methods on each set, over the subsets that both have answered."""
    common = sorted(one.keys() & other.keys())
    means = [[np.mean([scores[key] for key in common if key[0] == name]) for name in sets] for scores in (one, other)]
    return np.array(means[0]), np.array(means[1])


def mean_ranks(methods: Mapping[str, Scores], sets: Sequence[str]) -> dict[str, float]:
    """The mean rank of each method over sets; more is better, and equal scores share their ranks.

    A rank is one plus the number of methods that are better. Two methods are compared on the subsets that both have
    answered, so that one with fewer subsets is not compared with an easier or harder mean.
    """
    ranks = {}
    for name, scores in methods.items():
        rank = np.ones(len(sets))
        for other_name, other in methods.items():
            if other_name != name:
                mine, theirs = paired(scores, other, sets)
                rank += (theirs > mine) + (theirs == mine) / 2
        ranks[name] = float(rank.mean())
    return ranks


def loss_tie_win(baseline: PerSet, reference: PerSet) -> tuple[int, int, int]:
    """On how many sets a baseline is below, level with (to three digits), and above the reference."""
    difference = np.round(np.round(baseline, DIGITS) - np.round(reference, DIGITS), DIGITS)
    return int((difference < 0).sum()), int((difference == 0).sum()), int((difference > 0).sum())


def signed_rank_p(one: PerSet, other: PerSet) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; 1 where nothing differs."""
    difference = np.asarray(one) - np.asarray(other)
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


def sets_needed(p: float, num_sets: int, level: float = LEVEL) -> int | None:
    """How many sets with the same effect would have p at the level; None where there is no effect.

    The standardised statistic of the test grows as the root of the number of sets.
    """
    if p >= 1:
        return None
    return math.ceil(num_sets * (norm.isf(level / 2) / norm.isf(p / 2)) ** 2)
