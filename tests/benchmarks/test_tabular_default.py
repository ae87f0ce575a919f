import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_every_method_is_judged_once_and_a_second_run_only_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.common import kept_rows  # pyright: ignore[reportMissingImports]

    file = tmp_path / "rows.jsonl"
    monkeypatch.setattr(sys, "argv", ["tabular_default", "--quick", "--threads=1", f"--rows={file}"])
    runpy.run_path(str(FOLDER / "release" / "tabular_default.py"), run_name="__main__")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2 * 5 * 2  # tables, methods, cuts
    found = [row["found"] for row in rows if row["key"]["method"] == "GP"]
    assert {name for row in found for name in row} == {"nll", "auc", "accuracy", "r2", "in_95", "seconds"}
    assert all("commit" in row["about"] for row in rows)

    # What a kill leaves: a cut line. Of the others none is computed again (a PFN's are those of its weights).
    file.write_text(file.read_text(encoding="utf-8") + '{"key": {"ta', encoding="utf-8")
    kept = kept_rows.KeptRows(file, seed=0)
    assert len(kept.found) == len(rows)
    assert (
        kept.get(rows[3]["key"], lambda: pytest.fail("this was computed before")) == rows[3]["key"] | rows[3]["found"]
    )
    assert "random forest" in capsys.readouterr().out


def test_a_missing_folder_of_tables_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.release.tabular_tables import all_tables  # pyright: ignore[reportMissingImports]

    tables = all_tables(tmp_path / "nowhere")
    assert {table.name.split("/")[0] for table in tables} == {"sklearn"}
    assert {table.kind for table in tables} == {"binary", "regression"}
    assert "nowhere" in capsys.readouterr().out


def test_a_file_gives_its_first_two_classes_and_missing_numbers_are_those_of_the_fitted_rows(tmp_path: Path) -> None:
    from benchmarks.release.tabular_tables import all_tables, filled  # pyright: ignore[reportMissingImports]

    (tmp_path / "paper").mkdir()
    place = tmp_path / "paper" / "some.csv.gz"
    import gzip

    place.write_bytes(gzip.compress(b"size,colour,target\n1,red,b\n,blue,a\n5,red,c\n3,,a\n"))
    (table,) = (table for table in all_tables(tmp_path) if table.name == "paper/some")
    assert table.y.tolist() == [1, 0, 0]
    assert np.isnan(table.x[1, 0]) and len(set(table.x[:, 1])) == 3
    assert filled(table.x, np.array([0, 2]))[1, 0] == 2.0


def test_cuts_of_classes_are_balanced_and_share_no_row() -> None:
    from benchmarks.release.tabular_tables import Table, is_large_enough, split  # pyright: ignore[reportMissingImports]

    table = Table("some", "binary", np.zeros((300, 1)), (np.arange(300) < 60).astype(int))
    fitted, judged = split(table, 40, 30, seed=1)
    assert table.y[fitted].sum() == 20 and len(fitted) == 40
    assert table.y[judged].sum() == 15 and len(judged) == 30
    assert not set(fitted) & set(judged)
    assert is_large_enough(table, 70) and not is_large_enough(table, 71)
