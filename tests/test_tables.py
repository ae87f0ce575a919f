import csv
import io
import json
import math
from pathlib import Path

import pytest
import torch

from priorfit.baselines.exact_gp import ExactGP
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.metrics import interval
from priorfit.network import PFN, NetworkSettings, Task
from priorfit.priors import GaussianProcess
from priorfit.tables import Table, predict_table, read_table, split_table, table_text

ONE_REAL = Task(1, Real())
TWO_REAL = Task(2, Real())
THREE_CLASSES = Task(1, Classes(3))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def written(file: Path, content: str | bytes) -> Path:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def tiny(task: Task) -> PFN:
    torch.manual_seed(0)
    model = PFN(NetworkSettings(width=16, layers=1, heads=2, feedforward=16), task, target_sample=torch.randn(8, 200))
    torch.nn.init.normal_(model.decoder.weight)  # else nothing depends on the inputs
    return model


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiter_line_ends_and_byte_order_mark_do_not_matter(
    file: Path, delimiter: str, line_end: str, mark: bytes
) -> None:
    text = line_end.join(["x_1,größe,y", "1,2,3", "4,5,", ""]).replace(",", delimiter)
    table = read_table(written(file, mark + text.encode()))
    assert table.columns == ("x_1", "größe", "y")
    assert table.rows == (("1", "2", "3"), ("4", "5", ""))


def test_a_delimiter_in_quotes_does_not_divide(file: Path) -> None:
    table = read_table(written(file, '"length, in m"; "weight, in ""kg"""\n1;2\n'))
    assert table.columns == ("length, in m", 'weight, in "kg"')


def test_blank_lines_and_spaces_around_cells_are_ignored(file: Path) -> None:
    table = read_table(written(file, "\n x , y \n\n 1 , 2\n   \n3,\n\n"))
    assert table == Table(str(file), ("x", "y"), (("1", "2"), ("3", "")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"data\.csv is empty; expected a header"),
        ("\n \n", r"data\.csv is empty"),
        ('""', r"data\.csv is empty"),
        ("0.1,0.2\n0.3,\n", r"no header: its first line holds numbers \('0\.1', '0\.2'\).*Add them as the first line"),
        ("0.1,\n0.3,1\n", "no header"),
        ("x,y,x\n1,2,3\n", "two columns are named 'x'"),
        (",x,y\n0,1,2\n", r"column 1 of 3 has no name.*index=False"),
        (
            "x,y\n1,2\n3\n",
            r"data row 2: expected 2 cells as in the header \('x', 'y'\), got 1.*keeps its delimiter ','",
        ),
        ("x,y\n1,2,3\n", "data row 1: expected 2 cells .* got 3"),
        ('x,y\n1,"2\n3,4\n', r"not valid CSV \(unexpected end of data\)\. Check its quotes"),
        (b"x,gr\xf6\xdfe\n1,2\n", r"not UTF-8 text \(byte 4\)\. Save it as CSV in UTF-8"),
        ("x,y\n1,2\n".encode("utf-16"), "not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_table_is_explained(file: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(written(file, content))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file at .*nowhere\.csv: .* got nothing\. Check the path"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"expected a CSV file with a header, got a folder"):
        read_table(tmp_path)


def test_rows_without_a_target_are_the_queries(file: Path) -> None:
    table = read_table(written(file, "a,b,y\n1,2,3\n4,5.5,\n6,7e1,8.25\n9,10,\n"))
    question = split_table(table, TWO_REAL)
    assert question.context_x.tolist() == [[1, 2], [6, 70]]
    assert question.context_y.tolist() == [3, 8.25]
    assert question.query_x.tolist() == [[4, 5.5], [9, 10]]
    assert question.query_features == ({"a": 4, "b": 5.5}, {"a": 9, "b": 10})
    assert question.query_numbers == (2, 4)


def test_whole_numbers_may_be_longer_than_64_bits() -> None:
    question = split_table(Table("data.csv", ("x", "y"), (("1" + "0" * 20, ""),)), ONE_REAL)
    assert question.query_x.tolist() == [[1e20]]


def test_the_target_may_be_any_column() -> None:
    table = Table("data.csv", ("y", "a", "b"), (("1", "2", "3"), ("", "4", "5")))
    question = split_table(table, TWO_REAL, target="y")
    assert question.context_x.tolist() == [[2, 3]]
    assert question.query_features == ({"a": 4, "b": 5},)


def test_an_unknown_target_names_the_nearest_column() -> None:
    table = Table("data.csv", ("price", "weight"), (("1", ""),))
    with pytest.raises(InputError, match=r"no column 'prize' .* has 'price', 'weight'\. Did you mean 'price'\?"):
        split_table(table, ONE_REAL, target="prize")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", r"data\.csv, data row 2, column 'x': expected a number, got an empty cell\. Write .* or drop the row"),
        ("red", r"data row 2, column 'x': expected a number, got 'red'\. Write numbers as 1\.5"),
        ("0,5", r"got '0,5'\. Write numbers as 1\.5"),
        ("1_000", "got '1_000'"),
        ("nan", r"data row 2, column 'x': expected a number, finite and below 3\.4e38, got nan"),
        ("-inf", "got -inf"),
        ("1e39", "got 1e39"),
        ("long " * 1000, r"got '.{,40}'\. Write"),
        ("two\nlines", r"got 'two\\nlines'"),
    ],
)
def test_a_feature_that_is_no_number_is_named_by_row_and_column(cell: str, message: str) -> None:
    table = Table("data.csv", ("x", "y"), (("1", ""), (cell, "2")))
    with pytest.raises(InputError, match=message):
        split_table(table, ONE_REAL)


@pytest.mark.parametrize("cell", ["high", "NaN", "inf"])
def test_a_target_that_is_no_number_is_named_by_row_and_column(cell: str) -> None:
    table = Table("data.csv", ("x", "y"), (("1", ""), ("1", cell)))
    message = rf"data row 2, column 'y': expected a number.* got '?{cell}.* leave the target empty to have it predicted"
    with pytest.raises(InputError, match=message):
        split_table(table, ONE_REAL)


@pytest.mark.parametrize("cell", ["3", "-1", "0.5", "cat"])
def test_a_label_that_is_no_class_is_named_by_row_and_column(cell: str) -> None:
    table = Table("data.csv", ("x", "y"), (("1", ""), ("1", cell)))
    with pytest.raises(InputError, match=rf"data row 2, column 'y': expected a class, 0 \.\.\. 2, got '{cell}'"):
        split_table(table, THREE_CLASSES)


def test_classes_may_be_written_as_floats() -> None:
    table = Table("data.csv", ("x", "y"), (("1", ""), ("1", "2.0"), ("1", "0")))
    assert split_table(table, THREE_CLASSES).context_y.tolist() == [2, 0]


def test_another_number_of_features_than_the_models_is_refused_before_cells_are_read() -> None:
    table = Table("data.csv", ("name", "x", "y"), (("Anna", "1", ""),))
    with pytest.raises(InputError, match=r"takes 1 feature column\(s\); got 2 beside the target 'y' \('name', 'x'\)"):
        split_table(table, ONE_REAL)


def test_many_columns_are_not_all_listed() -> None:
    columns = tuple(f"x{number}" for number in range(1000))
    with pytest.raises(InputError, match=r"'x7', \.\.\. \(999 in all\)"):
        split_table(Table("data.csv", columns, ()), ONE_REAL)


@pytest.mark.parametrize("rows", [(), (("1", "2"),)])
def test_a_table_without_rows_to_predict_is_refused(rows: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(InputError, match=rf"no rows to predict: .* empty 'y', got {len(rows)} rows.*Leave the target"):
        split_table(Table("data.csv", ("x", "y"), rows), ONE_REAL)


@pytest.mark.parametrize("column", ["row", "mean", "q0.5"])
def test_a_feature_named_as_a_column_of_the_answer_is_refused(column: str) -> None:
    table = Table("data.csv", (column, "y"), (("1", ""),))
    with pytest.raises(InputError, match=f"feature column '{column}'.* Rename it"):
        predict_table(tiny(ONE_REAL), split_table(table, ONE_REAL))


def test_answers_are_those_of_the_predictor() -> None:
    prior = GaussianProcess(num_features=1, lengthscale=0.3, noise=1e-2)
    table = Table("data.csv", ("x", "y"), (("0.1", "1"), ("0.3", ""), ("0.5", "-1"), ("0.9", "")))
    rows = predict_table(ExactGP(prior), split_table(table, ONE_REAL), quantiles=(0.05, 0.95))
    x = torch.tensor([[0.1], [0.5], [0.3], [0.9]], dtype=torch.float64)
    ppd = ExactGP(prior).condition(x[:2], torch.tensor([1.0, -1.0], dtype=torch.float64)).predict(x[2:])
    low, high = interval(ppd, 0.9)
    assert [list(row) for row in rows] == [["row", "x", "mean", "stddev", "q0.05", "q0.95"]] * 2
    assert [row["row"] for row in rows] == [2, 4]
    columns = {"x": torch.tensor([0.3, 0.9]), "mean": ppd.mean, "stddev": ppd.stddev, "q0.05": low, "q0.95": high}
    for column, expected in columns.items():
        assert [row[column] for row in rows] == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-9)


def test_a_network_answers_to_the_bit_as_without_a_table() -> None:
    model = tiny(TWO_REAL)
    table = Table("data.csv", ("a", "b", "y"), (("0.1", "0.2", "1.7"), ("0.3", "0.4", ""), ("0.5", "0.6", "-1")))
    (row,) = predict_table(model, split_table(table, TWO_REAL))
    posterior = model.condition(torch.tensor([[0.1, 0.2], [0.5, 0.6]]), torch.tensor([1.7, -1.0]))
    ppd = posterior.predict(torch.tensor([[0.3, 0.4]]))
    assert torch.tensor(row["mean"]) == ppd.mean
    assert torch.tensor(row["q0.975"]) == ppd.icdf(torch.tensor(0.975))


@pytest.mark.parametrize("count", [2, 3])
def test_classes_get_their_probabilities_and_the_most_probable_one(count: int) -> None:
    task = Task(1, Classes(count))
    table = Table("data.csv", ("x", "y"), (("0.1", "1"), ("0.3", ""), ("0.5", "0"), ("7", "")))
    rows = predict_table(tiny(task), split_table(table, task))
    assert len(rows) == 2
    for row in rows:
        probs = [row[f"p{number}"] for number in range(count)]
        assert list(row) == ["row", "x", "class", *(f"p{number}" for number in range(count))]
        assert sum(probs) == pytest.approx(1)
        assert row["class"] == probs.index(max(probs))


@pytest.mark.parametrize("task", [ONE_REAL, THREE_CLASSES])
def test_without_context_the_prior_answers(task: Task) -> None:
    question = split_table(Table("data.csv", ("x", "y"), (("0.1", ""), ("0.2", ""))), task)
    assert question.context_x.shape == (0, 1)
    assert all(math.isfinite(value) for row in predict_table(tiny(task), question) for value in row.values())


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, -0.1, math.nan])
def test_a_quantile_that_is_no_probability_is_refused(level: float) -> None:
    question = split_table(Table("data.csv", ("x", "y"), (("1", ""),)), ONE_REAL)
    with pytest.raises(InputError, match=rf"above 0 and below 1; got {level:g}\. Write 95 % as 0\.95"):
        predict_table(tiny(ONE_REAL), question, quantiles=[0.5, level])


def test_an_answer_that_is_not_finite_is_refused() -> None:
    question = split_table(Table("data.csv", ("x", "y"), (("1", ""),)), ONE_REAL)
    with pytest.raises(InputError, match=r"data row 1: the model's q0\.9999999999 is inf.* Rescale them"):
        predict_table(tiny(ONE_REAL), question, quantiles=[1 - 1e-10])


def test_csv_and_json_hold_the_same_numbers() -> None:
    task = TWO_REAL
    table = Table("data.csv", ("length, in m", "größe", "y"), (("1", "2.5", ""), ("3", "0.10", "")))
    rows = predict_table(tiny(task), split_table(table, task))
    from_csv = list(csv.DictReader(io.StringIO(table_text(rows, "csv"))))
    assert [{column: float(cell) for column, cell in row.items()} for row in from_csv] == rows
    assert json.loads(table_text(rows, "json")) == rows
    assert from_csv[0]["length, in m"] == "1"  # whole as it came
