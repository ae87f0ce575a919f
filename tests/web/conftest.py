from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import torch
from tiny_recipes import tiny_recipe
from torch.distributions import Categorical, LogNormal, Normal, Uniform
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


@pf.prior(
    num_features=1,
    frequency=Uniform(2.0, 10.0),
    decay=LogNormal(0.0, 0.5),
    kind=Categorical(torch.ones(3) / 3),
    bias=Normal(0.0, 0.5).expand([2]),
)
def waves(x, frequency, decay, kind, bias):
    """Every kind of latent: bounded, above, classes, and a vector of reals."""
    wave = torch.sin(frequency * x[..., 0]) * torch.exp(-decay * x[..., 0])
    return Normal(wave + 0.2 * kind + bias.sum(-1, keepdim=True), 0.05)


@pytest.fixture(scope="session")
def latents() -> PFN:
    """A model with latents, fitted for a few steps, and then scrambled, so that no weight stays where it began."""
    network = pf.NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16)
    recipe = tiny_recipe(steps=4, prior=waves, network=network, num_points=20, name="waves")
    model = scrambled(cast(PFN, pf.train(recipe)))
    model.prior = waves
    return model


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, classes: PFN, latents: PFN) -> Path:
    models = {name: pf.load(name) for name in RELEASED} | {"colours": classes, "waves": latents}
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
