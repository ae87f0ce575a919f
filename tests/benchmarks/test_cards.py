"""Each released model against its own card: the card's datasets are drawn again, and its measures computed again."""

import math
from pathlib import Path

import pytest
import torch

import priorfit as pf
from priorfit.data import Batch, Classes
from priorfit.network import PFN
from priorfit.predictor import predict
from priorfit.priors import Prior
from priorfit.training.finetuning import own_prior
from priorfit.zoo import names
from priorfit.zoo.catalogue import FOLDER

SIZES = {5, 20, 100}
AFFORDABLE = {"exact": 2_000, "CollapsedBNN": 60, "HyperGPOracle": 12}
"""Datasets for which the reference of a card takes a second or two; long runs of NUTS take a minute for each."""
ROUNDING = 0.1
"""Share of a half-width by which a model may differ from its card on another processor, which rounds otherwise."""
DEVIATIONS = 4
"""How many standard deviations the mean over some of a card's datasets may be away from the mean over all."""


def prior_of(model: pf.Model) -> Prior:
    return own_prior(model)


def datasets_of(model: PFN, size: int) -> Batch:
    """The datasets that the card's row for this size was measured on."""
    measured = model.card.measured
    with pf.seeded(measured["circumstances"]["seed"], 3_000_000, size):
        return prior_of(model).sample_split(measured["num_datasets"], size, measured["num_queries"])


def rows_of(model: PFN, largest: int) -> list[dict]:
    rows = model.card.measured["rows"]
    return [row for row in rows if row["n"] in SIZES and row["n"] <= largest] or rows[:1]


OF_TABLES = [name for name in names() if '"type": "Tables"' in (FOLDER / name / "config.json").read_text()]
OTHERS = [name for name in names() if name not in OF_TABLES]


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_model_of_tables_has_the_scores_that_its_card_states(name: str):
    from benchmarks.release import release_tables  # pyright: ignore[reportMissingImports]

    model = pf.load(name)
    (row,) = (row for row in model.card.measured["rows"] if row["n"] == 30)
    found = release_tables.on_the_prior(model, prior_of(model), 30, model.card.measured["circumstances"]["seed"])
    for measure in found.keys() - {"ece"}:
        stated, half_width = row[measure]
        assert found[measure][0] == pytest.approx(stated, rel=0, abs=ROUNDING * half_width), measure


@pytest.mark.parametrize("name", OTHERS)
def test_a_released_model_has_the_nll_that_its_card_states(name: str):
    model = pf.load(name)
    rows = rows_of(model, largest=20)
    assert rows
    for row in rows:
        tasks = datasets_of(model, row["n"])
        with torch.no_grad():
            found = -predict(model.in_model_units(), tasks).log_prob(tasks.query_y).mean().item()
        stated, half_width = row["nll"]
        assert found == pytest.approx(stated, rel=0, abs=ROUNDING * half_width), row


@pytest.mark.parametrize("name", OTHERS)
def test_a_released_model_has_the_gap_that_its_card_states(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.common import references  # pyright: ignore[reportMissingImports]
    from benchmarks.release import release, release_truth  # pyright: ignore[reportMissingImports]

    model = pf.load(name)
    prior, measured = prior_of(model), model.card.measured
    reference = release_truth.reference_of(prior)
    assert reference.name == measured["reference"]
    if reference.name not in AFFORDABLE:
        pytest.skip(f"its reference ({reference.name}) is not there in seconds; the NLL is compared")
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    few, all_of_them = min(AFFORDABLE[reference.name], measured["num_datasets"]), measured["num_datasets"]
    for row in rows_of(model, largest=20 if reference.name == "exact" else 5):
        tasks = datasets_of(model, row["n"])
        some = Batch(*(getattr(tasks, part)[:few] for part in ("context_x", "context_y", "query_x", "query_y")))
        with torch.no_grad():
            trial = release.Trial(some, *reference.answer(some))
        found = release.numbers(model, trial, isinstance(prior.outcome, Classes))["gap"].mean
        stated, half_width = row["gap"]
        deviation = half_width / 1.96 * math.sqrt(all_of_them / few - 1)  # of the mean over few of all
        assert found == pytest.approx(stated, rel=0, abs=DEVIATIONS * deviation + ROUNDING * half_width), row
