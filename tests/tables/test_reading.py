from pathlib import Path

import pandas as pd
import pytest

from priorfit.errors import InputError
from priorfit.tables import read_table, split_table


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def written(file: Path, content: str | bytes) -> Path:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def frame(*rows: tuple[str, ...], columns: tuple[str, ...] = ("x", "y")) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiter_line_ends_and_byte_order_mark_do_not_matter(file: Path, delimiter: str, line_end: str, mark: bytes):
    text = line_end.join(["x_1,größe,y", "1,2,3", "4,5,", ""]).replace(",", delimiter)
    table = read_table(written(file, mark + text.encode()))
    assert list(table.columns) == ["x_1", "größe", "y"]
    assert table.values.tolist() == [["1", "2", "3"], ["4", "5", ""]]


def test_a_delimiter_in_quotes_does_not_divide(file: Path):
    table = read_table(written(file, '"length, in m"; "weight, in ""kg"""\n1;2\n'))
    assert list(table.columns) == ["length, in m", 'weight, in "kg"']


def test_blank_lines_and_spaces_around_cells_are_ignored(file: Path):
    table = read_table(written(file, "\n x , y \n\n 1 , 2\n   \n3,\n\n"))
    assert table.to_dict("list") == {"x": ["1", "3"], "y": ["2", ""]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"data\.csv is empty; expected a header"),
        ("\n \n", r"data\.csv is empty"),
        ("0.1,0.2\n0.3,\n", r"no header: its first line holds numbers \('0\.1', '0\.2'\).*Add them as the first line"),
        ("0.1,\n0.3,1\n", "no header"),
        ("x,y,x\n1,2,3\n", "two columns are named 'x'"),
        (",x,y\n0,1,2\n", r"column 1 of 3 has no name.*index=False"),
        (
            "x,y\n1,2\n3\n",
            r"data row 2: expected 2 cells as in the header \('x', 'y'\), got 1.*keeps its delimiter ','",
        ),
        ("x,y\n1,2,3\n", "not a table of 2 columns as its header says"),
        ("x,y\n1,2\n1,2,3\n", "not a table of 2 columns as its header says"),
        ('x,y\n1,"2\n3,4\n', "Check its quotes"),
        (b"x,gr\xf6\xdfe\n1,2\n", r"not UTF-8 text \(byte 4\)\. Save it as CSV in UTF-8"),
        ("x,y\n1,2\n".encode("utf-16"), "not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_table_is_explained(file: Path, content: str | bytes, message: str):
    with pytest.raises(InputError, match=message):
        read_table(written(file, content))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"no file at .*nowhere\.csv: .* got nothing\. Check the path"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"expected a CSV file with a header, got a folder"):
        read_table(tmp_path)


def test_rows_without_a_target_are_the_queries(file: Path):
    question = split_table(
        read_table(written(file, "a,b,y\n1,2,3\n4,5.5,\n6,7e1,8.25\n9,10,NA\n0,1,NaN\n")), "data.csv"
    )
    assert question.context.values.tolist() == [[1, 2], [6, 70]]
    assert question.target.tolist() == ["3", "8.25"]
    assert question.queries.values.tolist() == [[4, 5.5], [9, 10], [0, 1]]
    assert question.numbers == (2, 4, 5)


def test_the_target_may_be_any_column():
    question = split_table(frame(("1", "2", "3"), ("", "4", "5"), columns=("y", "a", "b")), "data.csv", "y")
    assert list(question.context.columns) == ["a", "b"]
    assert question.target.tolist() == ["1"]


def test_an_unknown_target_names_the_nearest_column():
    with pytest.raises(InputError, match="no column 'weigth'.*Did you mean 'weight'"):
        split_table(frame(("1", ""), columns=("weight", "y")), "data.csv", "weigth")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("red", "got 'red'"),
        ("1,5", "got '1,5'"),
        ("1_000", "got '1_000'"),
        ("inf", "got 'inf'"),
        ("1e999", "got '1e999'"),
    ],
)
def test_a_feature_that_is_no_number_is_named_by_row_and_column(cell: str, message: str):
    table = frame(("0.1", "1"), (cell, ""))
    with pytest.raises(InputError, match=rf"data\.csv, data row 2, column 'x': expected a finite number, .*{message}"):
        split_table(table, "data.csv")


def test_columns_have_the_types_that_pandas_would_read():
    table = frame(
        ("1", "red", "True", "3", "", "1"),
        ("", "NA", "", "5more", "", "2"),
        ("2.5", "blue", "false", "4", "", ""),
        columns=("number", "text", "truth", "few", "none", "y"),
    )
    question = split_table(table, "data.csv")
    rows = pd.concat([question.context, question.queries])
    assert rows["number"].dtype == "float64" and rows["number"].isna().tolist() == [False, True, False]
    assert rows["text"].tolist()[0::2] == ["red", "blue"] and rows["text"].isna().tolist() == [False, True, False]
    assert rows["truth"].dtype == "boolean" and rows["truth"].isna().tolist() == [False, True, False]
    assert rows["few"].tolist() == ["3", "5more", "4"]
    assert rows["none"].isna().all()


@pytest.mark.parametrize("rows", [(), (("1", "2"),)])
def test_a_table_without_rows_to_predict_is_refused(rows: tuple[tuple[str, str], ...]):
    with pytest.raises(InputError, match="has no rows to predict"):
        split_table(frame(*rows), "data.csv")
