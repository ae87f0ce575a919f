"""What a column of a table holds, whoever made the table."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from priorfit.errors import CellTypeError, InputError, TableWarning
from priorfit.estimators.cells import Names, Numbers, columns_in, is_numeric, object_cells
from priorfit.estimators.columns import EmptyColumn, NominalColumn, NumberColumn, fitted_column
from priorfit.estimators.encoding import fitted_encoder

NAN = np.nan


def cells(values: object, dtype: object = None) -> Numbers | Names:
    ((_, found),) = columns_in(pd.DataFrame({"a": pd.Series(values, dtype=dtype)}))
    return found


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, 2, None], "Int64", [1, 2, NAN]),
        ([1.5, None], "Float64", [1.5, NAN]),
        ([True, False, None], "boolean", [1, 0, NAN]),
        ([True, False], bool, [1, 0]),
        ([3, 4], "uint8", [3, 4]),
        ([True, None, False], object, [1, NAN, 0]),
        ([1, 2.5, pd.NA, None, NAN], object, [1, 2.5, NAN, NAN, NAN]),
        ([Decimal("1.5"), np.float32(2)], object, [1.5, 2]),
        (["1", "2e-1", None], object, [1, 0.2, NAN]),
        (["1.5", None], "string", [1.5, NAN]),
        ([None, None], object, [NAN, NAN]),
    ],
)
def test_numbers_of_any_type_are_numbers(values, dtype, expected):
    found = cells(values, dtype)
    assert isinstance(found, Numbers)
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (["red", None, "blue"], object, ["red", None, "blue"]),
        (["red", pd.NA], "string", ["red", None]),
        (["a", "b", None], "category", ["a", "b", None]),
        ([3.0, 7.0, NAN], "category", ["3", "7", None]),
        (["2", "4", "5more"], object, ["2", "4", "5more"]),
        ([1, "a", 2.0], object, ["1", "a", "2"]),
        (["1_000", "1"], object, ["1_000", "1"]),
    ],
)
def test_names_are_names(values, dtype, expected):
    found = cells(values, dtype)
    assert isinstance(found, Names)
    assert found.values.tolist() == expected


def test_an_array_of_objects_and_one_of_text_are_read_by_column():
    for table in (
        np.array([["red", 1.5], ["blue", None]], dtype=object),
        [["red", 1.5], ["blue", None]],
        [["red", "1.5"], ["blue", "nan"]],
        np.array([[b"red", b"1.5"], [b"blue", b"nan"]]),
    ):
        (_, first), (name, second) = columns_in(table)
        assert first.values.tolist() == ["red", "blue"] and name == "1"
        np.testing.assert_array_equal(second.values, [1.5, NAN])


def test_plain_numbers_are_told_from_what_must_be_encoded():
    assert is_numeric(np.zeros((2, 2))) and is_numeric([[1, 2]]) and is_numeric(pd.DataFrame({"a": [1], "b": [0.5]}))
    assert is_numeric("text") and is_numeric([[1], [1, 2]])  # no tables: scikit-learn says so
    assert not is_numeric(pd.DataFrame({"a": [True]})) and not is_numeric([[1, "a"]])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.to_datetime(["2026-01-01", None])),
        pd.Series(pd.to_datetime(["2026-01-01"]).tz_localize("UTC")),
        pd.Series(pd.to_timedelta([1, 2], unit="D")),
        pd.Series(pd.period_range("2026", periods=2, freq="M")),
        pd.Series([datetime.date(2026, 1, 1), None], dtype=object),
        pd.Series([1.0, datetime.timedelta(1)], dtype=object),
        pd.Series([np.datetime64("2026-01-01")], dtype=object),
    ],
)
def test_dates_are_refused_by_the_name_of_their_column(series):
    with pytest.raises(InputError, match="column 'when' holds dates or durations .* days since the first row"):
        columns_in(pd.DataFrame({"x": 1.0, "when": series}))


@pytest.mark.parametrize("cell", [{}, [1], object(), b"x", 1j])
def test_other_objects_are_refused_by_column_and_row(cell):
    with pytest.raises(CellTypeError, match="column 'a', row 1: the argument must be a string or a number; got"):
        object_cells([1, cell], "a")


@pytest.mark.parametrize("values", [["0.1", "red", "0.2"], [0.5, "?", 0.7], [*map(str, range(12)), "red"]])
def test_a_text_among_measured_numbers_is_refused(values):
    with pytest.raises(
        InputError, match=r"column 'a' holds numbers and text, such as '(red|\?)'.*astype\('category'\)"
    ):
        object_cells(values, "a")
    assert isinstance(cells(values, "category"), Names)


def test_codes_fall_with_the_frequency_and_then_go_by_name():
    column = fitted_column("a", cells(["b", "c", "a", "c", None]))
    assert column == NominalColumn("a", ("c", "a", "b"), fill=0.0, is_ordered=False)
    np.testing.assert_array_equal(column.coded(cells(["a", None, "c"])), [1, NAN, 0])


def test_codes_of_an_ordered_categorical_keep_its_order():
    sizes = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
    column = fitted_column("size", cells(["l", "l", "s"], sizes))
    assert (column.fill, column.num_levels) == (2.0, None)
    np.testing.assert_array_equal(column.coded(cells(["s", "xl", "m"], sizes)), [0, 3, 1])


def test_levels_are_the_same_whatever_type_they_come_in():
    column = fitted_column("a", cells([3, 7, 7], "category"))
    for values, dtype in (([7, 3], "int64"), ([7.0, 3.0], "float64"), (["7", "3"], object), ([7, 3], "category")):
        np.testing.assert_array_equal(column.coded(cells(values, dtype)), [0, 1])


def test_a_level_that_was_never_seen_is_missing_with_a_warning():
    column = fitted_column("colour", cells(["red", "blue"]))
    with pytest.warns(
        TableWarning, match="column 'colour' has the level 'green' and 1 more, which no training row has"
    ):
        coded = column.coded(cells(["green", "red", "pink"]))
    np.testing.assert_array_equal(coded, [NAN, 1, NAN])


def test_numbers_of_training_must_stay_numbers():
    column = fitted_column("a", cells([1.0, 2.0, 9.0]))
    assert column == NumberColumn("a", fill=2.0)
    np.testing.assert_array_equal(column.coded(cells(["5", None], "string")), [5, NAN])
    with pytest.raises(InputError, match="column 'a' held numbers in the training rows; got the text 'red'"):
        column.coded(cells(["red", "blue"]))


def test_a_column_of_missing_values_is_constant_with_a_warning():
    with pytest.warns(TableWarning, match="column 'a' has no value in the training rows"):
        column = fitted_column("a", cells([None, None], object))
    assert column == EmptyColumn("a")
    np.testing.assert_array_equal(column.coded(cells([None, 5.0], object)), [0, 0])


def test_identifiers_are_refused_unless_they_are_declared():
    names = [f"customer {number}" for number in range(30)]
    with pytest.raises(InputError, match="column 'id' holds text of 30 different values in 30 cells.*Drop the column"):
        fitted_encoder(pd.DataFrame({"id": names}))
    assert fitted_encoder(pd.DataFrame({"id": pd.Categorical(names)})).num_levels == [30]
    assert fitted_encoder(pd.DataFrame({"id": names[:9]})).num_levels == [9]


def test_pieces_of_a_cut_are_ordered_levels():
    cut = pd.DataFrame({"a": pd.cut([1.0, 5.0, 9.0], 3)})
    np.testing.assert_array_equal(fitted_encoder(cut).encoded(cut)[:, 0], [0, 1, 2])
