import json
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib import pyplot as plt


@pytest.fixture
def study() -> ModuleType:
    import study  # pyright: ignore[reportMissingImports]

    return study


def test_a_row_is_computed_once_whatever_the_order_of_its_key(study: ModuleType, tmp_path: Path):
    rows = study.Rows(tmp_path / "some.jsonl", seed=3)
    rows.get({"n": 5, "method": "a"}, lambda: {"gap": 0.5})
    again = study.Rows(tmp_path / "some.jsonl", seed=3)
    row = again.get({"method": "a", "n": 5}, lambda: {"gap": 9.0})
    assert (row["n"], row["method"], row["gap"], row["about"]["seed"]) == (5, "a", 0.5, 3)
    assert again.find({"method": "b", "n": 5}) is None


def test_what_a_kill_left_of_a_row_is_computed_again(study: ModuleType, tmp_path: Path):
    file = tmp_path / "some.jsonl"
    rows = study.Rows(file, seed=0)
    for n in (1, 2):
        rows.add({"n": n}, {"gap": n / 10})
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole[:-9], encoding="utf-8")
    after = study.Rows(file, seed=0)
    assert after.find({"n": 1}) is not None and after.find({"n": 2}) is None
    after.add({"n": 2}, {"gap": 0.7})
    assert [json.loads(line)["found"]["gap"] for line in file.read_text(encoding="utf-8").splitlines()] == [0.1, 0.7]


def test_a_figure_that_fails_leaves_the_one_before(study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    study.save_figure(plt.figure(), tmp_path / "some")
    before = (tmp_path / "some.png").read_bytes()
    broken = plt.figure()
    monkeypatch.setattr(broken, "savefig", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study.save_figure(broken, tmp_path / "some")
    assert (tmp_path / "some.png").read_bytes() == before


def test_a_figure_is_kept_as_svg_only_if_that_is_small(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    study.save_figure(plt.figure(), tmp_path / "some")
    assert (tmp_path / "some.svg").exists()
    monkeypatch.setattr(study, "SMALL_SVG", 10)
    study.save_figure(plt.figure(), tmp_path / "some")
    assert not (tmp_path / "some.svg").exists()


def test_a_table_is_aligned_markdown(study: ModuleType):
    assert study.table(["n", "gap"], [["100", "1"]]) == "| n   | gap |\n| --- | --- |\n| 100 | 1   |"
