"""What `fit` chooses for own priors, and what each candidate of the race would have got.

    python benchmarks/pilots/race.py [--minutes 3] [--threads 1] [--only NAME ...]

Each prior is fitted for some minutes by every candidate of the race, by the race itself, which is what `fit` holds for
functions that only draw, and by `fit`, which reads the cells of a program where it can (`own_priors_models.py`). The
NLL is that of 8 queries of 400 datasets at n = 3, 10, 30 (seed 0, the same for all); differences are paired. For priors
made of Gaussian processes the gap to the exact posterior is printed. Minutes are those of the processor, by one thread,
so that other work on the machine does not matter; three minutes on two quiet cores are more. Rows are kept as they
come; a run that was stopped goes on.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors import KNOWN, OWN
from benchmarks.pilots.own_priors_models import about, model_of
from priorfit.network import NetworkSettings
from priorfit.priors import Prior, ProgramPrior
from priorfit.seeding import seeded
from priorfit.training.defaults import candidates

ROWS = RESULTS / "race.jsonl"
SIZES, DATASETS, QUERIES = (3, 10, 30), 400, 8
NUM_POINTS = 50
SEED = 0
AUTO, FIT = "race", "fit"


def losses(model: pf.PFN, prior: Prior) -> list[float]:
    """The NLL of each dataset, over all context sizes."""
    found = []
    for size in SIZES:
        with seeded(SEED, 4_000_000, size):
            tasks = prior.sample(DATASETS, size + QUERIES).split(size)
        with torch.no_grad():
            ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
        found += (-ppd.log_prob(tasks.query_y).mean(-1)).tolist()
    return [round(value, 5) for value in found]


def gaps(model: pf.PFN, prior: Prior) -> dict[str, float]:
    """The gap to the exact posterior at each context size."""
    reference, found = pf.exact(prior), {}
    for size in SIZES:
        with seeded(SEED, 4_000_000, size):
            tasks = prior.sample(DATASETS, size + QUERIES).split(size)
        gap = pf.metrics.gap(model, reference, tasks)
        found |= {f"gap at {size}": gap.mean, f"half-width at {size}": gap.half_width}
    return found


def fitted(prior: Prior, truth: Prior | None, network: NetworkSettings | str, minutes: float) -> dict[str, Any]:
    """What a training of some minutes comes to."""
    start = time.perf_counter()
    model = pf.fit(prior, num_points=NUM_POINTS, minutes=minutes, seed=SEED, network=network, progress=False)
    row = {"seconds": round(time.perf_counter() - start, 1)} | measured(model, prior)
    return row if truth is None else row | gaps(model, truth)


def drawn(prior: Prior) -> Prior:
    """The prior as a function that only draws, of whose law nothing is known: then `fit` lets candidates race."""
    assert isinstance(prior, ProgramPrior)

    def draws(x: torch.Tensor, **latents: torch.Tensor) -> torch.Tensor:
        return prior.law(x, latents).sample()

    return replace(prior, function=draws, has_law=False, offers_expected=False)


def measured(model: pf.PFN, prior: Prior) -> dict[str, Any]:
    """The losses of a network, and what it is."""
    return about(model) | {"losses": losses(model, prior)}


def main() -> None:
    """Fill in the rows that are missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--tell", action="store_true", help="print what is kept")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    time.perf_counter = time.process_time  # the clock that budgets are planned by
    kept = KeptRows(ROWS, SEED)
    if not options.tell:
        fill(kept, options)
    tell(kept, options.minutes)


def fill(kept: KeptRows, options: argparse.Namespace) -> None:
    """Train whatever has no row yet."""
    for name, (prior, truth) in KNOWN.items():
        if options.only is None or name in options.only:
            key = {"prior": name, "way": AUTO, "minutes": options.minutes, "threads": options.threads}
            kept.get(key, lambda prior=prior, truth=truth: fitted(prior, truth, "auto", options.minutes))
    for name, prior in OWN.items():
        if options.only is not None and name not in options.only:
            continue
        key = {"prior": name, "minutes": options.minutes, "threads": options.threads}
        kept.get({**key, "way": FIT}, lambda name=name, prior=prior: measured(model_of(name, options.minutes), prior))
        ways = {AUTO: "auto", **candidates(drawn(prior))}
        for way, network in ways.items():
            given = drawn(prior), None, network, options.minutes
            kept.get({**key, "way": way}, lambda given=given: fitted(*given))


def tell(kept: KeptRows, minutes: float) -> None:
    """A table of gaps, and one of NLL beside that of the plain transformer, given the whole clock."""
    rows = [row["key"] | row["found"] for row in kept.found.values() if row["key"]["minutes"] == minutes]
    print(f"| prior | chosen | {' | '.join(f'gap at n = {size}' for size in SIZES)} |")
    print("| --- | --- |" + " --- |" * len(SIZES))
    for row in rows:
        if f"gap at {SIZES[0]}" in row:
            cells = [f"{row[f'gap at {size}']:.4f} ± {row[f'half-width at {size}']:.4f}" for size in SIZES]
            print(f"| {row['prior']} | {row['solver']} | {' | '.join(cells)} |")
    print("\n| prior | way | solver | steps | NLL | minus that of the plain transformer |\n" + "| --- " * 6 + "|")
    for row in rows:
        plain = next((r for r in rows if r["prior"] == row["prior"] and r["way"] == "plain transformer"), None)
        nll = torch.tensor(row["losses"])
        paired = "" if plain is None or plain is row else paired_words(nll - torch.tensor(plain["losses"]))
        print(f"| {row['prior']} | {row['way']} | {row['solver']} | {row['steps']} | {nll.mean():.3f} | {paired} |")


def paired_words(difference: torch.Tensor) -> str:
    """A mean with its 95 % interval over datasets."""
    return f"{difference.mean():+.4f} ± {1.96 * difference.std() / len(difference) ** 0.5:.4f}"


if __name__ == "__main__":
    main()
