"""Wrong trainings on the command line: one line that names the cause, exit code 1, no trace, nothing written."""

import sys
from pathlib import Path

import pytest
import torch
from tiny_recipes import TINY_TOML

from priorfit.cli.main import run

WHOLE = TINY_TOML.format(steps=1, micro_batches=1)
CALLS = {
    "no such device": (WHOLE, ["--device", "cuda"], "the device 'cuda' cannot be used here"),
    "nonsense device": (WHOLE, ["--device", "nonsense"], "the device 'nonsense' cannot be used here"),
    "binary": ("\udcff\udcfe", [], "is no text, so it is no recipe"),
    "a path as name": (WHOLE.replace('"tiny"', '"../../evil"'), [], "becomes that of a folder"),
    "no name": (WHOLE.replace('"tiny"', '""'), [], "becomes that of a folder"),
    "absurd width": (WHOLE.replace("width = 16", "width = 1000000"), [], "network is too large"),
    "absurd points": (
        WHOLE.replace("num_points = 8", "num_points = 10000000000"),
        [],
        "num_points must be at most 16,777,216",
    ),
    "absurd batch": (WHOLE.replace("batch_size = 4", "batch_size = 1000000000"), [], "a batch of this recipe takes"),
    "nothing to resume": (WHOLE, ["--resume"], "there is no run in runs/tiny to go on with"),
    "negative workers": (WHOLE, ["--workers", "-1"], "workers must be at least 0"),
    "negative seconds": (WHOLE, ["--checkpoint-seconds", "-1"], "checkpoint_seconds must be at least 0"),
    "nan seconds": (WHOLE, ["--checkpoint-seconds", "nan"], "checkpoint_seconds of a RunOptions must be finite"),
}


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(("text", "options", "message"), CALLS.values(), ids=CALLS.keys())
def test_a_wrong_training_is_one_line(text, options, message, tmp_path: Path, monkeypatch, capsys):
    if "cuda" in options and torch.cuda.is_available():
        pytest.skip("there is one")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_bytes(text.encode(errors="surrogateescape"))
    monkeypatch.setattr(sys, "argv", ["priorfit", "train", "recipe.toml", *options])
    with pytest.raises(SystemExit) as end:
        run()
    said = capsys.readouterr().err
    assert end.value.code == 1 and message in " ".join(said.split()) and "Traceback" not in said
    assert not list(tmp_path.rglob("model")) and not list(tmp_path.parent.rglob("evil"))
    if "device" in message or "batch" in message:
        assert not (tmp_path / "runs").exists()
