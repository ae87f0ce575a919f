import re
import sys
from pathlib import Path

import pytest
from forked import run_forked

import priorfit
from priorfit.cli.main import run
from priorfit.data import Classes
from priorfit.errors import InputError, RecipeError, UnknownModelError
from priorfit.network import PFN, ModelCard, NetworkSettings, Problem
from priorfit.zoo import load, names

COMMANDS = ("quickstart", "train", "check", "predict", "models", "verify", "demo", "export")
RECIPE = """
name = "waves"
num_points = 10
budget = {type = "Budget", steps = 1}
prior = {type = "GaussianProcess", num_features = 1}
"""


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """How ``priorfit ARGUMENTS`` ends."""
    monkeypatch.setattr(sys, "argv", ["priorfit", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0)


def one_error_line(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, command, "--help") == 0
    out, err = capsys.readouterr()
    assert command in out and "--help" in re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert err == ""


def test_the_help_lists_every_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(monkeypatch, "--help") == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What the Tab key behind the last word offers in bash."""
    monkeypatch.setenv("_PRIORFIT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert exit_code(monkeypatch) == 0
    return capsys.readouterr().out.split()


def test_the_shell_completes_commands_options_and_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(monkeypatch, capsys, "priorfit", "pred") == ["predict"]
    assert completed(monkeypatch, capsys, "priorfit", "predict", "--plo") == ["--plot"]
    for command in ("verify", "demo"):
        assert completed(monkeypatch, capsys, "priorfit", command, "gp-rbf-1d-s") == ["gp-rbf-1d-short"]
    assert set(completed(monkeypatch, capsys, "priorfit", "predict", "gp-rbf")) >= {"gp-rbf-1d", "gp-rbf-1d-short"}


def test_version_prints_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"priorfit {priorfit.__version__}\n"


def test_models_lists_every_released_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(monkeypatch, "models") == 0
    out = capsys.readouterr().out
    assert out.split()[:3] == ["model", "prior", "columns"]
    assert all(name in out for name in names())


def test_models_tells_what_a_model_was_trained_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {"training": {"datasets": 200}}
    card = ModelCard(
        prior={"type": "Waves"}, trained_context=(0, 9), training={"datasets": 1000, "started_from": before}
    )
    settings = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    PFN(settings, Problem(3, Classes(2)), card).save(tmp_path / "waves-3d")
    monkeypatch.setattr("priorfit.zoo.catalogue.FOLDER", tmp_path)
    assert exit_code(monkeypatch, "models") == 0
    _, row = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == ["waves-3d", "Waves", "3", "0-9"] and row.split()[-1] == "1,200"


@pytest.mark.parametrize("arguments", [["nonsense"], ["predict"], ["models", "--nonsense"], ["train", "a", "b"]])
def test_a_command_that_cannot_be_read_fails_without_a_trace(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1


def test_an_unknown_model_is_one_line_and_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("x,y\n1,\n")
    assert exit_code(monkeypatch, "predict", "gp-rbf-1e", data) == 1
    assert "no model 'gp-rbf-1e'" in one_error_line(capsys)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (RECIPE.replace("num_points", "num_pionts"), "num_pionts"),
        (RECIPE.replace("num_points = 10", ""), "num_points"),
        (RECIPE.replace("num_points = 10", "num_points = 0"), "num_points must be at least 1; got 0"),
        (RECIPE.replace("steps = 1", "steps = 1, minutes = 2"), "exactly one positive value of steps"),
        (RECIPE.replace("GaussianProcess", "GausianProcess"), "GausianProcess"),
        (RECIPE.replace("num_points = 10", "num_points = "), "is not valid TOML"),
    ],
)
def test_a_broken_recipe_is_one_line_that_names_the_setting(
    recipe: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(recipe)
    assert exit_code(monkeypatch, "train", "recipe.toml") == 1
    assert message in one_error_line(capsys)
    assert not (tmp_path / "runs").exists()


def test_a_missing_recipe_is_one_line_and_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "train", tmp_path / "nowhere.toml") == 1
    assert "no recipe at" in one_error_line(capsys)


def test_an_error_of_the_file_system_is_one_line_and_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "train", tmp_path) == 1  # a folder is no recipe
    one_error_line(capsys)


def test_an_error_keeps_what_stands_in_brackets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "predict", "no-model", tmp_path / "length[cm] [red].csv") == 1
    assert "length[cm] [red].csv" in one_error_line(capsys)


@pytest.mark.parametrize("position", [1, 4])
def test_debug_raises_the_error_itself_wherever_it_stands(
    position: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["priorfit", "predict", "no-model", str(tmp_path / "nowhere.csv")]
    arguments.insert(position, "--debug")
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(InputError, match="no file at"):
        run()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(["train", "nowhere.toml"], RecipeError), (["predict", "no-model", "data.csv"], UnknownModelError)],
)
def test_debug_works_for_every_kind_of_error(
    arguments: list[str], error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x,y\n1,\n")
    monkeypatch.setattr(sys, "argv", ["priorfit", "--debug", *arguments])
    with pytest.raises(error):
        run()


def test_python_dash_m_is_the_command_line_and_debug_shows_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    as_module = 'import runpy; runpy.run_module("priorfit", run_name="__main__", alter_sys=True)'  # what -m does
    done = run_forked(as_module, "--debug", "predict", "no-model", "nowhere.csv")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-1].startswith("priorfit.errors.InputError: no file at nowhere.csv")


@pytest.mark.usefixtures("few_surprises")
@pytest.mark.parametrize(("scale", "code"), [(1.0, 0), (3.0, 1)])
def test_verify_has_an_exit_code_for_scripts(
    scale: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model whose targets have other units than its prior's must not pass."""
    model = load("gp-rbf-1d")
    model.scaling.spread *= scale
    monkeypatch.setattr("priorfit.zoo.load", lambda *_: model)
    assert exit_code(monkeypatch, "verify", "gp-rbf-1d", "--n", "4", "--datasets", "300") == code
    assert ("bad" if code else "Nothing needs to be done.") in " ".join(capsys.readouterr().out.split())
    assert exit_code(monkeypatch, "verify", "--help") == 0
    assert "The exit code is for scripts" in " ".join(capsys.readouterr().out.split())
