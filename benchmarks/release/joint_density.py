"""Joint log densities of four targets: the solver's Gaussian with the network's margins, beside truth and chain rule.

    python benchmarks/release/joint_density.py --threads 1 --save

For datasets of the model's prior, nats that log p(y_1, ..., y_4 | context) lies below the exact one (the log evidence
of all points less that of the context), with the 95 % interval over datasets: of ``posterior.joint(x).log_prob(y)``, of
``posterior.joint_log_prob(x, y)`` (the chain rule, where n is small enough for four more passes) and of the product of
the margins. Where hyper-parameters are drawn, the chain rule itself is what the other two are compared with. The last
table times ``posterior.sample_functions``: a hundred functions at 200 points. Cost: a minute of one core.
"""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval
from priorfit import exact, load
from priorfit.metrics import Estimate
from priorfit.network import PFN
from priorfit.network.surprise import prior_of
from priorfit.priors import GaussianProcess, Prior
from priorfit.seeding import seeded
from priorfit.zoo import names

QUERIES = 4
SIZES = {"gp-rbf-1d": (3, 10, 30), "gp-rbf-5d": (10, 50, 100, 200), "gp-hyper-1d": (3, 10, 30), "gp-hyper-5d": (10, 50)}
"""Points of the context at which each model is measured."""
MOST_FOR_CHAIN = 50
"""Points of the context up to which the chain rule is measured: it encodes each context four times more."""


def model_and_prior(name: str) -> tuple[PFN, Prior]:
    """A released model and the prior on its card."""
    model = load(name)
    assert isinstance(model, PFN)
    prior = prior_of(model)
    assert prior is not None
    return model, prior


@torch.no_grad()
def function_row(name: str, num_context: int, datasets: int, seed: int) -> dict[str, Any]:
    """Nats by which the joint density of the function at four queries lies above the product of its margins."""
    model, prior = model_and_prior(name)
    with seeded(seed, num_context):
        tasks = prior.sample_split(datasets, num_context, QUERIES)
    posterior = model.in_model_units().condition(tasks.context_x, tasks.context_y)
    joint = posterior.joint(tasks.query_x, noise=False)
    gain = joint.log_prob(tasks.query_y) - joint.margins.log_prob(tasks.query_y).sum(-1)
    return {"model": name, "n": num_context, "datasets": datasets, "gain": Estimate.over(gain)}


@torch.no_grad()
def density_row(name: str, num_context: int, datasets: int, seed: int) -> dict[str, Any]:
    """Gaps of all three densities at one size of the context."""
    model, prior = model_and_prior(name)
    with seeded(seed, num_context):
        drawn = prior.sample(datasets, num_context + QUERIES)
    tasks = drawn.split(num_context)
    posterior = model.condition(tasks.context_x, tasks.context_y)
    found = {
        "joint": posterior.joint(tasks.query_x).log_prob(tasks.query_y),
        "margins": posterior.predict(tasks.query_x).log_prob(tasks.query_y).sum(-1),
    }
    if num_context <= MOST_FOR_CHAIN:
        found["chain rule"] = posterior.joint_log_prob(tasks.query_x, tasks.query_y)
    if isinstance(prior, GaussianProcess):
        truth = exact(prior)
        reference = truth.log_evidence(drawn.x, drawn.y) - truth.log_evidence(tasks.context_x, tasks.context_y)
    else:
        reference = found.pop("chain rule")
    gaps = {key: Estimate.over(reference - value) for key, value in found.items()}
    return {"model": name, "n": num_context, "datasets": datasets, **gaps}


def time_row(name: str, repetitions: int) -> dict[str, Any]:
    """Milliseconds of a hundred functions at 200 points, given 20."""
    model, _ = model_and_prior(name)
    with seeded(0):
        posterior = model.condition(torch.rand(20, 1), torch.randn(20))
    x, seconds = torch.linspace(0, 1, 200)[:, None], []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        posterior.sample_functions(x, 100)
        seconds.append(1e3 * (time.perf_counter() - start))
    return {"model": name, "milliseconds": median_interval(seconds[1:])}


def main() -> None:
    """Measure, print and, when asked, save."""
    arguments = parser_for("joint_density", __doc__).parse_args()
    torch.set_num_threads(arguments.threads)
    count = arguments.repetitions or (2 if arguments.quick else 512)
    sizes = {"gp-rbf-1d": (3,)} if arguments.quick else SIZES
    rows = [density_row(name, n, count, arguments.seed) for name, each in sizes.items() for n in each]
    columns = ("joint", "chain rule", "margins")
    lines = [[f"{row['model']}, n = {row['n']}", *(str(row.get(column, "-")) for column in columns)] for row in rows]
    show(
        f"Nats below the exact joint log density of {QUERIES} (gp-hyper: below the chain rule), {count} datasets",
        ["model", *columns],
        lines,
    )
    times = [time_row(name, min(count, 20)) for name in sizes if name.endswith("1d")]
    lines = [[row["model"], format(row["milliseconds"], ".1f")] for row in times]
    show("Milliseconds of 100 functions at 200 points", ["model", f"{arguments.threads} threads"], lines)
    functions = []
    if "bo-6d" in names() and not arguments.quick:
        functions = [function_row("bo-6d", n, count, arguments.seed) for n in (5, 10, 20, 50)]
        lines = [[f"{row['model']}, n = {row['n']}", str(row["gain"])] for row in functions]
        show("Nats of the joint density of a function above the product of its margins", ["model", "gain"], lines)
    if arguments.save:
        save("joint_density", [*rows, *times, *functions], arguments.seed)


if __name__ == "__main__":
    main()
