"""The prior of tables: what it draws, how often, and which tables it keeps."""

import pytest
import torch
from scipy.stats import chisquare

from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.priors import Tables
from priorfit.priors.checks import check_prior
from priorfit.priors.tables import labels
from priorfit.priors.tables import tables as module
from priorfit.priors.tables.columns import drawn_columns
from priorfit.priors.tables.labels import REFERENCE_ROWS
from priorfit.priors.tables.mechanisms import MECHANISMS
from priorfit.priors.tables.tables import USUAL_COLUMNS, WEIGHTS, num_columns
from priorfit.seeding import seeded


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("columns", "outputs"), [(1, 1), (3, 10), (40, 2)])
def test_every_mechanism_draws_finite_columns_and_scores_that_differ(name, columns, outputs):
    for seed in range(12):
        with seeded(seed):
            x, scores = MECHANISMS[name]((4, 80, columns), outputs, drawn_columns)
        assert x.shape == (4, 80, columns) and scores.shape == (4, 80, outputs)
        assert x.isfinite().all() and scores.isfinite().all()
        assert len(x.flatten(1).unique(dim=0)) == 4, "each table is a draw of its own"
    assert (scores.std(1) > 0).any()


def test_every_kind_of_table_is_drawn_as_often_as_its_weight_says(monkeypatch):
    assert WEIGHTS.keys() == MECHANISMS.keys()
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    counts = dict.fromkeys(WEIGHTS, 0)

    def counting(name):
        def draw(shape, outputs, columns_of):
            counts[name] += 1
            return torch.randn(shape), torch.randn(*shape[:2], outputs)

        return draw

    for name in WEIGHTS:
        monkeypatch.setitem(MECHANISMS, name, counting(name))
    with seeded(0):
        Tables(num_features=2, outcome=Real()).sample(1_600, 1)
    groups = sum(counts.values())
    assert groups == 600, "four tables share a mechanism, and a third of them is not kept"
    assert chisquare(list(counts.values()), [groups * weight for weight in WEIGHTS.values()]).pvalue > 1e-3


@pytest.mark.parametrize("most", [1, 6, 100])
def test_the_number_of_columns_is_log_uniform_and_rarer_beyond_the_usual(most):
    with seeded(most):
        drawn = torch.tensor([num_columns(most) for _ in range(4_000)])
    every = torch.arange(1, most + 1).double()
    share = torch.log((every + 1) / every) * (USUAL_COLUMNS / every).clamp(max=1)
    expected = 4_000 * share / share.sum()
    found = torch.bincount(drawn, minlength=most + 1)[1:].double()
    assert len(found) == most
    groups = (expected.cumsum(0) / 60).floor().clamp(max=60).long()  # at least about sixty draws in each
    sums = [torch.zeros(61, dtype=torch.float64).index_add_(0, groups, part) for part in (found, expected)]
    kept = sums[1] > 0
    if kept.sum() > 1:
        assert chisquare(sums[0][kept], sums[1][kept]).pvalue > 1e-3


@pytest.mark.parametrize("count", [2, 3, 10])
def test_labels_are_classes_and_tables_have_two_of_them_or_more(count):
    with seeded(count):
        drawn = Tables(num_features=3, outcome=Classes(count)).sample(200, 60).y
    assert set(drawn.unique().tolist()) == set(range(count))
    per_table = torch.tensor([len(each.unique()) for each in drawn])
    assert (per_table >= 2).double().mean() > 0.9
    assert (per_table <= count).all()
    if count == 10:
        assert 0.35 < float((drawn.amax(1) <= 1).double().mean()) < 0.8, "three in five have two classes"


@pytest.mark.parametrize("gaps", [0.0, 0.3, 1.0])
def test_as_many_batches_get_gaps_as_the_setting_says(gaps, monkeypatch):
    prior, calls = Tables(num_features=3, outcome=Real(), gaps=gaps), []
    assert prior.draws_missing == (gaps > 0)
    monkeypatch.setattr(module, "with_gaps", lambda x: calls.append(1) or x)
    with seeded(0):
        for _ in range(150):
            prior.sample(1, 2)
    assert abs(len(calls) - 150 * gaps) <= 4.5 * (150 * gaps * (1 - gaps)) ** 0.5


@pytest.mark.parametrize("outcome", [Classes(3), Real()], ids=["classes", "reals"])
def test_values_may_be_missing_but_no_target(outcome):
    with seeded(0):
        drawn = Tables(num_features=8, outcome=outcome, gaps=1.0).sample(24, 40)
    assert drawn.x.isnan().any() and not drawn.x.isinf().any()
    assert drawn.y.isfinite().all()
    with seeded(0):
        assert Tables(num_features=8, outcome=outcome, gaps=0.0).sample(24, 40).x.isfinite().all()


def test_rows_are_exchangeable_in_columns_gaps_and_targets():
    """First row against last row of 900 tables, each statistic as a paired z-score."""
    prior, rows = Tables(num_features=3, outcome=Real(), gaps=1.0), []
    with seeded(3):
        for _ in range(75):
            drawn = prior.sample(12, 9)
            x, y = drawn.x, drawn.y
            missing = x.isnan().double().mean(-1)
            size = x.nan_to_num(0.0).tanh().double()
            rows.append(
                torch.stack(
                    [missing, size.mean(-1), size.abs().mean(-1), y.tanh().double(), size[..., 0] * y.tanh()], -1
                )
            )
    every = torch.cat(rows)  # (tables, rows, statistics)
    difference = every[:, 0] - every[:, -1]
    z = difference.mean(0) / difference.std(0) * len(difference) ** 0.5
    assert float(z.abs().max()) < 4.5


def test_shown_rows_do_not_decide_which_tables_are_kept(monkeypatch):
    """The same draws with other values in the rows that are shown: the same tables are chosen, in the same order."""
    chosen = []
    original = module.learnable

    def spoiled(x, y, is_class, count, lengthscales):
        x, y = x.clone(), y.clone()
        x[:, REFERENCE_ROWS:], y[:, REFERENCE_ROWS:] = 99.0, 0.0
        state = torch.random.get_rng_state()
        chosen.append(original(x, y, is_class, count, lengthscales))
        torch.random.set_rng_state(state)
        return chosen[-1]

    prior = Tables(num_features=4, outcome=Classes(3), gaps=0.0)
    with seeded(5):
        expected = prior.sample(12, 20)
    monkeypatch.setattr(module, "learnable", spoiled)
    with seeded(5):
        found = prior.sample(12, 20)
    assert len(chosen[0].unique()) == 12
    assert torch.equal(found.x, expected.x) and torch.equal(found.y, expected.y)


def test_it_says_what_it_is_and_takes_the_shape_of_inputs_alone():
    prior = Tables(num_features=5, outcome=Classes(4), gaps=0.0)
    assert prior.draws_own_inputs and prior.shares_latents and prior.uses_whole_dataset
    assert (prior.fewest_features, prior.fewest_classes, Tables(outcome=Real()).fewest_classes) == (1, 2, None)
    with seeded(0):
        drawn = prior.draw(torch.zeros(3, 8, 5, dtype=torch.float64))
    assert drawn.x.dtype == drawn.y.dtype == torch.float64
    assert drawn.x.shape[:2] == (3, 8) and drawn.x.abs().max() > 0
    notes = " ".join(check_prior(prior, num_points=4, batch_size=16, num_batches=16).notes)
    assert "shares_latents" in notes and "uses_whole_dataset" in notes


@pytest.mark.parametrize("settings", [{"num_features": 0}, {"gaps": -0.1}, {"islands": 1.5}])
def test_settings_that_make_no_table_are_refused(settings):
    with pytest.raises(InputError, match="num_features of at least 1, and every share"):
        Tables(**settings)


def test_noise_and_lengthscales_must_be_positive():
    for settings in ({"noise": (0.0, 1.0)}, {"noise": (0.5, 0.1)}, {"lengthscales": ()}, {"lengthscales": (-1.0,)}):
        with pytest.raises(InputError, match="a range of positive noise and positive lengthscales"):
            Tables(**settings)


@pytest.mark.parametrize("outcome", [Classes(4), Real()], ids=["classes", "reals"])
def test_every_share_of_the_cleaner_prior_draws_tables(outcome):
    prior = Tables(8, outcome, 0.0, (0.001, 0.7), 0.5, 0.5, 1.0, 1.0, (1.0, 0.35), 1.0, 1.0)
    with seeded(0):
        drawn = [prior.sample(8, 30) for _ in range(10)]
    assert all(each.x.isfinite().all() and each.y.isfinite().all() for each in drawn)
    assert sum(float(each.y.std()) > 0 for each in drawn) == 10


def test_islands_make_a_class_of_several_intervals(monkeypatch):
    scores = torch.linspace(-1, 1, 200).expand(3, -1)[..., None].contiguous()
    monkeypatch.setattr(labels, "happens", lambda chance: chance == 1.0)
    with seeded(0):
        found = labels.labelled(scores, 2, 0.0, 1.0)
    changes = (found[:, 1:] != found[:, :-1]).sum(1)
    assert bool((changes >= 3).all()), "two classes of two intervals or more change at three cuts or more"


def test_tables_come_with_the_kind_that_drew_them(monkeypatch):
    called = []

    def noting(name):
        def draw(shape, outputs, columns_of):
            called.append(list(WEIGHTS).index(name))
            return torch.randn(shape), torch.randn(*shape[:2], outputs)

        return draw

    prior = Tables(num_features=3)
    with seeded(0):
        plain = prior.sample(8, 10)
    with seeded(0):
        drawn, kinds = prior.sample_with_kinds(8, 10)
    torch.testing.assert_close(plain.y, drawn.y, rtol=0, atol=0)
    assert kinds.shape == (8,)
    monkeypatch.setattr(module, "MECHANISMS", {name: noting(name) for name in WEIGHTS})
    monkeypatch.setattr(module, "learnable", lambda x, y, is_class, count, lengthscales: torch.arange(count))
    with seeded(1):
        _, kinds = prior.sample_with_kinds(8, 10)
    assert kinds.tolist() == [called[0]] * module.GROUP + [called[1]] * module.GROUP
