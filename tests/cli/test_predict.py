import csv
import io
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from priorfit.cli.main import run
from priorfit.data import Classes, Real
from priorfit.errors import TableWarning
from priorfit.estimators import PFNClassifier
from priorfit.network import PFN, ModelCard, NetworkSettings, Problem

SMALL = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
DATA = "x,y\n0.1,1\n0.3,\n0.5,-1\n0.7,\n"


@pytest.fixture
def model(tmp_path: Path) -> str:
    torch.manual_seed(0)
    network = PFN(SMALL, Problem(1, Real(), (0.0, 1.0)), ModelCard(trained_context=(0, 5)), torch.randn(8, 200))
    network.save(tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.csv"
    file.write_text(DATA)
    return file


def predict(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of ``priorfit predict``."""
    monkeypatch.setattr(sys, "argv", ["priorfit", "predict", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0)


def test_the_answer_is_csv_on_standard_output_and_nothing_else(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict(monkeypatch, model, data) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert err == ""
    assert list(rows[0]) == ["row", "x", "mean", "stddev", "q0.025", "q0.5", "q0.975"]
    assert [(row["row"], row["x"]) for row in rows] == [("2", "0.3"), ("4", "0.7")]


def test_json_quantiles_and_target_are_options(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text("y;x\n1;0.1\n;0.3\n")
    assert predict(monkeypatch, model, data, "--target", "y", "--format", "json", "--quantiles", "0.05, 0.95") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert list(row) == ["row", "x", "mean", "stddev", "q0.05", "q0.95"]
    assert row["q0.05"] < row["mean"] < row["q0.95"]


def test_classes_come_with_probabilities(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    PFN(SMALL, Problem(1, Classes(2))).save(tmp_path / "classes")
    data.write_text(DATA.replace("-1", "0"))
    assert predict(monkeypatch, tmp_path / "classes", data) == 0
    assert capsys.readouterr().out.splitlines()[0] == "row,x,class,p_0,p_1"


def test_out_writes_what_standard_output_would_show(
    model: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(monkeypatch, model, data)
    shown = capsys.readouterr().out
    assert predict(monkeypatch, model, data, "--out", tmp_path / "answer.csv") == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "answer.csv").read_text() == shown


def test_a_table_without_context_is_answered_by_the_prior_and_said_so(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text("x,y\n0.3,\n")
    assert predict(monkeypatch, model, data) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert err == "note: no row has a target, so this is what the prior predicts.\n"


def test_what_training_never_showed_is_told_in_one_line_each(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text("x,y\n" + "0.3,1\n" * 6 + "17,\n")
    assert predict(monkeypatch, model, data, "--too-many-rows", "error") == 1
    assert "at most 5 rows; got 6. Choose: too_many_rows=" in capsys.readouterr().err
    assert predict(monkeypatch, model, data) == 0
    assert "note: this model was trained on at most 5 rows; got 6. Each query" in capsys.readouterr().err
    assert predict(monkeypatch, model, data, "--too-many-rows", "use_all") == 0
    out, err = capsys.readouterr()
    context, inputs = err.splitlines()
    assert context.startswith("note: this model was trained on contexts of 0 to 5 points and is asked about 6;")
    assert inputs.startswith("note: this model was trained on inputs in [0, 1] and is asked about [17, 17];")
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "data.csv is empty"),
        ("x,y\n0.1,red\n0.2,\n", "data row 1, column 'y': expected a finite number, got 'red'"),
        ("x,z,y\n0.1,1,2\n0.1,1,\n", "this model takes 1 column; got 2 feature(s)"),
        ("x,y\n0.1,1\n", "has no rows to predict"),
    ],
)
def test_a_wrong_table_is_one_line_and_a_failure(
    content: str,
    message: str,
    model: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data.write_text(content)
    assert predict(monkeypatch, model, data) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--quantiles=5,50", "a quantile must lie above 0 and below 1; got 5. Write 95 % as 0.95."),
        ("--quantiles=low", "expected quantiles as numbers divided by commas"),
        ("--quantiles=", "expected quantiles as numbers divided by commas"),
        ("--target=Y", "Did you mean 'y'?"),
        ("--out=data.csv", "is the table itself"),
        ("--out=.", "it is a folder or a device"),
        ("--out=/dev/null", "it is a folder or a device"),
        ("--out=nowhere/answer.csv", "there is no folder nowhere"),
    ],
)
def test_a_wrong_option_is_one_line_and_a_failure_that_leaves_the_table_alone(
    option: str,
    message: str,
    model: str,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(data.parent)
    assert predict(monkeypatch, model, data, option) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert message in err
    assert data.read_text() == DATA


def test_a_picture_of_the_answer_can_be_asked_for(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = data.with_name("answer.png")
    assert predict(monkeypatch, model, data, "--plot", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    out, err = capsys.readouterr()
    assert out.startswith("row,x,mean") and err == ""


def test_a_picture_without_a_known_ending_is_refused_before_the_work(
    model: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict(monkeypatch, model, data, "--plot", data.with_name("answer.xyz")) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "its name must end in one of" in err and "png" in err


def test_text_columns_and_empty_cells_need_no_option(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{row % 7},{['red', 'blue', ''][row % 3]},{['yes', 'no'][row % 2]}" for row in range(20)]
    data.write_text("\n".join(["size,colour,y", *rows, "3,red,", ",blue,"]) + "\n")
    assert predict(monkeypatch, "tabular-binary-small", data, "--format", "json") == 0
    out, err = capsys.readouterr()
    first, second = json.loads(out)
    assert (first["colour"], second["size"], second["row"]) == ("red", None, 22)
    frame = pd.read_csv(data)
    known, asked = frame[frame["y"].notna()], frame[frame["y"].isna()].drop(columns="y")
    with pytest.warns(TableWarning, match="no token for missing values"):
        by_estimator = (
            PFNClassifier("tabular-binary-small").fit(known.drop(columns="y"), known["y"]).predict_proba(asked)
        )
    assert [[row["p_no"], row["p_yes"]] for row in (first, second)] == pytest.approx(by_estimator, rel=1e-6)
    assert all(line.startswith("note: this model has no token for missing values") for line in err.splitlines())
