import re
import subprocess
import sys
from pathlib import Path

import pytest

from priorfit.zoo import load, names

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as `make docs` does: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.timeout(600)
def test_every_page_is_in_the_site(site: Path):
    pages = [file.relative_to(DOCS) for file in DOCS.rglob("*.md") if "_build" not in file.parts]
    assert [page for page in pages if not (site / page.with_suffix(".html")).is_file()] == []


@pytest.mark.timeout(600)
def test_every_released_model_has_its_card_with_a_measured_table(site: Path):
    page = re.sub(r"<[^>]*>", "", (site / "models.html").read_text(encoding="utf-8"))
    for name in names():
        is_tuned = load(name).card.recipe["prior"]["type"] == "Shown"
        assert ("omniglot_finetune.py" if is_tuned else f"recipes/{name}.toml") in page
        assert load(name).card.measured["command"] in page
    assert "Nothing was measured" not in page


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page, anchor",
    [
        ("priors", "priorfit.priors.GaussianProcess"),
        ("network", "priorfit.network.PFN.condition"),
        ("training", "priorfit.training.fit"),
        ("baselines", "priorfit.baselines.TunedXGBoost"),
        ("estimators", "priorfit.estimators.PFNClassifier.predict_proba"),
        ("plots", "priorfit.plots.plot_predictive"),
        ("errors", "priorfit.errors.UnknownModelError"),
    ],
)
def test_the_reference_knows_the_public_names(site: Path, page: str, anchor: str):
    assert f'id="{anchor}"' in (site / "api" / f"{page}.html").read_text(encoding="utf-8")


@pytest.mark.timeout(600)
def test_the_first_page_shows_the_page_that_needs_no_server(site: Path):
    assert '<iframe src="page/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    assert "gp-rbf-1d-short" in (site / "page" / "index.html").read_text(encoding="utf-8")
