import argparse
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score


@pytest.fixture
def tabular() -> ModuleType:
    import tabular  # pyright: ignore[reportMissingImports]

    return tabular


@pytest.fixture
def data(tmp_path: Path) -> Path:
    from tabular_tiny import write_tiny_folder  # pyright: ignore[reportMissingImports]

    return write_tiny_folder(tmp_path / "data")


def rows_of(tabular: ModuleType, data: Path, tmp_path: Path, **more: object) -> list[dict]:
    import study  # pyright: ignore[reportMissingImports]

    options = argparse.Namespace(**({"data": data, "methods": None, "sets": None, "subsets": 20, "time": 0} | more))
    setup = study.Setup(study.Rows(tmp_path / "rows.jsonl", 0), tmp_path / "models", quick=True, options=options)
    return tabular.run(setup)


def test_a_row_holds_the_scores_and_enough_to_pool_them(tabular: ModuleType, data: Path, tmp_path: Path):
    from tabular_board import Board, pooled  # pyright: ignore[reportMissingImports]
    from tabular_data import Folder  # pyright: ignore[reportMissingImports]

    rows = rows_of(tabular, data, tmp_path, methods="random forest", sets="first")
    assert [row["subset"] for row in rows] == [0, 1]
    task = Folder(data).table("first").task(0)
    stated, happened = pooled(rows[:1])
    assert sorted(happened) == sorted(task.query_y == 1) and len(stated) == 20
    assert roc_auc_score(happened, stated) == pytest.approx(rows[0]["auc"])
    probabilities = np.stack([1 - stated, stated], axis=1)
    from tabular_scores import log_loss  # pyright: ignore[reportMissingImports]

    assert log_loss(happened.astype(int), probabilities) == pytest.approx(rows[0]["log_loss"], abs=0.02)
    assert Board(rows).num_subsets("random forest") == 2


@pytest.mark.parametrize("name", ["tuned kNN", "tuned GP", "XGBoost", "ExtraTrees", "CatBoost"])
def test_baselines_answer_tables_with_text_and_gaps(tabular: ModuleType, data: Path, tmp_path: Path, name: str):
    (row,) = rows_of(tabular, data, tmp_path, methods=name, sets="first", subsets=1)
    assert row["auc"] > 0.6 and row["seconds"] > 0


def test_tuned_baselines_know_categories_and_take_gaps(data: Path):
    from tabular_data import Folder  # pyright: ignore[reportMissingImports]
    from tabular_methods import TUNED  # pyright: ignore[reportMissingImports]

    from priorfit.baselines.tabular.tuned_catboost import TunedCatBoost
    from priorfit.baselines.tabular.tuned_logistic import TunedLogistic

    task = Folder(data).table("second").task(0)
    for make, grid in ((TunedLogistic, {"C": (0.1, 1.0)}), (TunedCatBoost, {"iterations": (5,), "depth": (2,)})):
        answer = TUNED["tuned kNN"].func(lambda grid=grid, make=make, **more: make(grid=grid, **more), task)  # pyright: ignore[reportFunctionMemberAccess]
        assert answer.shape == (20, 2) and np.allclose(answer.sum(1), 1)


def test_given_answers_are_found_by_row_and_not_timed(tabular: ModuleType, data: Path, tmp_path: Path):
    rows = rows_of(tabular, data, tmp_path, methods="TabPFN v1", sets="second", time=1)
    assert len(rows) == 2 and all(row["seconds"] is None for row in rows)
    frame = pd.read_csv(data / "tabpfn1.csv.gz")
    asked = frame[(frame["set"] == "second") & (frame["subset"] == 1)]
    y = pd.read_csv(data / "paper" / "second.csv.gz")["target"][asked["row"]] == "c1"
    assert rows[1]["auc"] == pytest.approx(roc_auc_score(y, asked["probability"]))


def test_a_run_that_was_stopped_goes_on(tabular: ModuleType, data: Path, tmp_path: Path):
    first = rows_of(tabular, data, tmp_path, methods="tuned kNN", subsets=1)
    again = rows_of(tabular, data, tmp_path, methods="tuned kNN")
    assert len(first) == 3 and len(again) == 6
    assert [row["about"]["date"] for row in again[:3]] == [row["about"]["date"] for row in first]


def test_kept_rows_are_told_without_data_and_of_the_last_version(tabular: ModuleType, data: Path, tmp_path: Path):
    import study  # pyright: ignore[reportMissingImports]

    rows_of(tabular, data, tmp_path, methods="TabPFN v1,tuned kNN", sets="first", subsets=1)
    rows = study.Rows(tmp_path / "rows.jsonl", 0)
    rows.add({"source": "folder", "set": "first", "subset": 0, "method": "tuned kNN", "version": "new"}, {"auc": 0.7})
    setup = study.Setup(rows, tmp_path, options=argparse.Namespace(methods=None, data=tmp_path / "none"))
    assert [(row["method"], row["version"]) for row in tabular.kept(setup)] == [
        ("TabPFN v1", "0.1"),
        ("tuned kNN", "new"),
    ]


def test_a_model_that_refuses_a_set_is_named(
    tabular: ModuleType, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(*_: object) -> np.ndarray:
        raise ValueError("too wide.")

    monkeypatch.setattr(tabular, "model_classify", refuse)
    rows = rows_of(tabular, data, tmp_path, methods="random forest,tabular-binary-small")
    assert {row["method"] for row in rows} == {"random forest"}
    assert capsys.readouterr().out.count("tabular-binary-small refuses second: too wide.") == 1


def test_a_model_is_scored_by_its_name_with_frames_as_they_are(
    tabular: ModuleType, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def answer(model: object, task) -> np.ndarray:
        assert set(task.context_x["colour"]) <= {"red", "green", "None"}
        return np.tile([0.5, 0.5], (len(task.query_y), 1))

    monkeypatch.setattr(tabular, "model_classify", answer)
    rows = rows_of(tabular, data, tmp_path, methods="tabular-binary-small", time=1)
    timed = [row for row in rows if "timing" in row]
    assert len(timed) == 3 and len(rows) == 9 and rows[-1]["auc"] == 0.5
    assert len(rows[-1]["version"]) == 8


def test_the_tables_have_ours_beside_the_papers(tabular: ModuleType, data: Path, tmp_path: Path):
    from tabular_results import PROTOCOL, tell  # pyright: ignore[reportMissingImports]

    rows = rows_of(tabular, data, tmp_path, methods="tuned kNN,TabPFN v1,random forest", time=1)
    for row in rows:  # names of the paper's sets
        row["set"] = {"first": "car", "second": "wine", "third": "segment"}[row["set"]]
    told = tell(rows)
    assert "(0.874)" in told and "| 17/1/3" in told and PROTOCOL in told  # kNN on car, kNN against PFN-BNN
    kept = [row["auc"] for row in rows if row["method"] == "tuned kNN" and row["set"] == "wine" and "auc" in row]
    assert f"{np.mean(kept):.3f} (0.900)" in told


def test_probabilities_are_kept_to_four_digits(tabular: ModuleType):
    from tabular_board import probabilities  # pyright: ignore[reportMissingImports]

    p = np.array([0.0, 0.12344, 0.5, 1.0])
    text = tabular.digits(p, np.array([True, True, True, True]))
    assert text == "0000123450009999"
    assert probabilities(text) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize("num_rows", [300, 3000])
def test_openml_gives_balanced_subsets_of_the_two_most_frequent_classes(monkeypatch: pytest.MonkeyPatch, num_rows: int):
    import tabular_openml  # pyright: ignore[reportMissingImports]

    generator = np.random.default_rng(0)
    x = pd.DataFrame({"number": generator.normal(size=num_rows), "kind": pd.Categorical(["a", "b"] * (num_rows // 2))})
    y = pd.Series(generator.choice(["rare", "some", "most"], num_rows, p=[0.1, 0.4, 0.5]), dtype="category")
    monkeypatch.setattr(tabular_openml, "fetch_openml", lambda **_: SimpleNamespace(data=x, target=y))
    source = tabular_openml.OpenML()
    table = source.table("car")
    task = table.task(3)
    assert table.classes == ("most", "some") and len(table.subsets) == 20 and len(source.names("paper")) == 21
    assert np.bincount(task.context_y).tolist() == [15, 15] and np.bincount(task.query_y).tolist() == [35, 35]
    assert task.categorical == (1,) and np.isfinite(task.matrices()[0]).all()
    rows = np.concatenate([np.concatenate([one.context, one.query]) for one in table.subsets])
    assert (len(set(rows)) == 2000) == (num_rows == 3000)


def test_the_folder_is_that_of_the_option_or_of_the_environment(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from tabular_data import given_folder, needed_folder  # pyright: ignore[reportMissingImports]

    monkeypatch.delenv("PRIORFIT_DATA", raising=False)
    assert given_folder(None) is None
    with pytest.raises(SystemExit, match="PRIORFIT_DATA"):
        needed_folder(None)
    with pytest.raises(SystemExit, match=r"INDEX\.csv"):
        needed_folder(tmp_path)
    monkeypatch.setenv("PRIORFIT_DATA", str(data))
    assert given_folder(None) is not None
