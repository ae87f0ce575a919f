import sys

import pytest

from priorfit.cli.arguments import prior_at
from priorfit.cli.main import run
from priorfit.errors import InputError
from priorfit.priors import ProgramPrior

SOURCE = """
import priorfit as pf
from torch.distributions import Normal

@pf.prior(num_features=1, slope=Normal(0.0, 1.0))
def slopes(x, slope):
    return Normal(slope * x[..., 0], 0.1)

number = 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    path = tmp_path / "my_own_priors.py"
    path.write_text(SOURCE)
    return path


def test_a_prior_is_named_by_its_file_and_name(file):
    found = prior_at(f"{file}:slopes")
    assert isinstance(found, ProgramPrior) and found.name == "slopes"


@pytest.mark.usefixtures("as_users_run_it")
def test_a_gap_is_asked_for_as_in_python(file, tmp_path, monkeypatch, capsys):
    asked = {}
    monkeypatch.setattr("priorfit.training.fit", lambda prior, **options: asked.update(prior=prior.name, **options))
    told = ["priorfit", "train", f"{file}:slopes", "--gap", "0.01", "--folder", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", told)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 0 and str(tmp_path / "run" / "model") in capsys.readouterr().out.replace("\n", "")
    assert (asked["prior"], asked["gap"], asked["minutes"], asked["folder"]) == ("slopes", 0.01, None, tmp_path / "run")


@pytest.mark.usefixtures("as_users_run_it")
def test_a_recipe_has_no_gap_to_reach(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["priorfit", "train", "recipe.toml", "--gap", "0.01"])
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code != 0 and "--gap is for a prior of your own" in " ".join(capsys.readouterr().err.split())


def test_what_is_no_prior_is_refused(file, tmp_path):
    with pytest.raises(InputError, match="number in .* must be a prior, .* got int"):
        prior_at(f"{file}:number")
    with pytest.raises(InputError, match="got nothing of that name"):
        prior_at(f"{file}:nobody")
    with pytest.raises(InputError, match=r"expected a prior as FILE.py:NAME"):
        prior_at(f"{tmp_path / 'none.py'}:slopes")
