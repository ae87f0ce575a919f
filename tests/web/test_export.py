import re
from pathlib import Path

import pytest
import torch

import priorfit as pf
from priorfit.baselines.neural_process.settings import NeuralProcessSettings
from priorfit.cli.application import execute
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.network import Problem, TableSettings
from priorfit.network.solver.class_regression import ClassRegression
from priorfit.web import export_page, support
from priorfit.web.bundle import bundled, shortened
from priorfit.web.export import HERE, digest

MOST_BYTES = 114_500


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = export_page({"gp-rbf-1d": pf.load("gp-rbf-1d")}, tmp_path_factory.mktemp("web"))
    return place.read_text(encoding="utf-8")


def test_the_page_without_weights_is_small(page: str) -> None:
    bare = re.sub(r'id="models">.*?</script>', "", page, flags=re.DOTALL)
    assert 60_000 < len(bare.encode()) <= MOST_BYTES


def test_the_policy_forbids_to_load_anything_and_allows_one_script_by_its_hash(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert policy.startswith("default-src 'none'; ") and f"script-src 'sha256-{digest(script)}'" in policy
    assert "http" not in policy and "unsafe" not in policy and "*" not in policy
    assert not re.findall(r"(?:src|href)=", page) and "fetch(" not in script


def test_every_module_can_be_read_at_once() -> None:
    lengths = {file.name: len(file.read_text().splitlines()) for file in (HERE / "js").rglob("*.js")}
    assert len(lengths) > 40 and max(lengths.values()) <= 300


def test_modules_mirror_the_network_file_by_file() -> None:
    """A file of `network/` that computes has its module; what only trains, saves or warns in words has none."""
    network = HERE.parent / "network"
    left_out = {
        "__init__",
        "allowance",
        "card",
        "model",
        "one_step_ahead",
        "posterior",
        "storage",
        "summaries",
        "summary",
    }
    left_out |= {"surprise", "validation"}
    left_out |= {"answering", "binding", "functions", "refinement"}  # of priors whose code is at hand
    left_out |= {
        "joint",
        "cell_joint",
        "kept",
        "kept_loading",
        "statistics",
        "constants",
    }  # joint densities, posteriors as files
    left_out |= {"kernel", "kernel_family"}  # refused at export too
    left_out |= {"choice"}  # `latent` has it there
    left_out |= {"images", "class_regression"}  # refused at export, see `support.RUN`
    for folder in (".", "attention", "encoders", "heads", "latents", "solver"):
        python = {file.stem for file in (network / folder).glob("*.py")} - left_out
        javascript = {file.stem for file in (HERE / "js" / "network" / folder).glob("*.js")}
        assert python - javascript == set()


def test_short_names_keep_keys_strings_and_shadows() -> None:
    code = """
        const LIMIT = 3 // a number
        export function total({count, size: wide = LIMIT}, text) {
          const kept = {count, wide}
          return `${text} has ${kept.count * wide} of "count"` + "text"
        }
        """
    short = shortened(re.sub(r"^ {8}", "", code, flags=re.MULTILINE), {"LIMIT": "A0", "total": "B0"}, {})
    assert "A0=3" in short and "number" not in short
    assert "function B0({count:" in short and "size:" in short and ".count*" in short
    assert 'of "count"`' in short and '"text"' in short


def test_the_script_has_no_comments_and_no_imports() -> None:
    script = bundled(HERE / "js", "main.js")
    assert not re.findall(r"^\s*(?:import|export)\b", script, flags=re.MULTILINE)
    assert not re.findall(r"^\s*//", script, flags=re.MULTILINE)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["export", "gp-rbf-1d", "gp-rbf-1d-short", "--web", str(tmp_path / "site")]) == 0
    assert "index.html" in capsys.readouterr().out
    assert (tmp_path / "site" / "index.html").stat().st_size > 600_000
    assert execute(["export", "gp-rbf-1d", "--web", str(tmp_path / "site")]) == 0  # a page of ours is replaced


@pytest.mark.parametrize("name", ["gp-rbf-5d", "bnn-small"])
def test_a_model_of_too_many_columns_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"cannot show {name}: .* takes [35] columns"):
        export_page({name: pf.load(name)}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_networks_that_the_page_does_not_have_are_refused(tmp_path: Path) -> None:
    table = TableSettings().build(Problem(4, Classes(2)))
    process = NeuralProcessSettings().build(Problem(1, Real(), (0.0, 1.0)), None, torch.randn(20, 10))
    with pytest.raises(InputError, match="cannot run table: it is a network for tables"):
        export_page({"table": table}, tmp_path)
    with pytest.raises(InputError, match="cannot run process: it is a .*NeuralProcess, a baseline"):
        export_page({"process": process}, tmp_path)


def test_foreign_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>mine</p>")
    with pytest.raises(InputError, match="no page of priorfit"):
        export_page({"gp": pf.load("gp-rbf-1d")}, tmp_path)
    with pytest.raises(InputError, match="is a file"):
        export_page({"gp": pf.load("gp-rbf-1d")}, tmp_path / "index.html")
    with pytest.raises(InputError, match="at least one model"):
        export_page({}, tmp_path)
    assert (tmp_path / "index.html").read_text() == "<p>mine</p>"


def test_parts_that_are_exported_are_those_that_the_script_has() -> None:
    network = HERE / "js" / "network"
    tables = {"encoders/inputs.js": "ENCODERS", "heads/defaults.js": "HEADS", "solver/settings.js": "SOLVERS"}
    found = set[str]()
    for file, table in tables.items():
        (entries,) = re.findall(rf"{table} = {{([^}}]*)}}", (network / file).read_text(encoding="utf-8"))
        found |= {entry.split(":")[0].strip() for entry in entries.split(",")}
    assert found == support.RUN


def test_a_part_that_the_script_does_not_have_is_named(tmp_path: Path) -> None:
    settings = pf.NetworkSettings(width=8, layers=1, attention_heads=1, feedforward=8, solver=ClassRegression())
    with pytest.raises(InputError, match="cannot run classes: it has no ClassRegression in JavaScript"):
        export_page({"classes": settings.build(Problem(2, Classes(3)))}, tmp_path)
