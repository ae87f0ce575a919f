from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.distributions import Normal


@pytest.fixture
def data(tmp_path: Path) -> Path:
    from tabular_tiny import write_tiny_folder  # pyright: ignore[reportMissingImports]

    return write_tiny_folder(tmp_path / "data")


@pytest.fixture
def source(data: Path):
    from tabular_data import Folder  # pyright: ignore[reportMissingImports]

    return Folder(data)


@pytest.fixture
def development() -> ModuleType:
    import tabular_development  # pyright: ignore[reportMissingImports]

    return tabular_development


def test_a_task_has_the_rows_of_its_subset_and_class_1_is_the_second(source):
    table = source.table("first")
    task, subset = table.task(1), table.subsets[1]
    assert task.context_x.equals(table.x.iloc[subset.context])
    assert (task.query_y == (table.y.iloc[subset.query] == "c1")).all()
    assert "None" in set(table.x["colour"])  # a word, not a gap


def test_matrices_code_categories_by_the_context_and_keep_gaps(source):
    from dataclasses import replace

    task = source.table("first").task(0)
    query = task.query_x.copy()
    query.iloc[0, 2], query.iloc[1, 2] = "violet", None
    context, asked = replace(task, query_x=query).matrices()
    levels = sorted(task.context_x["colour"].unique())
    assert task.categorical == (2,)
    assert [levels[int(code)] for code in context[:, 2]] == list(task.context_x["colour"])
    assert asked[0, 2] == len(levels) and np.isnan(asked[1, 2])
    assert (np.isnan(context[:, 1]) == task.context_x["gaps"].isna()).all()


def test_queries_of_a_class_that_the_context_lacks_are_left_out(source):
    table = source.table("three-classes")
    text, subset = table.y.to_numpy(), table.subsets[0]
    few = int(np.flatnonzero([len(set(text[subset.context[:n]])) == 2 for n in range(60)])[0])
    task = table.task(0, few)
    known = set(text[subset.context[:few]])
    assert task.num_classes == 2
    assert len(task.query_y) == sum(label in known for label in text[subset.query]) < len(subset.query)


def test_german_numer_decides_nothing(data: Path):
    import pandas as pd
    from tabular_data import EXCLUDED, Folder  # pyright: ignore[reportMissingImports]

    index = pd.read_csv(data / "INDEX.csv")
    index.loc[len(index)] = ["validation", EXCLUDED, 2]
    index.to_csv(data / "INDEX.csv", index=False)
    (data / "splits" / f"{EXCLUDED}.json").write_text("{}", encoding="utf-8")
    assert Folder(data).names("validation") == ["fourth"]


def logistic(context: np.ndarray, y: np.ndarray, query: np.ndarray) -> np.ndarray:
    assert np.isnan(context[:, 1]).any() or np.isnan(query[:, 1]).any()
    return LogisticRegression().fit(np.nan_to_num(context), y).predict_proba(np.nan_to_num(query))


def constant(context: np.ndarray, y: np.ndarray, query: np.ndarray) -> Normal:
    return Normal(torch.full((len(query),), y.mean()), y.std())


def test_a_function_of_matrices_is_judged_without_an_estimator(development: ModuleType, source):
    told = development.judge(source, [development.of_functions("mine", logistic, constant)])
    assert told.count("| mine") == 10  # five sections, two tables each
    row = development.scored_entry(source, development.of_functions("mine", None, constant))[0]
    assert row["kind"] == "numbers" and np.mean(row["squared_error"]) == pytest.approx(1.0, abs=0.2)


def test_a_refused_table_is_named_with_its_reason(development: ModuleType, source):
    def refuse(*_: object) -> np.ndarray:
        raise ValueError("no text, please. Encode it.")

    told = development.judge(
        source, [development.of_functions("ours", logistic), development.of_functions("other", refuse)]
    )
    assert "- other refuses fourth: no text, please" in told


def test_a_difference_is_paired_by_subset():
    from tabular_development_tables import Scores, difference  # pyright: ignore[reportMissingImports]

    generator = np.random.default_rng(0)
    noise, better = generator.normal(size=(2, 50)), generator.normal(0.1, 0.01, size=(2, 50))
    rows = [[{"set": f"s{i}", "log_loss": list(values)} for i, values in enumerate(v)] for v in (noise + better, noise)]
    mean, half = difference(Scores(rows[0], None), Scores(rows[1], None), "log_loss")
    assert mean == pytest.approx(better.mean())
    assert half == pytest.approx(1.96 * 0.01 / 10, rel=0.2)
    few = [row | {"log_loss": row["log_loss"][:5]} for row in rows[1]]  # a slow baseline has fewer subsets
    assert difference(Scores(rows[0], None), Scores(few, None), "log_loss")[0] == pytest.approx(better[:, :5].mean())


def test_the_script_prints_baselines_and_models_and_keeps_the_rows_of_baselines(
    development: ModuleType, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(development, "BUILD", tmp_path)
    few = [entry for entry in development.BASELINES if entry.name in ("logistic", "random forest")]
    monkeypatch.setattr(development, "BASELINES", few)
    arguments = ["--quick", "--baselines", "--data", str(data), "--model", "tabular-binary-small"]
    development.main(arguments)
    file = tmp_path / "quick" / "results" / "tabular_development.jsonl"
    before, printed = file.read_text(encoding="utf-8"), capsys.readouterr().out
    assert "tabular-binary-small" in printed and "random forest" in printed
    development.main(arguments)
    assert file.read_text(encoding="utf-8") == before
