from types import ModuleType

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

SETS = [f"s{i}" for i in range(18)]


@pytest.fixture
def statistics() -> ModuleType:
    import tabular_statistics  # pyright: ignore[reportMissingImports]

    return tabular_statistics


def scores_of(values: np.ndarray) -> dict[tuple[str, int], float]:
    return {(name, j): float(values[i, j]) for i, name in enumerate(SETS) for j in range(values.shape[1])}


def test_mean_ranks_are_those_of_scipy_where_all_have_the_same_subsets(statistics: ModuleType):
    values = np.random.default_rng(0).random((5, 18, 4)).round(2)
    found = statistics.mean_ranks({f"m{i}": scores_of(one) for i, one in enumerate(values)}, SETS)
    expected = rankdata(-values.mean(2), axis=0).mean(1)
    assert list(found.values()) == pytest.approx(expected)


def test_a_method_with_fewer_subsets_is_compared_on_those(statistics: ModuleType):
    generator = np.random.default_rng(1)
    worse = generator.random((18, 20))
    better = worse + 0.01
    few = {key: value for key, value in scores_of(better).items() if key[1] < 5}
    many = scores_of(worse)
    for name in SETS:  # its other subsets are easy
        many |= {(name, j): 5.0 for j in range(5, 20)}
    assert statistics.mean_ranks({"few": few, "many": many}, SETS) == {"few": 1.0, "many": 2.0}


def test_loss_tie_win_ties_at_three_digits(statistics: ModuleType):
    reference = np.array([0.9, 0.8, 0.7, 0.6])
    assert statistics.loss_tie_win(reference + [-0.002, 0.0002, 0.01, 0.02], reference) == (1, 1, 2)


def test_the_paper_has_the_same_losses_ties_and_wins(statistics: ModuleType):
    import paper  # pyright: ignore[reportMissingImports]

    theirs = paper.numbers()["tabular"]
    areas = {name: np.array([one[name] for one in theirs["roc_auc"].values()]) for name in theirs["mean_rank"]}
    # the printed table and its aggregates agree for all but two methods, by one set each
    found = {name: statistics.loss_tie_win(areas[name], areas["PFN-BNN"]) for name in theirs["loss_tie_win"]}
    distance = {name: np.abs(np.subtract(found[name], theirs["loss_tie_win"][name])).max() for name in found}
    assert max(distance.values()) <= 1


def test_the_papers_mean_ranks_follow_from_its_table(statistics: ModuleType):
    import paper  # pyright: ignore[reportMissingImports]

    theirs = paper.numbers()["tabular"]
    sets = list(theirs["roc_auc"])
    scores = {name: {(one, 0): theirs["roc_auc"][one][name] for one in sets} for name in theirs["mean_rank"]}
    found = statistics.mean_ranks(scores, sets)
    assert found == pytest.approx(theirs["mean_rank"], abs=0.1)


def test_p_is_that_of_scipy_and_one_where_nothing_differs(statistics: ModuleType):
    one, other = np.random.default_rng(2).random((2, 18))
    assert statistics.signed_rank_p(one, other) == wilcoxon(one, other).pvalue
    assert statistics.signed_rank_p(one, one) == 1.0


def test_as_many_sets_as_are_needed_have_p_at_the_level(statistics: ModuleType):
    generator = np.random.default_rng(3)
    population = generator.normal(0.5, 1.0, 20_000)
    first = population[:200]
    needed = statistics.sets_needed(statistics.signed_rank_p(first, np.zeros(200)), 200)
    several = [generator.choice(first, needed, replace=False) for _ in range(200)]
    median = np.median([statistics.signed_rank_p(one, np.zeros(needed)) for one in several])
    assert 0.003 < median < 0.03
    assert statistics.sets_needed(0.01, 18) == 18 and statistics.sets_needed(1.0, 18) is None
