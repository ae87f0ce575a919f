"""A user's own model in the exported page, and what is none."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from web.browser import Browser, in_a_browser

from priorfit.zoo import catalogue

pytestmark = in_a_browser


def choose_folder(page: Browser, folder: Path) -> None:
    """Choose a folder, as the button does."""
    chooser = page.driver.find_element(By.ID, "folder")
    page.run("arguments[0].hidden = false", chooser)
    chooser.send_keys(str(folder))


def test_an_own_model_is_opened_and_never_sent(page: Browser, tmp_path: Path) -> None:
    folder = shutil.copytree(catalogue.FOLDER / "gp-rbf-1d", tmp_path / "mine")
    choose_folder(page, folder)
    page.wait_for(lambda: page.run("return page.subject.name") == "mine")
    assert len(page.points()) == 3 and page.run("return performance.getEntriesByType('resource').length") == 0


def test_files_can_be_dropped(page: Browser) -> None:
    files = {
        name: list((catalogue.FOLDER / "gp-hyper-1d" / name).read_bytes())
        for name in ("config.json", "model.safetensors")
    }
    page.run(
        """
        const data = new DataTransfer()
        for (const [name, bytes] of Object.entries(arguments[0])) {
          data.items.add(new File([Uint8Array.from(bytes)], name))
        }
        document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}))
        """,
        files,
    )
    page.wait_for(lambda: page.run("return page.subject.name") == "gp-hyper-1d (2)")


def other_network(config: dict[str, Any], how: str) -> dict[str, Any]:
    """A config with another network than its weights are of."""
    network = config["network"]
    others = {
        "table": {"type": "TableSettings"},
        "another shape": network | {"width": 17},
        "huge basis": network | {"solver": network["solver"] | {"basis": {"type": "Harmonics", "order": 10**9}}},
        "words for numbers": network | {"solver": {"type": "LatentSolver", "basis": 3, "latents": None}},
    }
    return config | {"network": others[how]}


def broken(folder: Path, how: str) -> Path:
    """A copy of a model with one thing wrong."""
    shutil.copytree(catalogue.FOLDER / "gp-hyper-1d", folder)
    config, weights = folder / "config.json", folder / "model.safetensors"
    content = weights.read_bytes()
    match how:
        case "no weights":
            weights.unlink()
        case "short":
            weights.write_bytes(content[:-100])
        case "altered":
            weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "no json":
            config.write_text("{")
        case "another program's":
            config.write_text("{}")
        case _:
            config.write_text(json.dumps(other_network(json.loads(config.read_text()), how)))
    return folder


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("no weights", "no folder of a model: expected config.json and model.safetensors, found config.json"),
        ("short", "The weights are damaged or of another model: model.safetensors should have {bytes} bytes"),
        ("altered", "the sha256 of model.safetensors is not the one in config.json"),
        ("no json", "config.json is not valid JSON"),
        ("another program's", "was not written by priorfit"),
        ("table", "The page cannot run this model: it is a network for tables"),
        ("huge basis", "Harmonics may have at most 4096 functions"),
        ("words for numbers", "config.json describes"),
        ("another shape", "do not fit the network that config.json describes"),
    ],
)
def test_what_is_no_model_is_a_sentence(how: str, sentence: str, page: Browser, tmp_path: Path) -> None:
    choose_folder(page, broken(tmp_path / "model", how))
    expected = sentence.format(bytes=(catalogue.FOLDER / "gp-hyper-1d" / "model.safetensors").stat().st_size)
    page.wait_for(lambda: expected in page.text("remarks"))
    assert page.run("return page.subject.name") == "gp-rbf-1d-short"
