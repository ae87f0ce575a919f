import numpy as np
import pandas as pd
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, UNIT_SQUARE, random_model

from priorfit.data import Real
from priorfit.errors import InputError, OutsideTrainingWarning
from priorfit.network import Columns, Problem
from priorfit.network.context_units import column_units, padded
from priorfit.priors import PaddedFeatures
from priorfit.seeding import seeded

STANDARD = Problem(3, Real(), units="free")


def free(columns: Columns) -> Problem:
    return Problem(3, Real(), units="free", columns=columns)


@pytest.mark.parametrize("prior", [PADDED_REALS, PADDED_LABELS], ids=["reals", "labels"])
def test_a_table_is_padded_as_the_prior_pads_its_own(prior: PaddedFeatures):
    with seeded(0):
        tables = prior.inputs.sample(40, prior.num_extra + 5, prior.num_features)[:, prior.num_extra :]
    with seeded(0):  # the same inputs, padded by the prior
        shown = prior.sample(40, 5).x
    used = (shown != 0).any(1).sum(-1)
    assert used.unique().tolist() == [1, 2, 3, 4, 5, 6]
    for table, expected, count in zip(tables, shown, used, strict=True):
        assert torch.equal(padded(table[None, :, :count], 6)[0], expected)


def test_standardised_columns_have_the_moments_of_the_models_inputs():
    x = torch.tensor(np.random.RandomState(0).gamma(2.0, 5.0, size=(4, 50, 3)) * [1e-6, 1.0, 1e9])
    shown = column_units(x, free(Columns(mean=2.0, scale=3.0))).to_model(x)
    torch.testing.assert_close(shown.mean(1), torch.full((4, 3), 2.0, dtype=torch.float64))
    torch.testing.assert_close(shown.std(1), torch.full((4, 3), 3.0, dtype=torch.float64))


def test_columns_of_a_model_with_a_range_fill_that_range_and_no_more():
    x = torch.tensor(np.random.RandomState(0).gamma(2.0, 5.0, size=(4, 50, 3)))
    shown = column_units(x, free(Columns(range=(-1.0, 1.0)))).to_model(x)
    assert (shown.amin(1) == -1).all()
    assert (shown.amax(1) == 1).all()


@pytest.mark.parametrize("columns", [Columns(), Columns(range=(-1.0, 2.0))], ids=["moments", "range"])
@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e12])
def test_a_constant_column_goes_to_the_middle(value: float, columns: Columns):
    x = torch.full((1, 30, 1), value, dtype=torch.float64)
    middle = torch.full_like(x, 0.0 if columns.range is None else 0.5)
    torch.testing.assert_close(column_units(x, free(columns)).to_model(x), middle, atol=1e-3, rtol=0)


def test_one_row_is_shifted_only():
    x = torch.tensor([[[3.0, -2.0, 0.0]]])
    units = column_units(x, STANDARD)
    assert (units.to_model(x) == 0).all()
    assert (units.to_model(x + 1) == 1).all()


@pytest.mark.parametrize("columns", [Columns(), Columns(range=(0.0, 1.0))], ids=["moments", "range"])
def test_columns_whose_spread_overflows_are_refused(columns: Columns):
    x = torch.tensor([[[1e308], [-1e308], [0.0]]], dtype=torch.float64)
    with pytest.raises(InputError, match="context_x holds values so large that their spread overflows"):
        column_units(x, free(columns))


def test_values_that_the_network_cannot_read_are_refused():
    model = random_model(UNIT_SQUARE, units="fixed")
    with pytest.raises(InputError, match=r"context_x holds values beyond 3.4e\+38"):
        model.condition(np.full((3, 2), 1e39), np.zeros(3))


def table(rows: int = 40, columns: int = 4) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(1)
    x = generator.randn(rows, columns)
    return x, x[:, 0] + 0.3 * generator.randn(rows)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e15])
def test_the_answer_of_a_scale_free_model_moves_with_the_units(size: float):
    model, (x, y) = random_model(PADDED_REALS), table()
    shift, factors = 3 * size, size * np.array([1.0, 10.0, -1.0, 0.1])
    ppd = model.condition(x[:30], y[:30]).predict(x[30:])
    moved = model.condition(7 + factors * x[:30], shift + size * y[:30]).predict(7 + factors * x[30:])
    mirrored = model.condition(x[:30] * np.sign(factors), y[:30]).predict(x[30:] * np.sign(factors))
    torch.testing.assert_close(moved.mean, shift + size * mirrored.mean, rtol=2e-5, atol=2e-5 * size)
    torch.testing.assert_close(moved.stddev, size * mirrored.stddev, rtol=1e-4, atol=0)
    queries = torch.tensor(y[30:])
    if (factors > 0).all():
        torch.testing.assert_close(moved.log_prob(shift + size * queries), ppd.log_prob(queries) - np.log(size))


def test_a_density_in_the_users_units_integrates_to_one():
    model, (x, y) = random_model(PADDED_REALS), table()
    ppd = model.condition(x, 1e6 + 1e3 * y).predict(x[:3])
    grid = 1e6 + 1e3 * torch.linspace(-60, 60, 40_001, dtype=torch.float64)[:, None]
    torch.testing.assert_close(torch.trapezoid(ppd.log_prob(grid).exp(), grid, dim=0), torch.ones(3).double())


def test_datasets_of_a_batch_have_units_of_their_own():
    model, (x, y) = random_model(PADDED_REALS), table()
    xs, ys = np.stack([x, 100 * x]), np.stack([y, 5 - 1e4 * y])
    both = model.condition(xs, ys).predict(xs[:, :5])
    for index in range(2):
        alone = model.condition(xs[index], ys[index]).predict(xs[index, :5])
        torch.testing.assert_close(both.mean[index], alone.mean, rtol=1e-5, atol=1e-5)


def test_gradients_go_through_the_units():
    model, (x, y) = random_model(PADDED_REALS).double(), table()
    queries = torch.tensor(50 * x[30:], requires_grad=True)
    posterior = model.condition(50 * x[:30], 1e3 * y[:30])
    (slope,) = torch.autograd.grad(posterior.predict(queries).mean.sum(), queries)
    step = 1e-4
    with torch.no_grad():
        for column in range(x.shape[1]):
            nudge = step * torch.eye(x.shape[1], dtype=torch.float64)[column]
            ends = [posterior.predict(queries + sign * nudge).mean for sign in (1, -1)]
            torch.testing.assert_close((ends[0] - ends[1]) / (2 * step), slope[:, column], rtol=1e-4, atol=1e-6)


def test_without_context_the_answer_is_in_standard_units_and_says_so():
    model = random_model(PADDED_REALS)
    with pytest.warns(OutsideTrainingWarning, match="context, which is empty.*standard units"):
        ppd = model.condition(np.zeros((0, 3)), np.zeros(0)).predict(np.ones((2, 3)))
    assert bool(ppd.mean.isfinite().all())


@pytest.mark.parametrize("rows", [1, 10])
def test_a_constant_target_is_shifted_only_and_says_that_its_unit_is_unknown(rows: int):
    model, (x, _) = random_model(PADDED_REALS), table(rows)
    with pytest.warns(OutsideTrainingWarning, match=f"whose {rows} target.s. are all equal"):
        here, there = (model.condition(x, np.full(rows, value)).predict(x) for value in (0.0, 1e7))
    torch.testing.assert_close(there.mean - 1e7, here.mean, atol=1e-6, rtol=0)
    torch.testing.assert_close(there.stddev, here.stddev)


def test_in_its_own_units_a_model_scales_nothing():
    model, (x, y) = random_model(PADDED_REALS), table(columns=6)
    fixed = random_model(PADDED_REALS, units="fixed")
    answers = [each.condition(x, y).predict(x).mean for each in (model.in_model_units(), fixed)]
    assert torch.equal(*answers)


FORMS = {
    "tensor": torch.tensor,
    "float32": lambda values: torch.tensor(values, dtype=torch.float32),
    "array": np.asarray,
    "list": lambda values: values.tolist(),
    "frame": lambda values: pd.DataFrame(values) if values.ndim == 2 else pd.Series(values),
    "objects": lambda values: np.asarray(values, dtype=object),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("prior", [PADDED_REALS, UNIT_SQUARE], ids=["free units", "fixed units"])
def test_numbers_may_come_in_any_form(form, prior):
    model = random_model(prior, units="free" if prior is PADDED_REALS else "fixed")
    x, y = np.random.RandomState(0).rand(12, 2), np.random.RandomState(1).rand(12)
    expected = model.condition(x, y).predict(x).mean
    found = model.condition(form(x), form(y)).predict(form(x)).mean
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, check_dtype=False)


def test_labels_may_be_truth_values():
    model, (x, y) = random_model(PADDED_LABELS), table()
    answers = [model.condition(x, labels).predict(x).probs for labels in (y > 0, (y > 0) * 1.0, torch.tensor(y > 0))]
    assert torch.equal(answers[0], answers[1]) and torch.equal(answers[0], answers[2])


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("x", "words"),
    [
        (["a", "b"], "must hold numbers"),
        ([[1.0, 2.0], [3.0]], "rows of equal length"),
        ("0.5", "must hold numbers.*got str"),
        (None, "must hold numbers.*got NoneType"),
        (3.0, "must hold numbers.*got float"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), "Encode text and dates"),
        (np.ones((2, 2), dtype=complex), "must hold real numbers"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "Encode text first"),
        ({"a": 1}, "must hold numbers.*got dict"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(x, words: str):
    with pytest.raises(InputError, match=words):
        random_model(UNIT_SQUARE, units="fixed").condition(x, [0.0, 1.0])
