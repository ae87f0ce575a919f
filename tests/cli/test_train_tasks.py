from pathlib import Path

import pytest
import torch

import priorfit as pf
from priorfit.cli.application import execute


def test_a_model_is_fine_tuned_on_a_folder_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    network = pf.NetworkSettings(width=8, layers=1, attention_heads=1, feedforward=8)
    pf.fit(pf.GaussianProcess(), num_points=6, steps=1, network=network, progress=False).save(tmp_path / "model")
    (tmp_path / "tables").mkdir()
    for name in ("a", "b", "c"):
        rows = "\n".join(f"{x:.3f},{3 * x:.3f}" for x in torch.rand(20).tolist())
        (tmp_path / "tables" / f"{name}.csv").write_text(f"x,target\n{rows}\n", encoding="utf-8")
    command = ["train", "--from", "model", "--tasks", "tables", "--minutes", "0.01", "--folder", "run"]
    assert execute(command) == 0
    assert capsys.readouterr().out.strip().endswith(str(Path("run") / "model"))
    assert "left_out" in pf.load(tmp_path / "run" / "model").card.training


@pytest.mark.parametrize(
    "arguments", [["train"], ["train", "--tasks", "tables"], ["train", "recipe.toml", "--from", "m", "--tasks", "t"]]
)
def test_tasks_need_a_model_and_no_recipe(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert execute(arguments) == 2
    assert "--from MODEL --tasks FOLDER" in " ".join(capsys.readouterr().err.split())
