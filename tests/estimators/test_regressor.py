import numpy as np
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, UNIT_SQUARE, random_model
from sklearn.exceptions import NotFittedError

from priorfit.distributions import NormalMixture
from priorfit.errors import InputError, OutsideTrainingWarning, UnknownModelError
from priorfit.estimators import PFNRegressor
from priorfit.network import NormalHead, NormalMixtureHead, RiemannHead
from priorfit.network.context_units import padded

HEADS = {"normal": NormalHead(), "mixture": NormalMixtureHead(3), "bars": RiemannHead(20)}


def table(rows: int = 25, features: int = 2) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(0)
    x = generator.rand(rows, features)
    return x, np.sin(4 * x[:, 0]) + 0.1 * generator.randn(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_fixed_units_give_the_answer_of_the_model_to_the_bit(head, dtype):
    x, y = (each.astype(dtype) for each in table())
    model = random_model(UNIT_SQUARE, units="fixed", head=head)
    regressor = PFNRegressor(model).fit(x[:20], y[:20])
    expected = model.condition(torch.tensor(x[:20]), torch.tensor(y[:20])).predict(torch.tensor(x))
    mean, std = regressor.predict(x, return_std=True)
    np.testing.assert_array_equal(mean, expected.mean.numpy())
    np.testing.assert_array_equal(std, expected.stddev.numpy())
    levels = torch.tensor([0.1, 0.5, 0.99])
    quantiles = torch.stack([expected.icdf(level) for level in levels], dim=-1)
    np.testing.assert_array_equal(regressor.predict_quantiles(x, levels.tolist()), quantiles.numpy())


def test_fixed_units_of_a_padded_model_are_the_answer_to_the_padded_table():
    x, y = table(features=4)
    model = random_model(PADDED_REALS, units="fixed")
    shown = padded(torch.tensor(x)[None], 6)[0]
    expected = model.condition(shown, torch.tensor(y)).predict(shown)
    np.testing.assert_array_equal(PFNRegressor(model).fit(x, y).predict(x), expected.mean.numpy())


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_free_units_are_those_of_the_training_rows_and_are_mapped_back(head):
    x, y = table()
    x, y = 1e3 * x - 7, 50 + 1e-3 * y
    model = random_model(PADDED_REALS, head=head)
    ppd = PFNRegressor(model).fit(x[:20], y[:20]).predict_distribution(x)
    shown = padded(torch.tensor((x - x[:20].mean(0)) / x[:20].std(0, ddof=1))[None].float(), 6)[0]
    shift, scale = y[:20].mean(), y[:20].std(ddof=1)
    inner = model.in_model_units().condition(shown[:20], torch.tensor((y[:20] - shift) / scale)).predict(shown)
    z = torch.linspace(-2, 2, 9)[:, None]
    torch.testing.assert_close(
        ppd.log_prob(shift + scale * z.double()), inner.log_prob(z).double() - np.log(scale), rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(ppd.stddev, scale * inner.stddev.double(), rtol=1e-5, atol=0)


@pytest.mark.parametrize(("size", "offset"), [(1e-3, 0.0), (20.0, 3.0), (1e6, -1e8), (0.01, 1.7e9)])
def test_the_answer_in_free_units_moves_with_the_units_of_targets_and_columns(size: float, offset: float):
    """Powers of ten and far offsets included, where float32 could not hold the targets."""
    x, y = table()
    model = random_model(PADDED_REALS)
    mean, std = PFNRegressor(model).fit(x, y).predict(x, return_std=True)
    moved = PFNRegressor(model).fit(3 * x - 8, size * y + offset)
    moved_mean, moved_std = moved.predict(3 * x - 8, return_std=True)
    np.testing.assert_allclose((moved_mean - offset) / size, mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved_std / size, std, rtol=1e-4)


def test_statistics_come_from_the_training_rows_alone():
    x, y = table()
    regressor = PFNRegressor(random_model(PADDED_REALS)).fit(x, y)
    with pytest.warns(OutsideTrainingWarning, match="look for outliers"):
        together = regressor.predict(np.concatenate([x, 1e6 + x]))[: len(x)]
    np.testing.assert_allclose(together, regressor.predict(x), rtol=1e-4, atol=1e-5)


def test_the_distribution_has_the_shape_of_the_rows_and_no_gradient():
    x, y = table()
    ppd = PFNRegressor(random_model(PADDED_REALS, head=NormalMixtureHead(3))).fit(x, y).predict_distribution(x)
    assert isinstance(ppd, NormalMixture)
    assert ppd.batch_shape == (25,)
    assert ppd.mean.dtype == torch.float64
    assert not ppd.mean.requires_grad


def test_a_model_that_still_asks_for_gradients_gives_none():
    x, y = table()
    model = random_model(PADDED_REALS).requires_grad_(True)
    assert PFNRegressor(model).fit(x, y).predict(x).shape == (25,)


def test_quantiles_have_their_share_below_them():
    x, y = table()
    regressor = PFNRegressor(random_model(PADDED_REALS)).fit(x, y)
    levels = [0.01, 0.3, 0.5, 0.9]
    quantiles = regressor.predict_quantiles(x, levels)
    assert quantiles.shape == (25, 4)
    below = regressor.predict_distribution(x).cdf(torch.tensor(quantiles.T))
    np.testing.assert_allclose(below.T, np.broadcast_to(levels, (25, 4)), rtol=1e-6)
    assert regressor.predict_quantiles(x).shape == (25, 3)


@pytest.mark.parametrize("levels", [[0.0], [0.5, 1.0], [-0.1], [95.0], [np.nan]])
def test_levels_that_are_no_probabilities_are_refused(levels: list[float]):
    regressor = PFNRegressor(random_model(PADDED_REALS)).fit(*table())
    with pytest.raises(
        InputError, match="quantiles must be a list of levels above 0 and below 1; got .* Write 95 % as 0.95"
    ):
        regressor.predict_quantiles(table()[0], levels)


def test_targets_whose_spread_overflows_are_refused():
    x, _ = table(3)
    with pytest.raises(InputError, match="y holds values so large that their spread overflows"):
        PFNRegressor(random_model(PADDED_REALS)).fit(x, [1e308, -1e308, 1e308])


def test_fitting_twice_gives_the_same_to_the_bit():
    x, y = table()
    regressor = PFNRegressor(random_model(PADDED_REALS))
    np.testing.assert_array_equal(regressor.fit(x, y).predict(x), regressor.fit(x, y).predict(x))


def test_targets_in_single_precision_lose_nothing_more():
    x, _ = table()
    y = (1e6 + np.arange(25)).astype(np.float32)
    model = random_model(PADDED_REALS)
    np.testing.assert_array_equal(
        PFNRegressor(model).fit(x, y).predict(x), PFNRegressor(model).fit(x, y.astype(np.float64)).predict(x)
    )


def test_whole_numbers_are_targets_too():
    x, _ = table(features=8)
    regressor = PFNRegressor(random_model(PADDED_REALS), too_many_columns="select").fit(x, np.arange(25))
    np.testing.assert_array_equal(regressor.predict(x), regressor.fit(x, np.arange(25.0)).predict(x))


def test_a_fit_that_fails_leaves_the_answers_of_the_one_before():
    x, y = table()
    regressor = PFNRegressor(random_model(PADDED_REALS, trained_context=(0, 25)), too_many_rows="error").fit(x, y)
    before = regressor.predict(x)
    with pytest.raises(InputError, match="at most 25 rows"):
        regressor.fit(np.tile(x, (2, 1)) + 5, np.tile(y, 2))
    with pytest.raises(InputError, match="overflows"):
        regressor.fit(x + 5, [1e308, -1e308] + [0.0] * 23)
    np.testing.assert_array_equal(regressor.predict(x), before)


def test_a_first_fit_that_fails_leaves_nothing_fitted():
    x, y = table()
    regressor = PFNRegressor(random_model(PADDED_REALS, trained_context=(0, 5)), too_many_rows="error")
    with pytest.raises(InputError):
        regressor.fit(x, y)
    with pytest.raises(NotFittedError):
        regressor.predict(x)


def test_a_model_in_double_precision_answers_in_it():
    x, y = table()
    model = random_model(PADDED_REALS)
    single = PFNRegressor(model).fit(x, y).predict(x)
    double = PFNRegressor(random_model(PADDED_REALS).double()).fit(x, y)
    np.testing.assert_allclose(double.predict(x), single, rtol=1e-4, atol=1e-4)
    alone = np.concatenate([double.predict(row[None]) for row in x])
    np.testing.assert_allclose(alone, double.predict(x), rtol=1e-12)


def test_inputs_beyond_the_range_of_training_are_warned_of():
    x, y = table()
    regressor = PFNRegressor(random_model(UNIT_SQUARE)).fit(x, y)
    with pytest.warns(OutsideTrainingWarning, match=r"trained on inputs in \[0, 1\]"):
        regressor.predict(x + 1)


def test_a_saved_folder_answers_as_its_model(tmp_path):
    x, y = table()
    model = random_model(PADDED_REALS)
    model.save(tmp_path / "mine")
    for folder in (tmp_path / "mine", str(tmp_path / "mine")):
        np.testing.assert_array_equal(
            PFNRegressor(folder).fit(x, y).predict(x), PFNRegressor(model).fit(x, y).predict(x)
        )


def test_a_released_model_answers_by_its_name():
    x = np.linspace(0, 1, 30)[:, None]
    regressor = PFNRegressor("gp-rbf-1d").fit(x[::2], np.sin(3 * x[::2, 0]))
    assert regressor.score(x, np.sin(3 * x[:, 0])) > 0.999


def test_loading_a_model_leaves_the_generators_alone(tmp_path):
    before = torch.get_rng_state()
    PFNRegressor("gp-rbf-1d").fit([[0.1], [0.2]], [0.0, 1.0])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_name_that_is_not_in_the_zoo_is_an_error_that_names_those_that_are():
    with pytest.raises(UnknownModelError, match="no model 'gp-rbf-1'.*Did you mean 'gp-rbf-1d'"):
        PFNRegressor("gp-rbf-1").fit(*table())


@pytest.mark.usefixtures("as_users_run_it")
def test_a_model_of_another_kind_is_refused():
    with pytest.raises(InputError, match="PFNRegressor needs a model over real targets; 'random' was trained on"):
        PFNRegressor(random_model(PADDED_LABELS)).fit(*table())
    with pytest.raises(InputError, match="model must be the name of a released model, .*; got int"):
        PFNRegressor(3).fit(*table())


def test_wrong_units_surprise_a_model_of_fixed_units():
    x = np.linspace(0, 1, 12)[:, None]
    y = np.random.default_rng(0).normal(size=12)
    with pytest.warns(OutsideTrainingWarning, match="Check the units of y"):
        fitted = PFNRegressor("gp-rbf-1d").fit(x, 100 * y)
    found = fitted.surprise(draws=39)
    assert found.null == "prior"
    assert float(found.p_value) <= 0.05
    with pytest.raises(NotFittedError):
        PFNRegressor("gp-rbf-1d").surprise()
