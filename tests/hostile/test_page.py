from collections import Counter

from hostile.write_page import KINDS, PAGE, all_cases, page


def test_the_page_is_that_of_the_cases() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tests/hostile/write_page.py"


def test_every_case_differs_in_entry_point_or_fault() -> None:
    cases = all_cases()
    twice = [name for name, count in Counter((case.entry, case.fault) for case in cases).items() if count > 1]
    assert not twice
    assert len(cases) >= 300 and {case.kind for case in cases} == set(KINDS)
