import numpy as np
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, UNIT_SQUARE, random_model

from priorfit.errors import InputError
from priorfit.estimators.columns import ColumnMap, padded
from priorfit.estimators.trained_inputs import TrainedInputs
from priorfit.estimators.units import column_units
from priorfit.priors import PaddedFeatures
from priorfit.seeding import seeded


@pytest.mark.parametrize("prior", [PADDED_REALS, PADDED_LABELS], ids=["reals", "labels"])
def test_a_table_is_padded_as_the_prior_pads_its_own(prior: PaddedFeatures):
    with seeded(0):
        tables = prior.inputs.sample(40, prior.num_extra + 5, prior.num_features)[:, prior.num_extra :]
    with seeded(0):  # the same inputs, padded by the prior
        shown = prior.sample(40, 5).x
    used = (shown != 0).any(1).sum(-1)
    assert used.unique().tolist() == [1, 2, 3, 4, 5, 6]
    for table, expected, count in zip(tables, shown, used, strict=True):
        assert torch.equal(padded(table[:, :count], 6), expected)


def test_a_model_of_fixed_units_sees_the_columns_as_they_are():
    model = random_model(UNIT_SQUARE, units="fixed")
    x = np.random.RandomState(0).rand(7, 3)
    columns = ColumnMap(np.array([0, 2]), None, 2)
    assert torch.equal(columns(x, model), torch.tensor(x[:, [0, 2]]).float())


def test_standardised_columns_have_the_moments_of_the_models_inputs():
    x = np.random.RandomState(0).gamma(2.0, 5.0, size=(50, 3)) * [1e-6, 1.0, 1e9]
    shown = column_units(x, TrainedInputs(3, 3, mean=2.0, scale=3.0)).inward(x)
    np.testing.assert_allclose(shown.mean(0), 2.0)
    np.testing.assert_allclose(shown.std(0, ddof=1), 3.0)


def test_columns_of_a_model_with_a_range_fill_that_range_and_no_more():
    x = np.random.RandomState(0).gamma(2.0, 5.0, size=(50, 3))
    shown = column_units(x, TrainedInputs(3, 3, reach=(-1.0, 1.0))).inward(x)
    assert (shown.min(0) == -1).all()
    assert (shown.max(0) == 1).all()


@pytest.mark.parametrize("reach", [None, (-1.0, 2.0)], ids=["moments", "range"])
@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e12])
def test_a_constant_column_goes_to_the_middle(value: float, reach: tuple[float, float] | None):
    x = np.full((30, 1), value)
    middle = 0.0 if reach is None else 0.5
    np.testing.assert_allclose(column_units(x, TrainedInputs(1, 1, reach=reach)).inward(x), middle, atol=1e-3)


def test_one_row_is_shifted_only():
    x = np.array([[3.0, -2.0]])
    units = column_units(x, TrainedInputs(2, 2))
    assert (units.inward(x) == 0).all()
    assert (units.inward(x + 1) == 1).all()


@pytest.mark.parametrize("reach", [None, (0.0, 1.0)], ids=["moments", "range"])
def test_columns_whose_spread_overflows_are_refused(reach: tuple[float, float] | None):
    x = np.array([[1e308], [-1e308], [0.0]])
    with pytest.raises(InputError, match="X holds values so large that their spread overflows"):
        column_units(x, TrainedInputs(1, 1, reach=reach))


def test_values_that_the_network_cannot_read_are_refused():
    model = random_model(UNIT_SQUARE, units="fixed")
    with pytest.raises(InputError, match=r"X holds values beyond 3.4e\+38"):
        ColumnMap(np.arange(2), None, 2)(np.full((3, 2), 1e39), model)
