"""The panel of latents in the exported page: posteriors beside priors, and sliders that make a latent known."""

from pathlib import Path

import pytest
import torch
from selenium.webdriver.common.keys import Keys
from web.browser import Browser, in_a_browser

from priorfit.network import PFN

pytestmark = in_a_browser

POINTS = "points=0.1_0.5~0.4_0.9~0.8_-0.2"


@pytest.fixture
def waves(browser: Browser, site: Path) -> Browser:
    browser.open(site, f"model=waves&{POINTS}")
    return browser


def test_each_number_has_a_posterior_beside_its_prior(waves: Browser, latents: PFN) -> None:
    titles = waves.run("return page.latents.cards.map((card) => card.title)")
    assert titles == ["frequency", "decay", "kind", "bias 1", "bias 2"]
    x, y = torch.tensor([[0.1], [0.4], [0.8]]), torch.tensor([0.5, 0.9, -0.2])
    laws = latents.condition(x, y).latents
    low, middle, high = (float(laws["decay"].icdf(level)) for level in (0.025, 0.5, 0.975))
    assert waves.run("return page.latents.cards[1].words.textContent") == f"{middle:.3g} [{low:.3g}, {high:.3g}]"
    sums = waves.run(
        "return page.latents.cards.map(({shown}) => shown.reduce((sum, value) => sum + value) / shown.length)"
    )
    assert sums[0] == pytest.approx(1, abs=1e-6)  # a bounded one is shown whole
    assert all(0.9 < total <= 1 + 1e-6 for total in (sums[1], sums[3], sums[4])) and sums[2] == pytest.approx(1 / 3)
    assert waves.complaints() == []


def test_a_slider_makes_a_latent_known_and_its_box_unknown_again(waves: Browser) -> None:
    before = waves.run("return [...page.view.bands.network.mean]")
    waves.run("page.latents.cards[0].slider.focus()")
    waves.press(Keys.END)
    assert waves.run("return page.known") == {"frequency": [pytest.approx(9.984)]}
    assert waves.run("return page.latents.cards[0].known.checked")
    assert waves.run("return page.latents.cards[0].words.textContent") == "= 9.98"
    assert waves.run("return [...page.view.bands.network.mean]") != before
    assert "frequency is known" in waves.text("live")
    waves.run("page.latents.cards[0].known.click()")
    assert waves.run("return page.known") == {}
    assert waves.run("return [...page.view.bands.network.mean]") == before
    assert waves.complaints() == []


def test_the_numbers_of_a_vector_become_known_together_and_functions_are_drawn_with_them(waves: Browser) -> None:
    waves.run("page.latents.cards[3].known.click()")
    assert len(waves.run("return page.known.bias")) == 2
    waves.push("draw")
    waves.wait_for(lambda: waves.run("return !page.sampler.isBusy && page.view.functions.length === 5"))
    assert waves.complaints() == []


def test_a_link_carries_known_latents(waves: Browser, site: Path) -> None:
    waves.run("page.know('kind', [2]); page.know('decay', [0.5])")
    waves.wait_for(lambda: "known=decay" in waves.run("return location.hash"))
    waves.open(site, waves.run("return location.hash.slice(1)"))
    assert waves.run("return page.known") == {"kind": [2], "decay": [0.5]}
    assert waves.complaints() == []


WRONG = {
    "frequency~11": "Latent frequency must be 2 to 10; got 11, which its prior never draws.",
    "kind~1.5": "Latent kind must be 0 ... 2; got 1.5",
    "bias~1": "Latent bias has 2 number(s); 1 were given.",
    "speed~1": "There is no latent speed; the latents of this model are frequency, decay, kind, bias.",
}


def test_a_latent_that_the_prior_never_draws_is_a_sentence(waves: Browser) -> None:
    for known, sentence in WRONG.items():
        waves.run("location.hash = arguments[0]", f"model=waves&{POINTS}&known={known}")
        waves.wait_for(lambda sentence=sentence: sentence in waves.text("remarks"))
        assert waves.run("return page.known") == {}
    assert waves.complaints() == []
