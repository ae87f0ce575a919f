"""Learning on nine own priors: the gap to the truth at n = 3, 10, 30 after some minutes of `fit`.

    python benchmarks/pilots/own_priors_gaps.py --minutes 3 --threads 1 [--priors waves growth] [--way fit] [--tell]

Each prior is fitted by `fit` with its defaults (``--way fit``), by `fit` as a function that only draws, as a simulator
does (``--way draws``), by a network that is named (see `WAYS`), or by the published package pfns (``--way pfns``, after
`python benchmarks/speed/pfns_peer.py`; real targets alone). With ``--way gap=0.01`` minutes are the most that `fit` may
take until it says that the gap is below 0.01 nats. The gap is
KL(truth || network) of the predictive at 8 queries, the expectation over y taken over draws of the truth, which is
importance sampling by `ProgramOracle` on ``--datasets`` datasets of each n (seed 0, the same for all; kept in
``build/own_priors``, outside of git). Half-widths are 95 % intervals over datasets; datasets whose truth is uncertain
by more than a fifth of 0.01 nats are left out and counted. Minutes are those of the processor with one thread, else
those of the clock. Rows are kept as they come; a run that was stopped goes on.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Bool, Float
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributions import Categorical, Distribution

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors import ALL
from benchmarks.pilots.own_priors_models import MODELS, NUM_POINTS, SEED, about, model_of, own_prior, spent_file
from benchmarks.pilots.own_priors_pfns import predictives
from benchmarks.pilots.race import drawn
from priorfit.baselines import ProgramOracle
from priorfit.errors import UncertainTruthWarning
from priorfit.metrics import Estimate
from priorfit.network import NetworkSettings

ROWS = RESULTS / "own_priors_gaps.jsonl"
SIZES, QUERIES, NODES = (3, 10, 30), 8, 64
AT_ONCE = 32
"""Datasets that are drawn, and whose truth is computed, together."""

FIT, DRAWS, PFNS, UNTIL = "fit", "draws", "pfns", "gap=0.01"
WAYS = {"plain transformer": NetworkSettings()}


def truth(name: str, size: int, datasets: int) -> dict[str, Tensor]:
    """Datasets, draws of y at their queries, and the log density of the truth there (probabilities, for classes)."""
    file = MODELS / f"truth-{name}-{size}-{datasets}.safetensors"
    if not file.exists():
        parts = [computed_truth(name, size, part) for part in range(datasets // AT_ONCE)]
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file({key: torch.cat([part[key] for part in parts]) for key in parts[0]}, file)
    return load_file(file)


@torch.no_grad()
def computed_truth(name: str, size: int, part: int) -> dict[str, Tensor]:
    """The truth of some datasets."""
    prior = own_prior(name)
    with pf.seeded(SEED, 4_100_000, size, part):
        tasks = prior.sample(AT_ONCE, size + QUERIES).split(size)
    posterior = ProgramOracle(prior).condition(tasks.context_x, tasks.context_y)
    ppd = posterior.predict(tasks.query_x)
    found = {"x": tasks.context_x, "y": tasks.context_y, "query_x": tasks.query_x, "is_truth": posterior.is_truth}
    if isinstance(ppd, Categorical):
        return found | {"log_prob": ppd.logits.double().contiguous()}  # (datasets, queries, classes)
    nodes = ppd.nodes[:: max(1, len(ppd.nodes) // NODES)]  # pyright: ignore[reportAttributeAccessIssue]
    laid = {"nodes": nodes.movedim(0, -1), "log_prob": ppd.log_prob(nodes).double().movedim(0, -1)}
    return found | {key: value.contiguous() for key, value in laid.items()}


@torch.no_grad()
def gaps(model: pf.PFN, found: dict[str, Tensor]) -> tuple[Float[Tensor, " datasets"], Bool[Tensor, " datasets"]]:
    """KL(truth || network) of each dataset, and whether its truth is certain."""
    ppd = model.condition(found["x"], found["y"]).predict(found["query_x"])
    return divergences(ppd, found), found["is_truth"]


def divergences(ppd: Distribution, found: dict[str, Tensor]) -> Float[Tensor, " datasets"]:
    """KL(truth || predictive) of each dataset."""
    exact = found["log_prob"]
    if isinstance(ppd, Categorical):
        divergence = (exact.exp() * (exact - ppd.logits.double())).nan_to_num().sum(-1)
    else:
        log_ratio = ppd.log_prob(found["nodes"].movedim(-1, 0)).double().movedim(0, -1) - exact
        divergence = (log_ratio.expm1() - log_ratio).mean(-1)  # r - 1 - log r: the same mean, and less noise
    return divergence.mean(-1)


def measured(name: str, way: str, minutes: float, datasets: int) -> dict[str, Any]:
    """What a training of some minutes comes to."""
    truths = {size: truth(name, size, datasets) for size in SIZES}  # before the clock of the training
    prior = own_prior(name)
    if way == PFNS:
        ppds, spent = predictives(prior, NUM_POINTS, 60 * minutes, truths)
        row = {"seconds": round(spent["cpu_seconds"], 1), "steps": int(spent["steps"]), "solver": "none"}
        asked = {size: (divergences(ppds[size], truths[size]), truths[size]["is_truth"]) for size in SIZES}
        return row | summarised(asked)
    if way == FIT:
        model = model_of(name, minutes)
        seconds = float(spent_file(name, minutes).read_text())
    else:
        told, start = {"gap": 0.01} if way == UNTIL else {"network": WAYS.get(way, "auto")}, time.perf_counter()
        prior = drawn(prior) if way == DRAWS else prior
        model = pf.fit(prior, num_points=NUM_POINTS, minutes=minutes, seed=SEED, progress=False, **told)
        seconds = round(time.perf_counter() - start, 1)
    found = {size: gaps(model, each) for size, each in truths.items()}
    return {"seconds": seconds} | about(model) | summarised(found)


def summarised(found: dict[int, tuple[Tensor, Tensor]]) -> dict[str, Any]:
    """The mean gap at each size with its interval, over datasets whose truth is certain."""
    row: dict[str, Any] = {}
    for size, (divergence, is_truth) in found.items():
        gap = Estimate.over(divergence[is_truth])
        row |= {f"gap at {size}": gap.mean, f"half-width at {size}": gap.half_width, f"datasets at {size}": gap.count}
    return row


def main() -> None:
    """Fill in the rows that are missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--datasets", type=int, default=128)
    parser.add_argument("--priors", nargs="*", default=list(ALL))
    parser.add_argument("--way", choices=[FIT, DRAWS, *WAYS, PFNS, UNTIL], default=FIT)
    parser.add_argument("--tell", action="store_true", help="print what is kept")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore", UncertainTruthWarning)
    kept = KeptRows(ROWS, SEED)
    if not options.tell:
        if options.threads == 1:
            time.perf_counter = time.process_time  # the clock that budgets are planned by
        shared = {name: getattr(options, name) for name in ("way", "minutes", "threads", "datasets")}
        for name in options.priors:
            case = (name, options.way, options.minutes, options.datasets)
            kept.get({"prior": name, **shared}, lambda case=case: measured(*case))
    tell(kept)


def told_rows(kept: KeptRows) -> list[dict[str, Any]]:
    """The kept rows, of those that differ in the number of datasets the one with most, by way, prior and minutes."""
    rows: dict[tuple[str, str, float], dict[str, Any]] = {}
    for row in (row["key"] | row["found"] for row in kept.found.values()):
        key = (row["prior"], row["way"], row["minutes"])
        if key not in rows or row["datasets"] >= rows[key]["datasets"]:
            rows[key] = row
    places = {name: place for place, name in enumerate(ALL)}
    return sorted(rows.values(), key=lambda row: (*place_of(row["way"]), places[row["prior"]], row["minutes"]))


def place_of(way: str) -> tuple[bool, bool]:
    """What `fit` makes of programs comes first, then what it makes of functions that only draw, then the package."""
    return way == PFNS, way == DRAWS


def mean_gap(row: dict[str, Any]) -> float:
    """The mean gap over context sizes."""
    return sum(row[f"gap at {size}"] for size in SIZES) / len(SIZES)


def tell(kept: KeptRows) -> None:
    """A table of the rows that are kept, and how many times the mean gap of `fit` that of the package is."""
    print("| prior | way | minutes | solver | steps | datasets |" + "".join(f" gap at n = {size} |" for size in SIZES))
    print("| --- | --- | ---: | --- | ---: | ---: |" + " ---: |" * len(SIZES))
    rows = told_rows(kept)
    for row in rows:
        cells = [f"{row[f'gap at {size}']:.4f} ± {row[f'half-width at {size}']:.4f}" for size in SIZES]
        keys = [row["prior"], row["way"], f"{row['minutes']:g}", row["solver"], str(row["steps"]), str(row["datasets"])]
        print(f"| {' | '.join(keys + cells)} |")
    means = {(row["prior"], row["way"], row["minutes"]): mean_gap(row) for row in rows}
    for way in (FIT, DRAWS):
        theirs = {name: mean for (name, each, _), mean in means.items() if each == PFNS}
        ours = {name: means[name, way, 3.0] for name in theirs if (name, way, 3.0) in means}
        if ours:
            own, other = (sum(each[name] for name in ours) / len(ours) for each in (ours, theirs))
            ratio = f"{way} {own:.4f}, {PFNS} {other:.4f}, {other / own:.0f} times"
            print(f"\nMean over {len(ours)} priors, 3 minutes: {ratio}.")


if __name__ == "__main__":
    main()
