"""Tables at the edge: no rows, one class, constant or missing columns, large numbers, half precision."""

import math
from pathlib import Path

import pytest
import torch
from network.tables.tiny_tables import OUTCOMES, TINY, numbers_of, problem_for, shaken, table, targets_for

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError, OutsideTrainingWarning, RecipeError, ShapeError
from priorfit.network import TableNetwork, TableSettings

unwarned = pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")


@pytest.fixture(scope="module", params=OUTCOMES.values(), ids=OUTCOMES.keys())
def model(request: pytest.FixtureRequest) -> TableNetwork:
    return shaken(request.param)


def answered(model: TableNetwork, x: torch.Tensor, y: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    return numbers_of(model.condition(x, y), queries)


@unwarned
@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_small_contexts_are_answered(model, rows, batch):
    x, y, queries = table(0, rows, batch=batch)
    found = answered(model, x, targets_for(model, y, 2), queries)
    assert found.isfinite().all()
    assert found.shape[:-1] == queries.shape[:-1]


def test_an_empty_context_is_warned_of(model):
    x, y, _ = table(0, 0)
    with pytest.warns(OutsideTrainingWarning, match="context, which is empty"):
        model.condition(x, targets_for(model, y))


@unwarned
def test_an_empty_context_says_the_same_of_both_classes_and_no_queries_get_no_answers():
    model = shaken(Classes(10))
    x, y, queries = table(0, 0)
    torch.testing.assert_close(answered(model, x, y, queries), torch.full((9, 2), 0.5))
    x, y, queries = table(0)
    assert model.condition(x, y.argsort() % 2).predict(queries[:0]).probs.shape == (0, 2)


def sure_of_the_first_row(odds: float) -> TableNetwork:
    """A network whose answer is always that a query has the class that is asked about, by some log odds."""
    model = shaken(Classes(10)).double()
    model.decoder.weight.data.zero_()
    model.decoder.bias.data.fill_(odds)
    return model


@pytest.mark.parametrize("seen", [0, 1])
def test_a_context_of_one_class_is_answered_by_the_odds_of_that_class(seen):
    """As in training, where all rows may have the class of the first; the coding of an absent class looks the same."""
    x, y, queries = table(0)
    found = answered(sure_of_the_first_row(2.0), x, torch.full_like(y, seen), queries)
    sure = torch.sigmoid(torch.tensor(2.0, dtype=torch.float64))
    torch.testing.assert_close(found[:, seen], sure.expand(9))


def test_a_class_that_no_row_has_is_improbable_where_the_network_expects_what_it_saw():
    x, _, queries = table(0)
    found = answered(sure_of_the_first_row(2.0), x, 2 * (torch.arange(24) % 2), queries)
    odds = torch.sigmoid(torch.tensor([2.0, -2.0, 2.0], dtype=torch.float64))
    torch.testing.assert_close(found, (odds / odds.sum()).expand(9, 3))


def test_constant_and_missing_columns_are_answered(model):
    x, y, queries = table(0)
    y = targets_for(model, y)
    for value in (0.0, 5.0, 1e12, math.nan):
        column = torch.full((33, 1), value, dtype=torch.float64)
        found = answered(model, torch.cat([x, column[:24]], 1), y, torch.cat([queries, column[24:]], 1))
        assert found.isfinite().all()
    only = answered(model, torch.full_like(x, math.nan), y, torch.full_like(queries, math.nan))
    assert only.isfinite().all()
    torch.testing.assert_close(only, only[:1].expand_as(only), rtol=0, atol=1e-5)


def test_a_constant_column_may_have_any_value(model):
    x, y, queries = table(0)
    y, found = targets_for(model, y), []
    for value in (0.0, -7.0, 1e9):
        column = torch.full((33, 1), value, dtype=torch.float64)
        found.append(answered(model, torch.cat([x, column[:24]], 1), y, torch.cat([queries, column[24:]], 1)))
    torch.testing.assert_close(found[1:], [found[0], found[0]], rtol=0, atol=1e-5)


def test_values_that_are_missing_in_queries_alone_are_answered_and_matter(model):
    x, y, queries = table(0)
    conditioned = model.condition(x.nan_to_num(0.3), targets_for(model, y))
    known, missing = queries.nan_to_num(0.3), queries.nan_to_num(0.3)
    missing[:, 1] = math.nan
    found = numbers_of(conditioned, missing)
    assert found.isfinite().all()
    assert (found - numbers_of(conditioned, known)).abs().max() > 1e-4


@pytest.mark.parametrize("size", [1e8, 1e30, 1e100])
def test_huge_values_are_answered(model, size):
    x, y, queries = table(0)
    y = targets_for(model, y)
    plain = answered(model, x, y, queries)
    torch.testing.assert_close(answered(model, size * x, y, size * queries), plain, rtol=0, atol=1e-4)
    outlier = x.clone()
    outlier[3, 1] = size
    assert answered(model, outlier, y, queries).isfinite().all()
    assert answered(model, x, y, size * queries).isfinite().all()


def test_values_whose_spread_overflows_and_infinite_ones_are_refused(model):
    x, y, queries = table(0)
    y = targets_for(model, y)
    with pytest.raises(InputError, match="spread overflows"):
        model.condition(1e200 * x, y)
    with pytest.raises(InputError, match="infinite values; a missing value is NaN"):
        model.condition(torch.where(x > 1, math.inf, x), y)
    with pytest.raises(InputError, match="infinite"):
        model.condition(x, y).predict(torch.where(queries > 0, math.inf, queries))


@pytest.mark.parametrize("columns", [1, 5, 12])
def test_any_number_of_columns_up_to_the_most_is_taken_and_no_other(model, columns):
    x, y, queries = table(0, columns=columns)
    assert answered(model, x, targets_for(model, y), queries).isfinite().all()
    with pytest.raises(ShapeError, match="1 to 12 columns"):
        model.condition(torch.randn(5, 13), torch.zeros(5))
    with pytest.raises(ShapeError, match="1 to 12 columns"):
        model.condition(torch.randn(5, 0), torch.zeros(5))


def test_eleven_classes_are_refused():
    with pytest.raises(InputError, match="classes 0 ... 9"):
        shaken(Classes(10)).condition(torch.randn(11, 3), torch.arange(11))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_in_half_precision_is_right(model, dtype):
    x, y, queries = table(0)
    y = targets_for(model, y)
    half = shaken(model.problem.outcome).to(dtype)
    found = answered(half, 1e6 * x, y, 1e6 * queries).double()
    tolerance = 0.02 if dtype == torch.float16 else 0.15
    torch.testing.assert_close(found, answered(model, x, y, queries).double(), rtol=0, atol=tolerance)


def test_a_model_saved_in_float16_comes_back(model, tmp_path: Path):
    x, y, queries = table(0)
    y = targets_for(model, y)
    model.save(tmp_path / "model", dtype=torch.float16)
    loaded = pf.load(tmp_path / "model")
    assert isinstance(loaded, TableNetwork)
    assert (loaded.settings, loaded.problem, loaded.card) == (model.settings, model.problem, model.card)
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value.half().float())
    torch.testing.assert_close(answered(loaded, x, y, queries), answered(model, x, y, queries), rtol=0, atol=0.02)


@unwarned
def test_surprise_compares_with_draws_of_the_network(model):
    x, y, _ = table(0, 6)
    conditioned = model.condition(x, targets_for(model, y, 2))
    found = conditioned.surprise(draws=9)
    assert found.null == "network" and 0 < float(found.p_value) <= 1
    with pytest.raises(InputError, match="draws its own inputs"):
        conditioned.surprise(prior=pf.Tables(num_features=12, outcome=model.problem.outcome), draws=9)


def test_surprise_of_three_classes_is_refused_in_words():
    x, y, _ = table(0, 6)
    with pytest.raises(InputError, match="takes 2 classes; got 3.*one class against the others"):
        shaken(Classes(10)).condition(x, y.argsort() % 3).surprise(draws=9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 0}, "at least 1"),
        ({"layers": 0}, "at least 1"),
        ({"sinks": 0}, "at least 1"),
        ({"width": 63}, "mult"),
    ],
)
def test_settings_that_make_no_network_are_refused(settings, said):
    with pytest.raises(RecipeError, match=said):
        TableSettings(**settings)


def test_a_network_of_reals_takes_another_head():
    settings = TableSettings(width=16, layers=1, feedforward=16, output=pf.NormalHead())
    x, y, queries = table(0)
    ppd = settings.build(problem_for(Real())).frozen().condition(x, y).predict(queries)
    torch.testing.assert_close(ppd.mean, y.mean().expand(9), rtol=0, atol=1e-5)
    assert TINY.output_for(problem_for(Classes(2))) is None
