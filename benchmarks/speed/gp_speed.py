"""A PFN answers a GP with hyper-priors 200 times faster than MLE-II and 5,000 times faster than Pyro's NUTS-256.

    python benchmarks/speed/gp_speed.py --threads 1 --save                 about two minutes of a processor
    python benchmarks/speed/gp_speed.py --model runs/gp-hyper-1d/model     with the network of a trained model

The GP of section 5.2 (one feature, hyper-priors), n = 30, one query. For each dataset in turn: the PFN on batches of 64
and of 256 datasets, the PFN on that dataset alone, then the baseline on it, each down to the log density of the query.
The seconds are those of the processor (all threads), since a clock on the wall would measure what else the machine
does; with one thread on a quiet machine the two are the same. Medians and 95 % intervals; ratios are formed dataset by
dataset. JAX compiles before the first dataset counts. Without ``--model`` the network is the released ``gp-hyper-1d``,
or an untrained one of the default size where that is not released: the time does not depend on what the weights are.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios
from benchmarks.speed.baseline_cost import answer, one_of, problem_of
from priorfit import zoo
from priorfit.network import PFN
from priorfit.predictor import Predictor
from priorfit.provenance import load

PRIOR = pf.HyperGaussianProcess(num_features=1)
RELEASED = "gp-hyper-1d"
NUM_CONTEXT = 30
BATCHES = (64, 256)


def cpu_seconds(action: Callable[[], object]) -> float:
    """The time of the processor that one call took, over all threads."""
    start = time.process_time()
    action()
    return time.process_time() - start


def entries(quick: bool, seed: int) -> list[tuple[str, Predictor, int]]:
    """The baselines, and on how many datasets each is timed."""
    mle = ("MLE-II, BoTorch", pf.baselines.MLE2GP(PRIOR, seed=seed), 2 if quick else 15)
    if quick:
        return [mle]
    chains = [("NumPyro", "numpyro", 8), ("Pyro", "pyro", 5)]
    return [
        mle,
        *(
            (f"NUTS 256 + 256, {name}", pf.baselines.NutsGP(PRIOR, 256, backend=kind, seed=seed), count)
            for name, kind, count in chains
        ),
    ]


def network(model: str | None) -> PFN:
    """A trained network, or an untrained one of the default size."""
    if model is not None or RELEASED in zoo.names():
        found = zoo.load(model or RELEASED)
        assert isinstance(found, PFN)
        return found
    return PFN(pf.NetworkSettings(), problem_of(PRIOR), target_sample=PRIOR.sample(100, 20).y).frozen()


def row_of(name: str, baseline: Predictor, pfn: PFN, batches: Sequence[pf.Batch], count: int) -> dict[str, Any]:
    """A baseline beside the network, dataset by dataset."""
    first = cpu_seconds(lambda: answer(baseline, one_of(batches[0], 0)))
    times: dict[str, list[float]] = {}
    for index in range(1, count + 1):
        task = one_of(batches[0], index)
        for batch in batches:
            size = len(batch.context_y)
            times.setdefault(f"pfn_{size}", []).append(cpu_seconds(lambda batch=batch: answer(pfn, batch)) / size)
        times.setdefault("pfn_alone", []).append(cpu_seconds(lambda task=task: answer(pfn, task)))
        times.setdefault("baseline", []).append(cpu_seconds(lambda task=task: answer(baseline, task)))
    row: dict[str, Any] = {"baseline": name, "datasets": count, "first_call": first}
    row |= {f"seconds_{key}": median_interval(values) for key, values in times.items()}
    pfns = [key for key in times if key != "baseline"]
    return row | {f"times_{key}": ratios(times["baseline"], times[key]) for key in pfns}


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("gp_speed", __doc__)
    parser.add_argument("--model", default=None, help="a name or a folder of a trained network of one feature")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    sizes = (4,) if arguments.quick else BATCHES
    with pf.seeded(arguments.seed):
        pfn = network(arguments.model)
        batches = [PRIOR.sample(size, NUM_CONTEXT + 1).split(NUM_CONTEXT) for size in sizes]
    for batch in (*batches, one_of(batches[0], 0)):
        for _ in range(2):
            answer(pfn, batch)  # to warm up
    rows = [row_of(*each[:2], pfn, batches, each[2]) for each in entries(arguments.quick, arguments.seed)]
    settings = {"width": pfn.settings.width, "layers": pfn.settings.layers, "model": pfn.card.name}
    print_rows(rows, [f"pfn_{size}" for size in sizes], settings)
    if arguments.save:
        save("gp_speed", [row | {"network": settings} for row in rows], arguments.seed)


def print_rows(rows: Sequence[dict[str, Any]], batched: Sequence[str], settings: dict[str, Any]) -> None:
    """The network's own seconds in the title, one line for each baseline."""
    kinds = [*batched, "pfn_alone"]
    own = ", ".join(f"{kind.removeprefix('pfn_')}: {1e3 * rows[0][f'seconds_{kind}'].median:.2f}" for kind in kinds)
    title = (
        f"n = {NUM_CONTEXT}, one query, width {settings['width']}, {settings['layers']} layers; "
        f"ms of the PFN by batch: {own}; {torch.get_num_threads()} threads, load {load()}"
    )
    lines = [
        [
            row["baseline"],
            str(row["datasets"]),
            f"{row['seconds_baseline']:.3g}",
            *(f"{row[f'times_{kind}']:,.0f}" for kind in kinds),
        ]
        for row in rows
    ]
    names = [f"x PFN, batch {kind.removeprefix('pfn_')}" for kind in batched]
    show(title, ["baseline", "datasets", "CPU s a dataset", *names, "x PFN, alone"], lines)


if __name__ == "__main__":
    main()
