from pathlib import Path
from threading import Thread

import pytest
import torch
from tiny_recipes import TINY_NETWORK
from web.browser import Browser, in_a_browser

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError, UnknownModelError
from priorfit.network import PFN, Problem
from priorfit.web import demonstration as module
from priorfit.web.answers import PythonAnswers
from priorfit.web.demonstration import demonstration, is_shown, shown_models
from priorfit.web.server import PageServer


def saved(folder: Path, problem: Problem) -> Path:
    PFN(TINY_NETWORK if isinstance(problem.outcome, Real) else pf.NetworkSettings(16, 1, 2, 16), problem).save(folder)
    return folder


def test_the_page_offers_the_released_models_that_it_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shown_models()
    assert list(found)[0] == "gp-rbf-1d-short"
    assert {"gp-rbf-1d", "gp-hyper-1d", "tabular-binary-small"} <= found.keys() and "gp-rbf-5d" not in found
    monkeypatch.setattr(module, "FIRST", "nonsense")
    assert list(shown_models())[0] == next(name for name in pf.zoo.names() if is_shown(name, pf.load(name)))


def test_a_model_of_ones_own_comes_first(tmp_path: Path) -> None:
    folder = saved(tmp_path / "mine" / "model", Problem(1, Real(), (-2.0, 2.0)))
    first, *others = shown_models(folder)
    assert first == "mine" and "gp-rbf-1d" in others


@pytest.mark.parametrize(
    ("problem", "words"),
    [(Problem(3, Real(), (0.0, 1.0)), "3 columns.*are real"), (Problem(1, Classes(4), (0.0, 1.0)), "are 4 classes")],
)
def test_a_model_that_no_page_can_show_is_refused(problem: Problem, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"real targets over one feature.*takes .*{words}"):
        shown_models(saved(tmp_path / "mine", problem))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="no model 'gp-rbf-1e'"):
        shown_models("gp-rbf-1e")


class TestInABrowser:
    """The page of the server in Chromium, with a model whose prior is bound."""

    pytestmark = in_a_browser

    def test_the_page_shows_what_only_python_can_say(self, browser: Browser, latents: PFN) -> None:
        answers = PythonAnswers({"waves": latents})
        server = PageServer(demonstration({"waves": latents}, answers), answers, "127.0.0.1", 0)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            browser.driver.get(server.address)
            browser.wait_for(lambda: browser.run("return !!page?.view.bands.exact"))
            self.holds_the_truth(browser, latents)
        finally:
            server.shutdown()
            server.server_close()
            thread.join(timeout=60)
        browser.wait_for(lambda: self.asks_in_vain(browser))
        assert all("ERR_CONNECTION_REFUSED" in each for each in browser.complaints())

    def asks_in_vain(self, browser: Browser) -> bool:
        """Ask once; a connection that Chromium opened ahead of need may still answer after the server has closed."""
        browser.run("page.place([{x: 0.5, y: 0.1}])")
        browser.wait_for(lambda: browser.run("return !page.python.isBusy"))
        return "Python no longer answers" in browser.text("remarks")

    def holds_the_truth(self, browser: Browser, latents: PFN) -> None:
        x, y = ([point[name] for point in browser.points()] for name in ("x", "y"))
        oracle = PythonAnswers({"waves": latents})._oracles["waves"]
        queries = browser.run("return [...page.subject.queries.data]")
        ppd = oracle.condition(torch.tensor(x)[:, None], torch.tensor(y)).predict(torch.tensor(queries)[:, None])
        assert browser.run("return [...page.view.bands.exact.mean]") == pytest.approx(ppd.mean.tolist(), abs=1e-4)
        assert "surprise: p = " in browser.text("status")
        assert browser.text("exact-name") == "truth (importance sampling): the same"
        assert browser.run("return page.view.cut.exact?.length ?? 0") == 600
        hosts = browser.run(
            "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).origin)"
        )
        assert set(hosts) == {browser.run("return location.origin")}
        assert browser.complaints() == []
