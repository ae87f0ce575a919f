"""After the same minutes of training from scratch, the gap of `fit` is at least 5 times smaller than that of `pfns`.

    python benchmarks/speed/pfns_peer.py                                   once: the environment of pfns 0.4.2
    python benchmarks/speed/time_to_quality.py --threads 1 --save          five minutes each, one after the other

Both train on the GP of `priorfit quickstart` (RBF, lengthscale 0.3, noise 1e-4, up to 24 points, n uniform), on drawn
targets, and are judged on the same datasets by KL(exact || network), the expectation over y taken exactly, the mean
over n = 3, 5, 10, 20. Ours is `fit` with its defaults, which for a GP have a regression layer; the peer has nothing of
the kind, so `fit` without it stands beside. Seconds are those of a processor, for each thread: a busy
machine makes a run longer, but not worse. Short runs tell what a step costs, and the budget becomes a number of
steps.

The peer runs as its authors recommend for this task: its own `train`, with the settings of the notebook that its
repository starts newcomers with (`Getting_Started_With_PFNs.ipynb`: "a mini PFN for 1D datasets with up to 20
elements" in about a minute): width 128, 4 heads, feed-forward 256, 4 layers, batches of 8, AdamW at 1e-3, a quarter of
the epochs to warm up, then cosine decay, 1000 bars of equal mass with half-normal tails, borders from 2 million targets
of the prior, inputs scaled to variance 1. The notebook says that the learning rate wants tuning with the batch size:
``--peers "its notebook" "batches of 64"`` runs that beside it, and ``--peers`` alone none. (Later copies of the
tutorial have width 512, 6 layers and batches of 256: a step of that takes seconds on one core, so five minutes are some
dozens of steps. It is left out, in the peer's favour.)
Its `pdf` and `cdf` are wrong, so its density is made from its logits and borders by our `UnboundedRiemann`; that this
is the density that it was trained with is checked against its own loss in every run.

``--repetitions`` trains with as many seeds. The interval of a ratio covers the choice of datasets, not of the seed.
Cost: five minutes for each contestant and seed, on a machine that does nothing else.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import numpy as np
import torch
from torch import Tensor

from benchmarks.common.pilot_tasks import TASKS, pieces
from benchmarks.common.report import parser_for, save, show
from benchmarks.speed.pfns_peer import PACKAGE, is_available, train_and_answer
from priorfit import metrics
from priorfit.cli.comparison import PRIOR
from priorfit.data import Batch
from priorfit.distributions import UnboundedRiemann
from priorfit.metrics import Estimate
from priorfit.network import PFN, NetworkSettings
from priorfit.predictor import predict
from priorfit.provenance import load
from priorfit.seeding import seeded
from priorfit.training import fit

TASK = TASKS["quickstart"]
NOTEBOOK = {"emsize": 128, "nhead": 4, "nhid": 256, "nlayers": 4, "batch_size": 8, "lr": 1e-3}
OURS: dict[str, NetworkSettings | Literal["auto"]] = {
    "fit": "auto",
    "fit without the regression layer": NetworkSettings(),
}
PEERS = {"its notebook": NOTEBOOK, "batches of 64": NOTEBOOK | {"batch_size": 64}}
TIMED_STEPS = (10, 10, 50)
"""Steps of short runs: one warms up, and the difference of the other two is the cost of the steps between."""
RESAMPLES = 2_000


@dataclass(frozen=True)
class Result:
    """What a contestant spent, and its gap on each dataset."""

    name: str
    seed: int
    spent: dict[str, float]
    gaps: dict[int, Tensor]
    """The gap of each dataset, by context size."""
    load: float

    def row(self) -> dict[str, Any]:
        """The result as plain data."""
        each = {size: Estimate.over(gaps) for size, gaps in self.gaps.items()}
        mean = torch.stack(list(self.gaps.values())).mean(0)
        return {
            "name": self.name,
            "seed": self.seed,
            "targets": "sampled",
            **self.spent,
            "gap": Estimate.over(mean),
            "gaps": each,
            "load_before": self.load,
        }


def questions(num_datasets: int) -> dict[int, Batch]:
    """The evaluation datasets of all contestants."""
    return {size: TASK.questions(size, num_datasets) for size in TASK.sizes}


def ours(name: str, seconds: float, seed: int, asked: dict[int, Batch]) -> Result:
    """`fit` with its defaults, or with another network."""
    network = OURS[name]
    before, cost = load(), [fit_for(steps, seed, network)[1] for steps in TIMED_STEPS] if seconds > 0 else [0, 0, 1]
    per_step = max(cost[2] - cost[1], cost[2] / 10) / (TIMED_STEPS[2] - TIMED_STEPS[1])
    model, cpu_seconds = fit_for(max(2, int(seconds * torch.get_num_threads() / per_step)), seed, network)
    gaps = {}
    with torch.no_grad():
        for size, tasks in asked.items():
            parts = [predict(model, part) for part in pieces(tasks, 500)]
            truths = [TASK.truth(part) for part in pieces(tasks, 500)]
            found = [metrics.divergence(truth, ppd) for truth, ppd in zip(truths, parts, strict=True)]
            gaps[size] = torch.cat(found)[:, 0]
    training = model.card.training
    spent = {name: training[name] for name in ("steps", "datasets", "seconds")}
    weights = sum(weight.numel() for weight in model.parameters())
    spent |= {"cpu_seconds": cpu_seconds, "parameters": weights}
    return Result(f"priorfit, {name}", seed, spent, gaps, before)


def fit_for(steps: int, seed: int, network: NetworkSettings | Literal["auto"]) -> tuple[PFN, float]:
    """A model, and the seconds of a processor that it took."""
    start = time.process_time()
    model = fit(PRIOR, num_points=TASK.num_points, steps=steps, seed=seed, network=network, progress=False)
    return model, time.process_time() - start


def peer(name: str, request: dict[str, Any], asked: dict[int, Batch]) -> Result:
    """`pfns`, trained by itself, judged by us."""
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        files = {each: str(Path(folder) / f"{each}.npz") for each in ("questions", "answers")}
        names = ("context_x", "context_y", "query_x", "query_y")
        parts = {f"{each}_{size}": getattr(tasks, each).numpy() for size, tasks in asked.items() for each in names}
        np.savez(files["questions"], **parts)
        spent = train_and_answer(request | files | {"settings": PEERS[name], "sizes": list(asked)})
        answers = {each: torch.from_numpy(value) for each, value in np.load(files["answers"]).items()}
    gaps = {}
    for size, tasks in asked.items():
        ppd = UnboundedRiemann(answers["borders"], answers[f"logits_{size}"])
        torch.testing.assert_close(-ppd.log_prob(tasks.query_y), answers[f"loss_{size}"], rtol=1e-4, atol=1e-4)
        gaps[size] = metrics.divergence(TASK.truth(tasks), ppd)[:, 0]
    return Result(f"{PACKAGE}, {name}", request["seed"], spent, gaps, before)


def ratio(above: Sequence[Result], below: Sequence[Result]) -> tuple[float, float, float]:
    """How many times larger the mean gap is, with a 95 % interval by resampling datasets, the same on both sides."""
    tops, bottoms = (torch.stack([torch.stack(list(each.gaps.values())) for each in side]) for side in (above, below))
    tops, bottoms = (part.double().mean(0) for part in (tops, bottoms))  # (sizes, datasets)
    with seeded(0, 7_000_000):
        chosen = torch.randint(tops.shape[-1], (RESAMPLES, tops.shape[-1]))
    drawn = torch.stack([tops[:, each].mean() / bottoms[:, each].mean() for each in chosen])
    low, high = drawn.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return (tops.mean() / bottoms.mean()).item(), low, high


def run(arguments: argparse.Namespace) -> dict[str, list[Result]]:
    """All contestants, one after the other, for each seed."""
    seconds, num_datasets = (arguments.seconds, arguments.datasets) if not arguments.quick else (0.0, 40)
    asked = questions(num_datasets)
    gp = {"lengthscale": PRIOR.lengthscale, "noise": PRIOR.noise_variance, "num_points": TASK.num_points}
    results: dict[str, list[Result]] = {}
    for seed in range(arguments.seed, arguments.seed + (arguments.repetitions or 1)):
        found = [ours(name, seconds, seed, asked) for name in OURS]
        request = gp | {"seconds": seconds, "threads": arguments.threads, "seed": seed}
        found += [peer(name, request, asked) for name in arguments.peers]
        for result in found:
            results.setdefault(result.name, []).append(result)
    return results


def main() -> None:
    """Train all, judge all, print, and keep the rows."""
    parser = parser_for("time_to_quality", __doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="of training, by the processor's clock")
    parser.add_argument("--datasets", type=int, default=4_000, help="of each context size to judge by")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS)[:1], help="settings of pfns")
    arguments = parser.parse_args()
    if arguments.peers and not is_available():
        raise SystemExit(
            f"{PACKAGE} is missing: `python benchmarks/speed/pfns_peer.py` makes its environment, or take --peers."
        )
    torch.set_num_threads(arguments.threads)
    results = run(arguments)
    first = next(iter(results.values()))
    rows, lines = [], []
    for each in results.values():
        times = ratio(each, first)
        for result in each:
            row = result.row() | {"seconds_asked": arguments.seconds, "times_ours": times, "threads": arguments.threads}
            rows.append(row)
            sizes = (f"{gap.mean:.3f}" for gap in row["gaps"].values())
            counts = (f"{row['steps']:,}", f"{row['datasets']:,}", f"{row['cpu_seconds']:.0f}", f"{row['seconds']:.0f}")
            gap = f"{row['gap'].mean:.4f} ± {row['gap'].half_width:.4f}"
            lines.append([result.name, *counts, *sizes, gap, "{:.1f} [{:.1f}, {:.1f}]".format(*times)])
    columns = ["", "steps", "datasets", "CPU s", "seconds", *(f"n = {size}" for size in TASK.sizes), "gap", "/ ours"]
    show(f"Gap after {arguments.seconds:g} s of training, {arguments.threads} threads", columns, lines)
    if arguments.save:
        save("time_to_quality", rows, arguments.seed)


if __name__ == "__main__":
    main()
