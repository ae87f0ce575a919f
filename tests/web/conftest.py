from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from web.browser import RELEASED, Browser
from web.fixtures import scrambled

import priorfit as pf
from priorfit.data import Classes
from priorfit.network import PFN, ModelCard, Problem
from priorfit.web import export_page


@pytest.fixture(scope="session")
def classes() -> PFN:
    settings = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = PFN(settings, Problem(2, Classes(3), (0.0, 1.0)), ModelCard(name="colours", trained_context=(0, 40)))
    return scrambled(model)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, classes: PFN) -> Path:
    models = {name: pf.load(name) for name in RELEASED} | {"colours": classes}
    return export_page(models, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Browser]:
    browser.open(site)
    yield browser
    assert browser.complaints() == []
