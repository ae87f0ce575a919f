"""Pilots of the plain transformer on own priors that only draw: one change at a time, the gap to the truth.

    python benchmarks/pilots/own_priors_plain.py --minutes 1 [--priors waves growth change_point] [--tell]

The prior is asked for draws alone, as a simulator of a user is, so that nothing is read off its code; its law is known
here, and gives the truth. Changes: latents that are not named (else their posterior is an auxiliary target), sixteen
learned rows that each context begins with, tokens that shrink by 0.95 before each layer, narrow and deep, wide and
shallow, half and twice the learning rate, a start from the weights of `generalist-1d`, latents that are shown in fewer
micro-batches or weigh less in the loss, and targets in expectation (of the program itself, without a solver). Minutes
are those of the processor, by one thread. The gap is that of `own_priors_gaps.py`, with whose truth it is measured;
rows have the mean log density of a latent under its margin too, and that of y where the first latent is known. Rows
are kept as they come; a run that was stopped goes on.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor, nn

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors import ALL
from benchmarks.pilots.own_priors_gaps import QUERIES, SIZES, gaps, summarised, truth
from benchmarks.pilots.own_priors_models import NUM_POINTS, SEED
from benchmarks.pilots.race import drawn
from priorfit.errors import UncertainTruthWarning
from priorfit.network import NetworkSettings, pfn
from priorfit.network.attention.transformer import Block, Transformer
from priorfit.network.pfn import LATENT_WEIGHT
from priorfit.priors import ProgramPrior
from priorfit.training import Recipe, batches, train
from priorfit.training.batches import NONE_SHOWN
from priorfit.training.defaults import default_data
from priorfit.training.optimiser import OptimiserSettings
from priorfit.training.recipe import Budget

ROWS = RESULTS / "own_priors_plain.jsonl"
JUDGED = ("waves", "growth", "change_point")
GENERALIST = "runs/generalist-1d/model"
"""What `priorfit train recipes/generalist-1d.toml` leaves."""

DATASETS_OF_LATENTS = 512
THINKING, SHRINKAGE = 16, 0.95
RATE = OptimiserSettings().learning_rate


BEFORE = 0.5
"""The share of micro-batches that showed no latents before these pilots."""


@contextmanager
def latents(weight: float, none_shown: float) -> Iterator[None]:
    """Another weight of the latents in the loss, and another share of micro-batches that show none of them."""
    with patch.object(pfn, "LATENT_WEIGHT", weight), patch.object(batches, "NONE_SHOWN", none_shown):
        yield


@dataclass(frozen=True)
class Change:
    """One change of the plain transformer."""

    network: NetworkSettings = NetworkSettings()
    learning_rate: float = RATE
    names_latents: bool = True
    start: str | None = None
    targets: Literal["sampled", "expected"] = "sampled"
    latent_weight: float = LATENT_WEIGHT
    none_shown: float = BEFORE
    patched: Callable[[], AbstractContextManager[None]] = nullcontext


@contextmanager
def thinking_rows() -> Iterator[None]:
    """Transformers whose contexts begin with learned rows; for measuring, since files of them cannot be read."""
    build, forward, forward_with, condition = (
        getattr(Transformer, name) for name in ("__init__", "forward", "forward_with", "condition")
    )

    def built(self: Transformer, width: int, layers: int, heads: int, feedforward: int) -> None:
        build(self, width, layers, heads, feedforward)
        self.thinking = nn.Parameter(torch.randn(THINKING, width))

    def longer(self: Transformer, tokens: Float[Tensor, "batch tokens width"]) -> Tensor:
        rows = self.thinking.expand(len(tokens), -1, -1)
        return torch.cat([rows, tokens], dim=1)  # pyright: ignore[reportArgumentType, reportCallIssue]

    with patch.multiple(
        Transformer,
        __init__=built,
        forward=lambda self, tokens, count: forward(self, longer(self, tokens), count + THINKING),
        forward_with=lambda self, tokens, count, known, seen=None: (
            forward_with(self, longer(self, tokens), count + THINKING, known, seen)
            if known
            else forward_with(self, tokens, count, known, seen)
        ),
        condition=lambda self, context: condition(self, longer(self, context)),
    ):
        yield


@contextmanager
def shrinking() -> Iterator[None]:
    """Blocks before which tokens shrink."""
    forward = Block.forward
    with patch.multiple(
        Block, forward=lambda self, tokens, *others, **named: forward(self, SHRINKAGE * tokens, *others, **named)
    ):
        yield


CHANGES = {
    "plain transformer": Change(),
    "latents not named": Change(names_latents=False),
    "start from generalist-1d, latents not named": Change(names_latents=False, start=GENERALIST),
    "start from generalist-1d, a quarter of the rate": Change(
        names_latents=False, start=GENERALIST, learning_rate=RATE / 4
    ),
    "sixteen learned rows": Change(patched=thinking_rows),
    "tokens shrink by 0.95": Change(patched=shrinking),
    "narrow and deep": Change(NetworkSettings(width=48, layers=10, feedforward=96)),
    "wide and shallow": Change(NetworkSettings(width=96, layers=3, feedforward=192)),
    "half the learning rate": Change(learning_rate=RATE / 2),
    "twice the learning rate": Change(learning_rate=2 * RATE),
    "latents shown in an eighth": Change(none_shown=NONE_SHOWN),
    "latents weigh a quarter": Change(latent_weight=LATENT_WEIGHT / 4),
    "both of these": Change(latent_weight=LATENT_WEIGHT / 4, none_shown=NONE_SHOWN),
    "latents shown in an eighth, expected targets": Change(none_shown=NONE_SHOWN, targets="expected"),
}


def without_names(prior: ProgramPrior) -> pf.priors.Prior:
    """The prior as a function that draws its latents itself."""

    def draws(x: Tensor) -> Tensor:
        return prior.law(x, prior.sample_latents(len(x), x)).sample()

    return pf.prior(num_features=prior.num_features, inputs=prior.inputs, outcome=prior.outcome, name=prior.name)(draws)


def measured(name: str, change: Change, minutes: float, datasets: int) -> dict[str, Any]:
    """What a training with one change comes to."""
    truths = {size: truth(name, size, datasets) for size in SIZES}
    program = ALL[name]
    assert isinstance(program, ProgramPrior)
    prior = drawn(program) if change.names_latents else without_names(program)
    if change.targets == "expected":
        prior = program
    recipe = Recipe(
        prior,
        NUM_POINTS,
        Budget(minutes=minutes),
        name,
        SEED,
        network=change.network,
        data=default_data(change.network, change.targets),
        optimiser=replace(OptimiserSettings(), learning_rate=change.learning_rate),
    )
    start = None if change.start is None else pf.load(change.start)
    assert start is None or isinstance(start, pf.PFN)
    with change.patched(), latents(change.latent_weight, change.none_shown):
        model = train(recipe, start=start)
        assert isinstance(model, pf.PFN)
        found = {size: gaps(model, each) for size, each in truths.items()}
        told = latent_scores(model, program) if prior.latents else {}
    return {"steps": model.card.training["steps"]} | summarised(found) | told


@torch.no_grad()
def latent_scores(model: pf.PFN, program: ProgramPrior) -> dict[str, float]:
    """The mean log density of a latent under its margin, and that of y where the first latent is known.

    Over new datasets of each size.
    """
    found: dict[str, float] = {}
    for size in SIZES:
        with pf.seeded(SEED, 4_200_000, size):
            tasks = program.sample(DATASETS_OF_LATENTS, size + QUERIES).split(size)
        margins = model.condition(tasks.context_x, tasks.context_y).latents
        each = [margins[name].log_prob(value.squeeze(-1)).mean() for name, value in tasks.latents.items()]
        found[f"latents at {size}"] = float(torch.stack(each).mean())
        name, value = next(iter(tasks.latents.items()))
        knowing = model.condition(tasks.context_x, tasks.context_y, **{name: value.squeeze(-1)})
        found[f"known at {size}"] = float(knowing.predict(tasks.query_x).log_prob(tasks.query_y).mean())
    return found


def main() -> None:
    """Fill in the rows that are missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--datasets", type=int, default=64)
    parser.add_argument("--priors", nargs="*", default=list(JUDGED))
    parser.add_argument("--changes", nargs="*", default=list(CHANGES), choices=CHANGES)
    parser.add_argument("--tell", action="store_true", help="print what is kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock that budgets are planned by
    warnings.simplefilter("ignore", UncertainTruthWarning)
    kept = KeptRows(ROWS, SEED)
    for change in [] if options.tell else options.changes:
        for name in options.priors:
            case = (name, CHANGES[change], options.minutes, options.datasets)
            key = {"prior": name, "change": change, "minutes": options.minutes, "datasets": options.datasets}
            kept.get(key, lambda case=case: measured(*case))
    tell(kept)


def tell(kept: KeptRows) -> None:
    """A table of the rows that are kept: the gap of each prior, the mean over context sizes."""
    rows = [row["key"] | row["found"] for row in kept.found.values()]
    priors = list(dict.fromkeys(row["prior"] for row in rows))
    print(f"| change | minutes | {' | '.join(priors)} | steps |\n| --- | ---: |" + " ---: |" * (len(priors) + 1))
    kinds = sorted({(row["minutes"], list(CHANGES).index(row["change"])) for row in rows})
    for minutes, change in ((minutes, list(CHANGES)[place]) for minutes, place in kinds):
        found = {row["prior"]: row for row in rows if (row["change"], row["minutes"]) == (change, minutes)}
        cells = [words(found[name]) if name in found else "" for name in priors]
        steps = ", ".join(str(found[name]["steps"]) for name in priors if name in found)
        print(f"| {change} | {minutes:g} | {' | '.join(cells)} | {steps} |")


def words(row: dict[str, Any]) -> str:
    """The gaps at all sizes, their mean with its 95 % interval, and mean log densities: of latents, with one known."""
    each = [row[f"gap at {size}"] for size in SIZES]
    half = sum(row[f"half-width at {size}"] ** 2 for size in SIZES) ** 0.5 / len(SIZES)
    told = ""
    for kind in ("latents", "known"):
        scores = [row[f"{kind} at {size}"] for size in SIZES if f"{kind} at {size}" in row]
        told += f"; {kind} {sum(scores) / len(scores):.3f}" if scores else ""
    return f"{sum(each) / len(each):.3f} ± {half:.3f} ({', '.join(f'{gap:.3f}' for gap in each)}){told}"


if __name__ == "__main__":
    main()
