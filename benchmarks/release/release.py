"""Measure a model against the posterior of its prior, and release it into the zoo.

    python benchmarks/release/release.py runs/gp-rbf-1d/model --release    the weights go to src/priorfit/zoo/gp-rbf-1d
    python benchmarks/release/release.py gp-rbf-1d                         measure a released model again
    python benchmarks/release/release.py gp-rbf-1d --remeasure             ... and write the numbers into its card

Printed are NLL, exact NLL, gap and the floor of the head at each context size, on datasets that no training saw
(their own seed), with 95 % intervals over datasets; the expectation over y is taken exactly. A model of classes has
accuracies in place of a floor. Hyper-priors are measured against `HyperGPOracle` at the paper's n, Bayesian networks
against `CollapsedBNN`, which tells its Monte Carlo error, or, with an activation, against long runs of NUTS at n =
100. Where no truth is known there are NLL, accuracy (classes) and the share of targets in the 95 % interval (reals).
A fine-tuned model is measured on the prior that it began with.
A model of the hyper-prior GP of one feature has the mean KL on the contexts of ``hand_placed.py`` on its card too.
``--release`` saves the weights in float16 where that costs less than 0.001 nats on average, else in float32, and
writes the numbers of the saved file into its card. ``--remeasure`` writes the card of a released model alone: its
weights and all else in its folder stay as they are; numbers that this script does not measure stay as "at_release".
Cost: a minute; four for `CollapsedBNN`, and one or two for each dataset of a network with an activation.
"""

import argparse
import dataclasses
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from benchmarks.common.cards import write_measured
from benchmarks.common.report import show
from benchmarks.release.hand_placed import measured_by_hand
from benchmarks.release.release_truth import Reference, reference_of
from priorfit.data import Batch, Classes
from priorfit.distributions import best_fit
from priorfit.distributions.class_probabilities import class_probs
from priorfit.metrics import Estimate, divergence, interval
from priorfit.network import PFN, load_pfn
from priorfit.predictor import predict
from priorfit.priors import HyperGaussianProcess, Prior
from priorfit.provenance import circumstances
from priorfit.seeding import seeded
from priorfit.training.finetuning import own_prior
from priorfit.zoo import load, names
from priorfit.zoo.catalogue import FOLDER

MOST_LOST = 0.001
"""Largest loss in nats for which weights are saved in half precision."""

Rows = dict[int, dict[str, Estimate]]


@dataclass(frozen=True)
class Trial:
    """Datasets of one size, and the truth about their queries."""

    tasks: Batch
    truth: Distribution | None
    remarks: dict[str, float]


def trials(
    prior: Prior, reference: Reference, trained: tuple[int, int], num_datasets: int, seed: int
) -> dict[int, Trial]:
    """One for each context size that the model was trained for, or for the largest where that is none of them."""
    found = {}
    for size in [size for size in reference.sizes if trained[0] <= size <= trained[1]] or [trained[1]]:
        with seeded(seed, 3_000_000, size):
            tasks = prior.sample_split(num_datasets, size, reference.num_queries)
        with torch.no_grad():
            found[size] = Trial(tasks, *reference.answer(tasks))
    return found


def measured(model: PFN, prior: Prior, some: dict[int, Trial]) -> Rows:
    """Every number at every context size."""
    return {size: numbers(model, trial, isinstance(prior.outcome, Classes)) for size, trial in some.items()}


@torch.no_grad()
def numbers(model: PFN, trial: Trial, is_classes: bool) -> dict[str, Estimate]:
    """Means over datasets."""
    tasks, truth = trial.tasks, trial.truth
    ppd = predict(model.in_model_units(), tasks)
    values = {"nll": -ppd.log_prob(tasks.query_y)}
    if is_classes:
        values["accuracy"] = is_right(ppd, tasks)
    if truth is not None:
        values |= distances(ppd, truth, tasks, is_classes)
    elif not is_classes:
        values["in_95"] = is_inside(ppd, tasks)
    return {name: Estimate.over(value.mean(-1)) for name, value in values.items()}


def distances(ppd: Distribution, truth: Distribution, tasks: Batch, is_classes: bool) -> dict[str, Tensor]:
    """The NLL of the exact posterior, and the gap of the model to it."""
    values = {"exact_nll": -truth.log_prob(tasks.query_y), "gap": divergence(truth, ppd)}
    if is_classes:
        return values | {"exact_accuracy": is_right(truth, tasks)}
    return values | {"floor": divergence(truth, best_fit(ppd, truth))}


def is_inside(ppd: Distribution, tasks: Batch) -> Float[Tensor, "batch query"]:
    """1 where the target lies in the central 95 % interval."""
    low, high = interval(ppd, 0.95)
    return ((low <= tasks.query_y) & (tasks.query_y <= high)).double()


def is_right(ppd: Distribution, tasks: Batch) -> Float[Tensor, "batch query"]:
    """1 where the most probable class is the one that was drawn."""
    return (class_probs(ppd).argmax(-1) == tasks.query_y).double()


def mean_loss(rows: Rows) -> float:
    """The mean over context sizes of the gap, or of the NLL where no truth is known."""
    return statistics.fmean(row.get("gap", row["nll"]).mean for row in rows.values())


def in_half_precision(model: PFN) -> PFN:
    """The model as a float16 file would give it back."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "half", dtype=torch.float16)
        return load_pfn(Path(folder) / "half")


def released(model: PFN, prior: Prior, some: dict[int, Trial], about: dict[str, Any]) -> PFN:
    """The model that goes into the zoo, with its numbers on its card."""
    half = in_half_precision(model)
    rows, half_rows = (measured(each, prior, some) for each in (model, half))
    cost = mean_loss(half_rows) - mean_loss(rows)
    kept, kept_rows = (half, half_rows) if cost < MOST_LOST else (model, rows)
    on_card = {**about, "half_precision_costs": cost, **hand_placed(kept, prior), "rows": card_rows(kept_rows, some)}
    kept.card = dataclasses.replace(model.card, measured=on_card)
    kept.save(FOLDER / model.card.name, dtype=torch.float16 if kept is half else None)
    return load(model.card.name)


def card_rows(rows: Rows, some: dict[int, Trial]) -> list[dict[str, Any]]:
    """The numbers at each context size as plain data: means, each with the half-width of its interval."""
    return [
        {"n": size, **{name: [each.mean, each.half_width] for name, each in row.items()}, **some[size].remarks}
        for size, row in rows.items()
    ]


def hand_placed(model: PFN, prior: Prior) -> dict[str, Any]:
    """KL(oracle || model) on the contexts of ``hand_placed.py``, for the prior that it is about."""
    if prior != HyperGaussianProcess():
        return {}
    gaps = torch.tensor([row.gap for row in measured_by_hand(model)])
    found = Estimate.over(gaps)
    return {
        "hand_placed": {"gap": [found.mean, found.half_width], "median": gaps.median().item(), "contexts": len(gaps)}
    }


def main() -> None:
    """Measure, and release if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the folder of a model, or the name of a released one")
    parser.add_argument("--datasets", type=int, default=None, help="default: what the reference allows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", default=None, help="the name of the released model, where it is not the recipe's")
    writes = parser.add_mutually_exclusive_group()
    writes.add_argument("--release", action="store_true", help="save it into the zoo, under its card's name")
    writes.add_argument("--remeasure", action="store_true", help="write the card of a released model again")
    arguments = parser.parse_args()
    if arguments.remeasure and arguments.model not in names():
        parser.error(f"--remeasure writes the card of a released model; got {arguments.model}. Did you mean --release?")
    model = load(arguments.model)
    model.card = dataclasses.replace(model.card, name=arguments.name or model.card.name)
    prior, trained = own_prior(model), model.card.trained_context
    assert trained is not None  # every recipe says so
    reference = reference_of(prior)
    num_datasets = arguments.datasets or reference.num_datasets
    some = trials(prior, reference, trained, num_datasets, arguments.seed)
    about = {
        "command": f"python benchmarks/release/release.py {model.card.name} --datasets {num_datasets}",
        "num_datasets": num_datasets,
        "num_queries": reference.num_queries,
        "reference": reference.name,
        "circumstances": circumstances(arguments.seed),
    }
    if arguments.release:
        model = released(model, prior, some, about)
    rows = measured(model, prior, some)
    if arguments.remeasure:
        write_measured(model.card.name, {**about, **hand_placed(model, prior), "rows": card_rows(rows, some)})
    columns = list(next(iter(rows.values())))
    lines = [[str(size), *map(str, row.values()), remarks(some[size])] for size, row in rows.items()]
    title = f"{model.card.name}: {num_datasets} datasets, reference: {reference.name}"
    show(title, ["n", *(name.replace("_", " ") for name in columns), ""], lines)


def remarks(trial: Trial) -> str:
    """Remarks on the accuracy of the reference."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.2g}" for name, value in trial.remarks.items())


if __name__ == "__main__":
    main()
