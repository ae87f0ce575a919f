from types import ModuleType

import pytest


@pytest.fixture
def page() -> ModuleType:
    from benchmarks.pilots import own_priors_page  # pyright: ignore[reportMissingImports]

    return own_priors_page


def test_the_tables_of_the_page_are_those_of_the_rows(page: ModuleType) -> None:
    """Else: python benchmarks/pilots/own_priors_page.py --write."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text
    assert all(page.printed(name).count("\n") > 2 for name in page.TABLES)
