"""Write docs/wrong_inputs.md from the cases: ``PYTHONPATH=src:tests python tests/hostile/write_page.py``."""

from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

from hostile.cases import Case

PAGE = Path(__file__).parents[2] / "docs" / "wrong_inputs.md"
FILES = (
    "condition",
    "predict",
    "exact",
    "distributions",
    "metrics",
    "estimators",
    "frames",
    "files",
    "posteriors",
    "priors",
    "verify",
    "tables",
    "demo",
)
KINDS = ("shape", "dtype", "type", "range", "NaN", "size", "file", "concurrency")

HEAD = """# What wrong inputs get

<!-- Written by tests/hostile/write_page.py from the cases that the tests run; a test compares both. -->

A wrong or unusual input gets one of four things: the right answer (checked against the answer to the clean form of
the same question), a finite answer with an `OutsideTrainingWarning`, a finite answer with a `TableWarning` that says
what was done to a table before the model saw it, or an error of ours, which is a `PriorfitError` and says what was
expected, what came and what to do. Never an error from somewhere inside, and never silence. Where the estimators
follow scikit-learn, its own checks speak first. In `log_prob`, `cdf` and `icdf` of our
distributions NaN stays NaN, at its place alone, with `validate_args` or without (torch's own refuse NaN where they
validate).

This page has {count} cases; each is a test.
"""


def all_cases() -> list[Case]:
    """The cases of every entry point."""
    return [case for name in FILES for case in import_module(f"hostile.test_{name}").CASES]


def lines(cases: list[Case]) -> Iterator[str]:
    """The page: a table for each entry point, a row for each kind of fault and what it gets."""
    yield HEAD.format(count=len(cases))
    for entry in dict.fromkeys(case.entry for case in cases):
        yield f"## {entry}\n"
        yield "| fault | input | what it gets |\n| --- | --- | --- |"
        own = sorted(
            (case for case in cases if case.entry == entry), key=lambda case: (KINDS.index(case.kind), case.gets)
        )
        for (kind, gets), group in groupby(own, key=lambda case: (case.kind, case.gets)):
            yield f"| {kind} | {'; '.join(case.fault for case in group)} | {gets} |"
        yield ""


def page() -> str:
    """The whole text."""
    return "\n".join(lines(all_cases()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
