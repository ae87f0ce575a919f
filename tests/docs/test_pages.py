"""The code on the pages of the site runs, top to bottom, one namespace a page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
TESTED_ELSEWHERE = {"estimators.md"}  # tests/estimators holds its table to its words, too


def pages() -> dict[str, str]:
    files = sorted(file for file in DOCS.rglob("*.md") if "_build" not in file.parts)
    texts = {str(file.relative_to(DOCS)): file.read_text(encoding="utf-8") for file in files}
    return {name: "\n".join(BLOCK.findall(text)) for name, text in texts.items() if name not in TESTED_ELSEWHERE}


CODE = {name: code for name, code in pages().items() if code}


def test_the_tutorials_have_code():
    assert {"idea.md", "models.md"} <= CODE.keys()


@pytest.mark.parametrize("page", CODE)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some save a model or a picture
    exec(compile(CODE[page], page, "exec"), {"__name__": "page"})
