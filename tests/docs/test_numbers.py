"""Numbers on the pages are those of the kept results and of the code."""

import json
import re
from pathlib import Path

import pytest

from priorfit.priors.tables.tables import WEIGHTS

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")

BASELINES = {
    "`MLE2GP`": ("GP with hyper-priors", "MLE-II, BoTorch"),
    "`NutsGP` 256 + 256, NumPyro": ("GP with hyper-priors", "NUTS 256 + 256, NumPyro"),
    "`NutsGP` 256 + 256, Pyro": ("GP with hyper-priors", "NUTS 256 + 256, Pyro"),
    "`SviBNN`, 400 steps": ("small BNN", "SVI, 400 steps, Pyro"),
    "`NutsBNN` 256 + 256, NumPyro": ("small BNN", "NUTS 256 + 256, NumPyro"),
    "`TunedXGBoost`": ("table of 10 features", "XGBoost, tuned"),
    "`TunedCatBoost`": ("table of 10 features", "CatBoost, tuned"),
}
"""Rows of the table of baselines on the page, and of the saved result."""


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def cells(text: str) -> list[list[str]]:
    """The rows of all tables of a page."""
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def rounding(shown: str) -> float:
    """Half of the last digit that a number on a page states; large ones end in zeros that state nothing."""
    digits = shown.replace(",", "")
    if "." in digits:
        return 0.5 * 10 ** -len(digits.split(".")[1])
    return 0.5 * 10 ** (len(digits) - len(digits.rstrip("0")) if int(digits) >= 1000 else 0)


def check_interval(shown: str, measured: dict[str, float]) -> None:
    found = NUMBER.findall(shown)
    for text, value in zip(found, (measured["median"], measured["low"], measured["high"]), strict=True):
        assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-9, abs=rounding(text) * 1.001), shown


@pytest.mark.parametrize("name", BASELINES)
def test_the_cost_of_a_baseline_is_the_measured_one(name: str):
    (shown,) = (row[-3:] for row in cells(page("comparisons")) if name in row)
    saved = json.loads((ROOT / "benchmarks" / "results" / "baseline_cost.json").read_text(encoding="utf-8"))["rows"]
    (row,) = (row for row in saved if (row["setting"], row["baseline"]) == BASELINES[name])
    for text, measure in zip(shown, ("seconds", "times_pfn_batched", "times_pfn_alone"), strict=True):
        check_interval(text, row[measure])


def saved_rows(name: str) -> list[dict]:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def test_the_times_of_the_page_are_the_measured_ones():
    rows = {row["name"]: row["ms"] for row in saved_rows("page_latency")}
    words = " ".join(page("web").split())
    for pattern, name in (
        (r"after ([\d., \[\]]+) ms, and", "a point moves"),
        (r"file comes after ([\d., \[\]]+) ms", "the first paint"),
    ):
        (shown,) = re.findall(pattern, words)
        check_interval(shown, rows[name])


def test_the_cost_of_the_largest_table_is_the_measured_one():
    few, many = saved_rows("large_table")
    words = " ".join(page("tables").split())
    assert f"they take {few['seconds']:.1f} s and {few['gigabytes']:.1f} GB" in words
    assert f"ten classes {many['seconds']:.1f} s and {many['gigabytes']:.1f} GB" in words


def test_a_number_that_is_rounded_wrongly_is_found():
    check_interval("0.27 [0.24, 17,700]", {"median": 0.2749, "low": 0.2351, "high": 17_749})
    for wrong in ({"median": 0.276}, {"low": 0.246}, {"high": 17_751}):
        with pytest.raises(AssertionError):
            check_interval("0.27 [0.24, 17,700]", {"median": 0.27, "low": 0.24, "high": 17_700} | wrong)


def test_the_conclusions_on_training_are_those_of_the_tables_below_them():
    text = page("training_on_cpu")
    first = text.index("\n| ")
    gaps = [float(number) for number in re.findall(r"\d\.\d{4}", text[first:])]
    stated = re.findall(r"\b\d\.\d{3,4}\b", text[:first])
    assert len(stated) > 10
    for number in stated:
        assert any(abs(float(number) - gap) <= rounding(number) * 1.001 for gap in gaps), number


def test_the_mechanisms_of_tables_have_the_weights_that_the_page_states():
    stated = {row[0].strip("`"): row[1] for row in cells(page("tables")) if row[0].strip("`") in WEIGHTS}
    assert {name: float(weight) for name, weight in stated.items()} == WEIGHTS
