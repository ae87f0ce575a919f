"""What training costs: operations, memory, bytes between processes, and the time of a run on other machines, on paper.

    python benchmarks/speed/cost_model.py                   a 512-wide run of 4 million datasets on one GPU and on eight
    python benchmarks/speed/cost_model.py --measure --save  and the efficiency of two processes of one thread each, here

`flops` counts the operations of a step. Beside them, with its letters:

    memory       16 bytes a weight with Muon (weight, gradient, momentum, average), 20 with Adam, and what the backward
                 pass keeps: a layer 7 w t + 4 w n + 2 f t numbers a dataset (both norms' inputs and outputs, queries,
                 attention's answers twice, keys and values before and after the sink, the feed-forward layer twice)
    traffic      the gradients, 4 bytes a weight, all-reduced once a step, whatever the micro-batches; in a ring of P
                 processes each sends 2 (P - 1) / P times that
    time         operations / (peak x utilisation) of the share of one process, plus traffic / bandwidth as if none of
                 it were hidden behind the backward pass, and Muon's Newton-Schulz steps, which every process takes;
                 drawing the prior is not in it

Operations and traffic are exact (tests compare them with what torch counts and what DistributedDataParallel sends);
the memory of the backward pass is within a tenth of what autograd keeps. The assumed GPU is an NVIDIA A100: in float32,
as priorfit trains, 19.5 TFLOP/s of which 60 % are taken as used; with TF32, which a script may turn on by
``torch.set_float32_matmul_precision("high")``, 156 of which 30 %, since matrices of 512 are small for it; 200 GB/s over
NVLink. No GPU was at hand: these lines are on paper.

``--measure`` takes the same steps (width 128, N = 100, two micro-batches of 16 datasets) with one process and with two,
turn by turn. By the wall: T1 / (2 T2), which needs two free cores. By the processor's clock: the same with the CPU
seconds of the busier process: what two processes do that one does not, without the waiting.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

from benchmarks.common.report import parser_for, save, show
from benchmarks.common.timing import median_interval, ratios
from benchmarks.speed.flops import Sizes, newton_schulz_flops, training_flops
from benchmarks.speed.training_step import network_of, recipe_of
from priorfit.provenance import load
from priorfit.training import Recipe
from priorfit.training.devices import processes
from priorfit.training.trainer import Trainer

LARGE = (Sizes(100, 64, width=512, heads=8, feedforward=1024), Sizes(1000, 8, width=512, heads=8, feedforward=1024))
DATASETS = 4_000_000
MEASURED = Sizes(num_points=100, batch_size=16, width=128, layers=6, feedforward=256)
NUMBERS = ("gflop_per_dataset", "memory_gb", "sent_mb_per_step", "step_ms", "hours")
PROCESSES = 2
WARMUP, STEPS = 3, 12


@dataclass(frozen=True)
class Machine:
    """The processor of a process, and the connection between processes."""

    name: str
    peak: float
    """Operations per second."""
    utilisation: float
    bandwidth: float
    """Bytes per second that a process can send."""


A100 = Machine("A100, float32", peak=19.5e12, utilisation=0.6, bandwidth=200e9)
A100_TF32 = Machine("A100, TF32", peak=156e12, utilisation=0.3, bandwidth=200e9)


def num_weights(sizes: Sizes) -> int:
    """The number of weights of the network that `training_step` builds for these sizes."""
    width, outputs = sizes.width, sizes.buckets + 2
    layer = 4 * width**2 + 2 * width + 2 * width * sizes.feedforward + sizes.feedforward + width + 4 * width
    encoders = (sizes.features + 1) * width + 2 * width
    return sizes.layers * layer + encoders + 2 * width + (width + 1) * outputs


def matrices(sizes: Sizes) -> list[tuple[int, int]]:
    """The shapes of the matrices that Muon orthogonalises."""
    width = sizes.width
    return sizes.layers * (4 * [(width, width)] + 2 * [(width, sizes.feedforward)])


def state_bytes(sizes: Sizes, method: str) -> int:
    """Weights, gradients, averaged weights and the optimiser's state; Muon leaves little to Adam."""
    small = num_weights(sizes) - sum(rows * columns for rows, columns in matrices(sizes))
    moments = num_weights(sizes) + small if method == "muon" else 2 * num_weights(sizes)
    return 4 * (3 * num_weights(sizes) + moments)


def activation_bytes(sizes: Sizes) -> int:
    """What the blocks keep for the backward pass of one batch; encoders and head come on top."""
    queries = sizes.num_points - sizes.num_context
    layers = (sizes.layers - 1) * layer_numbers(sizes, sizes.num_points) + layer_numbers(sizes, queries)
    return 4 * sizes.batch_size * layers


def layer_numbers(sizes: Sizes, tokens: int) -> int:
    """Numbers that one layer keeps of one dataset."""
    return 7 * sizes.width * tokens + 4 * sizes.width * sizes.num_context + 2 * sizes.feedforward * tokens


def traffic_bytes(sizes: Sizes, count: int) -> int:
    """Bytes that each of several processes sends in a step."""
    return 2 * (count - 1) * 4 * num_weights(sizes) // count


def step_seconds(sizes: Sizes, machine: Machine, count: int) -> float:
    """A step of ``count`` micro-batches of these sizes, one for each process."""
    operations = training_flops(sizes, sizes.buckets + 2) + newton_schulz_flops(matrices(sizes))
    return operations / (machine.peak * machine.utilisation) + traffic_bytes(sizes, count) / machine.bandwidth


def paper_row(sizes: Sizes, machine: Machine, count: int) -> dict[str, Any]:
    """A large run on some number of GPUs; the batch of a step grows with it."""
    step = step_seconds(sizes, machine, count)
    return {
        "machine": machine.name,
        "points": sizes.num_points,
        "processes": count,
        "weights": num_weights(sizes),
        "gflop_per_dataset": training_flops(sizes, sizes.buckets + 2) / sizes.batch_size / 1e9,
        "memory_gb": (state_bytes(sizes, "muon") + activation_bytes(sizes)) / 1e9,
        "sent_mb_per_step": traffic_bytes(sizes, count) / 1e6,
        "step_ms": 1e3 * step,
        "hours": DATASETS / (sizes.batch_size * count) * step / 3600,
    }


def work() -> None:
    """The timed steps of one process, alone or one of several; the busiest one's seconds are printed."""
    torch.set_num_threads(1)
    with processes() as group:
        trainer = Trainer(network_of(measured_recipe()), measured_recipe(), steps=1000, group=group)
        for _ in range(WARMUP):
            trainer.take_step()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(STEPS):
            trainer.take_step()
        spent = torch.tensor([time.perf_counter() - wall, time.process_time() - cpu])
        if group.count > 1:
            torch.distributed.all_reduce(spent, torch.distributed.ReduceOp.MAX)
        if group.is_first:
            print(json.dumps(dict(zip(("wall", "cpu"), spent.tolist(), strict=True))))


def measured_recipe() -> Recipe:
    """The same work for one process and for two: as many micro-batches as processes."""
    recipe = recipe_of(MEASURED, "muon", seed=0)
    return replace(recipe, data=replace(recipe.data, micro_batches=PROCESSES))


def spent_by(count: int) -> dict[str, float]:
    """The seconds of the timed steps with some number of processes of one thread."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)] if count > 1 else []
    command = [sys.executable, *launcher, str(Path(__file__)), "--work"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def measured_row(repetitions: int) -> dict[str, Any]:
    """One process and two, turn by turn."""
    before = load()
    pairs = [(spent_by(1), spent_by(PROCESSES)) for _ in range(repetitions)]
    row: dict[str, Any] = {"processes": PROCESSES, "steps": STEPS, "load_before": before}
    for clock in ("wall", "cpu"):
        one, two = ([pair[index][clock] for pair in pairs] for index in (0, 1))
        row |= {f"{clock}_one": median_interval(one), f"{clock}_two": median_interval(two)}
        row[f"{clock}_efficiency"] = ratios(one, [PROCESSES * seconds for seconds in two])
    return row


def main() -> None:
    """Print the model's numbers and, when asked, the measured ones."""
    parser = parser_for("cost_model", __doc__)
    parser.add_argument("--measure", action="store_true", help="the efficiency of two processes on this machine")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return
    rows = [paper_row(sizes, gpu, count) for gpu in (A100, A100_TF32) for sizes in LARGE for count in (1, 8)]
    lines = [
        [*(str(row[key]) for key in ("machine", "points", "processes")), *(f"{row[key]:,.3g}" for key in NUMBERS)]
        for row in rows
    ]
    title = f"{DATASETS:,} datasets, width {LARGE[0].width}, {rows[0]['weights']:,} weights"
    columns = ["", "N", "GPUs", "GFLOP a dataset", "GB of memory", "MB sent a step", "ms a step", "hours"]
    show(f"{title} (on paper)", columns, lines)
    if arguments.measure:
        row = measured_row(arguments.repetitions or 5)
        show(
            f"Two processes of one thread beside one, {STEPS} steps, load {row['load_before']}",
            ["clock", "one", "two", "efficiency"],
            [[c, *(f"{row[f'{c}_{key}']:.2f}" for key in ("one", "two", "efficiency"))] for c in ("wall", "cpu")],
        )
        rows.append(row)
    if arguments.save:
        save("cost_model", rows, arguments.seed)


if __name__ == "__main__":
    main()
