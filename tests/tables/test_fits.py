"""The same question through Python, the estimators and the command line."""

import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model

import priorfit as pf
from priorfit.cli.main import run
from priorfit.data import Real
from priorfit.estimators import PFNClassifier, PFNRegressor, load_estimator
from priorfit.network import Model
from priorfit.seeding import seeded

pytestmark = pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["priorfit", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0)


def table(rows: int = 15) -> pd.DataFrame:
    with seeded(0):
        x = torch.rand(rows, 2, dtype=torch.float64)
    made = pd.DataFrame(x.numpy().round(3), columns=["a", "b"])
    made["y"] = [("" if row % 4 == 0 else int(number > 0.5)) for row, number in enumerate(made["a"])]
    return made


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    table().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.mark.parametrize("problem", [PADDED_REALS, PADDED_LABELS])
def test_all_doors_give_the_same_answer(
    problem: pf.Problem, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = random_model(problem)
    model.save(tmp_path / "model")
    assert command(monkeypatch, "predict", tmp_path / "model", csv, "--out", tmp_path / "at_once.csv") == 0
    assert command(monkeypatch, "fit", tmp_path / "model", csv, "-o", tmp_path / "fit") == 0
    assert command(monkeypatch, "predict", tmp_path / "fit", csv, "--out", tmp_path / "from_fit.csv") == 0
    assert (tmp_path / "at_once.csv").read_text() == (tmp_path / "from_fit.csv").read_text()
    is_query = table()["y"] == ""
    queries = table()[is_query][["b", "a"]]  # columns in another order, and no target
    queries.to_csv(tmp_path / "new.csv", index=False)
    assert (
        command(monkeypatch, "predict", tmp_path / "fit", tmp_path / "new.csv", "--out", tmp_path / "new_out.csv") == 0
    )
    written, expected = (pd.read_csv(tmp_path / name) for name in ("new_out.csv", "from_fit.csv"))
    same = [name for name in written.columns if name not in ("row", "a", "b")]
    pd.testing.assert_frame_equal(written[same], expected[same])
    check_python(pf.load(tmp_path / "model"), tmp_path, written)


def check_python(model: Model, folder: Path, written: pd.DataFrame) -> None:
    """Compare with the model, an estimator and the loaded one."""
    rows, is_query = table(), table()["y"] == ""
    known, asked = rows[~is_query], rows[is_query][["a", "b"]]
    target = known["y"].astype(int)
    ppd = model.condition(known[["a", "b"]].to_numpy(), target.to_numpy()).predict(asked.to_numpy())
    kind = PFNRegressor if isinstance(model.problem.outcome, Real) else PFNClassifier
    fitted = [kind(model).fit(known[["a", "b"]], target), load_estimator(folder / "fit")]
    column, numbers = ("mean", ppd.mean) if kind is PFNRegressor else ("p_1", ppd.probs[:, 1])
    torch.testing.assert_close(torch.tensor(written[column]).double(), numbers.double(), rtol=1e-6, atol=1e-6)
    for each in fitted:
        found = each.predict(asked) if kind is PFNRegressor else each.predict_proba(asked)[:, 1]
        torch.testing.assert_close(torch.tensor(found).double(), numbers.double(), rtol=1e-6, atol=1e-6)


@pytest.fixture
def fit(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random_model(PADDED_REALS).save(tmp_path / "model")
    assert command(monkeypatch, "fit", tmp_path / "model", csv, "-o", tmp_path / "fit") == 0
    return tmp_path / "fit"


WRONG = {
    "a\n0.5\n": "lacks 'b'; expected the columns that the model was fitted to: 'a', 'b'",
    "a,b,c\n0.5,1,2\n": "has 'c', which the rows that the model was fitted to did not have",
    "a,b,y\n0.5,1,2\n": "no rows to predict: expected some with an empty 'y'",
    "a,b\nred,1\nblue,2\n": "held numbers in the training rows; got the text 'red'",
}


@pytest.mark.parametrize("text", list(WRONG))
def test_tables_that_do_not_fit_are_refused_in_a_sentence(
    text: str, fit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "new.csv").write_text(text)
    assert command(monkeypatch, "predict", fit, tmp_path / "new.csv", "--out", tmp_path / "out.csv") == 1
    assert WRONG[text] in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out.csv").exists()


def test_options_that_belong_to_the_fit_are_refused_later(
    fit: Path, csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for options in (("--target", "y"), ("--too-many-rows", "error")):
        assert command(monkeypatch, "predict", fit, csv, *options) == 1
        assert "a fit has only its answers" in " ".join(capsys.readouterr().err.split())


def test_nothing_is_written_where_no_row_has_a_target_or_the_model_is_a_fit(
    fit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "new.csv").write_text("a,b,y\n0.5,1,\n")
    assert command(monkeypatch, "fit", tmp_path / "model", tmp_path / "new.csv", "-o", tmp_path / "other") == 1
    assert "no row with a value in 'y'" in " ".join(capsys.readouterr().err.split())
    assert command(monkeypatch, "fit", fit, tmp_path / "new.csv", "-o", tmp_path / "other") == 1
    assert "was conditioned on data, not a model alone" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "other").exists()
