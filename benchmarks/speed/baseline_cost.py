"""What an answer costs: seconds per dataset of every baseline, beside a PFN, at n = 30, in one run.

    python benchmarks/speed/baseline_cost.py --save          about 15 minutes on two cores

Three settings: the GP with hyper-priors (one feature), the small BNN of the paper, a table of ten features and two
classes. Each has 30 context points and 10 queries. For each dataset in turn: the PFN on a batch of 64, the PFN on one
dataset, the baseline on one dataset (condition and predict). Printed are seconds per dataset and the ratios to both,
medians and 95 % intervals, and the seconds of the very first call, where JAX compiles. The PFNs are untrained
networks of the default size (width 64, 6 layers): their time does not depend on what they know.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios, seconds
from priorfit.baselines import NeuralProcessSettings
from priorfit.network import Problem
from priorfit.predictor import Predictor, predict
from priorfit.priors import Prior
from priorfit.priors.bayesian_network import SMALL
from priorfit.provenance import load

NUM_CONTEXT, NUM_QUERIES, BATCH_SIZE = 30, 10, 64
TABLE = pf.Binarized(pf.GaussianProcess(num_features=10, lengthscale=2.0, noise=0.01))


@dataclass(frozen=True)
class Entry:
    """A baseline, and on how many datasets it is timed."""

    name: str
    predictor: Predictor
    count: int


@dataclass(frozen=True)
class Setting:
    """A prior, and the predictors that are timed on it."""

    name: str
    prior: Prior
    entries: tuple[Entry, ...]


def settings(quick: bool, seed: int) -> list[Setting]:
    """Everything that is timed; the quick form has one setting and few samples."""
    b, hyper = pf.baselines, pf.HyperGaussianProcess()
    if quick:
        return [Setting("GP with hyper-priors", hyper, (Entry("MLE-II, BoTorch", b.MLE2GP(hyper, seed=seed), 2),))]
    process = b.AttentiveNeuralProcess(NeuralProcessSettings(), problem_of(hyper)).frozen()
    gp = [
        Entry("attentive neural process", process, 20),
        Entry("oracle, importance sampling", b.HyperGPOracle(hyper, seed=seed), 10),
        Entry("MLE-II, BoTorch", b.MLE2GP(hyper, seed=seed), 10),
        *(Entry(f"NUTS {k} + {k}, NumPyro", b.NutsGP(hyper, k, backend="numpyro", seed=seed), 10) for k in (32, 256)),
        Entry("NUTS 32 + 32, Pyro", b.NutsGP(hyper, 32, backend="pyro", seed=seed), 6),
        Entry("NUTS 256 + 256, Pyro", b.NutsGP(hyper, 256, backend="pyro", seed=seed), 3),
    ]
    bnn = [
        Entry("collapsed, importance sampling", b.CollapsedBNN(SMALL, seed=seed), 10),
        *(Entry(f"SVI, {k} steps, Pyro", b.SviBNN(SMALL, k, seed=seed), 6) for k in (100, 400)),
        *(Entry(f"NUTS {k} + {k}, NumPyro", b.NutsBNN(SMALL, k, backend="numpyro", seed=seed), 10) for k in (32, 256)),
        Entry("NUTS 32 + 32, Pyro", b.NutsBNN(SMALL, 32, backend="pyro", seed=seed), 3),
    ]
    methods = {
        "logistic regression": b.TunedLogistic,
        "k nearest neighbours": b.TunedKNN,
        "GP, RBF": b.TunedGP,
        "BNN, SVI": b.TunedBNN,
        "CatBoost": b.TunedCatBoost,
        "XGBoost": b.TunedXGBoost,
    }
    table = [Entry(f"{name}, tuned", kind(seed=seed), 3) for name, kind in methods.items()]
    return [
        Setting("GP with hyper-priors", hyper, tuple(gp)),
        Setting("small BNN", SMALL, tuple(bnn)),
        Setting("table of 10 features", TABLE, tuple(table)),
    ]


def problem_of(prior: Prior) -> Problem:
    """The `Problem` of a network for a prior."""
    return Problem(prior.num_features, prior.outcome, prior.inputs.range)


def answer(predictor: Predictor, tasks: pf.Batch) -> object:
    """Condition and predict, with all numbers computed."""
    with torch.no_grad():
        return predict(predictor, tasks).log_prob(tasks.query_y)


def one_of(tasks: pf.Batch, index: int) -> pf.Batch:
    """A single dataset, as a batch of one."""
    names = ("context_x", "context_y", "query_x", "query_y")
    return replace(tasks, query_law=None, **{name: getattr(tasks, name)[index : index + 1] for name in names})


def row(setting: Setting, entry: Entry, pfn: pf.PFN, tasks: pf.Batch) -> dict[str, Any]:
    """One baseline, dataset by dataset, beside the PFN."""
    first = seconds(lambda: answer(entry.predictor, one_of(tasks, 0)))
    times = []
    for index in range(1, entry.count + 1):
        task = one_of(tasks, index)
        batched = seconds(lambda: answer(pfn, tasks)) / BATCH_SIZE
        alone = seconds(lambda task=task: answer(pfn, task))
        times.append((batched, alone, seconds(lambda task=task: answer(entry.predictor, task))))
    batched, alone, baseline = (list(column) for column in zip(*times, strict=True))
    return {
        "setting": setting.name,
        "baseline": entry.name,
        "datasets": entry.count,
        "seconds": median_interval(baseline),
        "pfn_batched": median_interval(batched),
        "pfn_alone": median_interval(alone),
        "times_pfn_batched": ratios(baseline, batched),
        "times_pfn_alone": ratios(baseline, alone),
        "first_call": first,
    }


def rows_of(setting: Setting, seed: int) -> list[dict[str, Any]]:
    """All baselines of a setting, on the same datasets."""
    with pf.seeded(seed):
        tasks = setting.prior.sample(BATCH_SIZE, NUM_CONTEXT + NUM_QUERIES).split(NUM_CONTEXT)
        sample = setting.prior.sample(100, 20).y
        pfn = pf.PFN(pf.NetworkSettings(), problem_of(setting.prior), target_sample=sample).frozen()
    for _ in range(3):
        answer(pfn, tasks)
        answer(pfn, one_of(tasks, 0))
    return [row(setting, entry, pfn, tasks) for entry in setting.entries]


def print_rows(setting: Setting, rows: Sequence[dict[str, Any]]) -> None:
    """The table of a setting."""
    pfn = rows[0]
    title = (
        f"{setting.name}, n = {NUM_CONTEXT}: PFN {1e3 * pfn['pfn_batched'].median:.3f} ms a dataset in a batch of "
        f"{BATCH_SIZE}, {1e3 * pfn['pfn_alone'].median:.1f} ms alone; {torch.get_num_threads()} threads, load {load()}"
    )
    lines = [
        [
            each["baseline"],
            str(each["datasets"]),
            format(each["seconds"], ".3g"),
            format(each["times_pfn_batched"], ",.0f"),
            format(each["times_pfn_alone"], ",.1f"),
            f"{each['first_call']:.2g}",
        ]
        for each in rows
    ]
    show(title, ["baseline", "datasets", "seconds a dataset", "x PFN, batched", "x PFN, alone", "first call"], lines)


def main() -> None:
    """Measure, print and, when asked, save."""
    parser = parser_for("baseline_cost", __doc__)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    for setting in settings(arguments.quick, arguments.seed):
        some = rows_of(setting, arguments.seed)
        print_rows(setting, some)
        rows += some
    if arguments.save:
        save("baseline_cost", rows, arguments.seed)


if __name__ == "__main__":
    main()
