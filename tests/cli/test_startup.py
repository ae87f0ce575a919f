import inspect
import io
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from priorfit.cli.application import COMMANDS, execute, is_out_of_memory
from priorfit.errors import InputError, RecipeError, TrainingError
from priorfit.training.devices import Processes, training_device
from priorfit.zoo import names

LIGHT = ["--version", "--help", *(f"{command} --help" for command in COMMANDS if command != "predict")]
"""Calls that must not wait for torch. (predict reads tables at import.)"""

TELL = """
import sys
from priorfit.cli.main import run
try:
    run()
finally:
    sys.stderr.write(" ".join(name for name in ("torch", "pandas", "matplotlib") if name in sys.modules))
"""

RECIPE = """
name = "waves"
num_points = 10
budget = {type = "Budget", steps = 1}
prior = {type = "GaussianProcess", num_features = 1}
"""


def called(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("call", LIGHT)
def test_what_only_explains_does_not_import_torch(call: str) -> None:
    done = called(TELL, *call.split())
    assert done.returncode == 0 and done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(command: str) -> None:
    function = getattr(import_module(f"priorfit.cli.{command}"), command)
    assert (inspect.getdoc(function) or "").splitlines()[0] == COMMANDS[command]


@pytest.mark.parametrize("command", ["models", "predict"])
@pytest.mark.parametrize("interruption", ["raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGINT)"])
@pytest.mark.parametrize("module", ["typer", "torch"])
def test_ctrl_c_while_importing_is_one_line_and_exit_130(module: str, interruption: str, command: str) -> None:
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {interruption}
sys.meta_path.insert(0, Interrupt())
from priorfit.cli.main import run
run()
"""
    done = called(code, command, *(["gp-rbf-1d", "table.csv"] if command == "predict" else []))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped by Ctrl-C.\n")


@pytest.mark.parametrize("columns", [40, 80])
def test_models_cuts_no_name_however_narrow_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=columns)
    monkeypatch.setattr("priorfit.cli.terminal.answers", console)
    assert execute(["models"]) == 0
    text = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    header, *rows = text.splitlines()
    assert header.split() == ["model", "prior", "columns", "context", "weights", "datasets"]
    assert [row.split()[0] for row in rows] == names()
    assert "HyperGaussianProcess" in text and "…" not in text
    assert max(len(line.rstrip()) for line in (header, *rows)) <= 80


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RECIPE.replace("num_points = 10", f"num_points = {10**25}"), "num_points must be at most 16,777,216"),
        (RECIPE.replace("num_points = 10", "num_points = 16000000"), r"at least [0-9,]+ GB.*num_points \(16,000,000\)"),
        (
            RECIPE + f'network = {{type = "NetworkSettings", width = {10**25}, heads = 1}}',
            "64 GB. Lower .*network.width",
        ),
        (
            RECIPE + 'network = {type = "NetworkSettings", width = 80000}',  # a matrix of which is too large alone
            r"too large for the 64 GB .*Lower network.width",
        ),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_made(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("priorfit.training.memory.memory", lambda: 64e9)
    (tmp_path / "recipe.toml").write_text(text)
    assert execute(["train", "recipe.toml"]) == 1
    out, err = capsys.readouterr()
    *_, last = err.splitlines()
    assert out == "" and last.startswith("error: ") and "Traceback" not in err
    pytest.raises((RecipeError, TrainingError), execute, ["--debug", "train", "recipe.toml"]).match(message)
    made = [file.name for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    assert set(made) <= {".lock"}  # a network is measured after its folder was claimed; nothing else is in it


def test_memory_that_runs_out_later_is_one_line_too() -> None:
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"))
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("a mistake of ours"))


def test_binary_toml_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recipe.toml").write_bytes(bytes(range(256)))
    assert execute(["train", str(tmp_path / "recipe.toml")]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "cuda:", ""])
def test_a_device_that_is_not_there_is_one_line(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    assert execute(["train", "recipe.toml", "--device", device]) == 1
    assert f"error: the device {device!r} cannot be used here" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()
    with pytest.raises(InputError, match="This machine has: cpu"):
        training_device(device, Processes())


def test_a_device_that_is_there_is_taken() -> None:
    assert training_device("cpu", Processes()).type == "cpu"
