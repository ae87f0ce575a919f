"""The methods of `latents`: a network of priorfit, its refined answers, and sbi's neural posterior estimation."""

import json
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from latents_tasks import Simulations, Task, simulated
from models import digest
from study import Clock
from torch import Tensor

import priorfit as pf
from priorfit.description import describe
from priorfit.errors import UncertainTruthWarning
from priorfit.network import PFN, NetworkSettings
from priorfit.network.posterior import PFNPosterior
from priorfit.seeding import seeded
from priorfit.training import Recipe, train
from priorfit.training.context_sizes import UniformSizes
from priorfit.training.defaults import suggested_network
from priorfit.training.judge import EarlyStop
from priorfit.training.networks import start_network
from priorfit.training.optimiser import OptimiserSettings
from priorfit.training.recipe import Budget, DataSettings
from priorfit.training.trainer import Trainer

WORKER = Path(__file__).with_name("latents_worker.py")
BATCH, MICRO_BATCHES = 128, 2
"""Datasets of a micro-batch, which shows one set of latents, and micro-batches of a step."""
LAYERS, LEARNING_RATE = 3, 3e-3
"""Whole observations are short: few layers see all of them, and large batches bear a large rate."""
LEFT_OUT, JUDGED = 0.1, 512
"""Share of the simulations that are left out to choose the best weights, as sbi does, and most of them that judge."""
TIMED, TRIED = 24, 2_000
"""Steps and simulations that are timed to plan a budget in seconds."""
PLANNED = 0.95
"""Share of the seconds that is planned; the rest goes into readings of the simulations that are left out."""
LEAST_SECONDS = 5.0
"""Training that `fit` gets whatever its reading of the program took."""
PATIENCE = 21
"""More than there are readings: a run takes all its steps, and the best reading's weights are its result."""

Draws = Float[np.ndarray, "observations draws parameters"]


@dataclass(frozen=True)
class Answers:
    """Draws for all observations, and what is known of how they were made."""

    draws: Draws
    found: dict[str, Any]
    """Numbers that hold for all observations, or lists with a number for each of them."""

    def save(self, file: Path) -> None:
        """Write an .npz file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.npz")
        np.savez(partial, draws=self.draws.astype(np.float32), found=json.dumps(self.found))
        partial.replace(file)

    @classmethod
    def load(cls, file: Path) -> "Answers":
        """Read what `save` wrote."""
        with np.load(file) as arrays:
            return cls(arrays["draws"], json.loads(str(arrays["found"])))


@dataclass(frozen=True)
class Budgeted:
    """How much a method may use."""

    simulations: int | None
    """None: as many as it can use in its time."""
    seconds: float | None = None
    """The time of simulating and training together; with None it trains until it no longer improves."""
    steps: int | None = None
    """Steps of a network in place of seconds."""


def recipe_of(task: Task, simulations: Simulations, steps: int, seed: int) -> Recipe:
    """A plain transformer trained on whole observations, which are short: few layers, large batches."""
    data = DataSettings(BATCH, MICRO_BATCHES, context_sizes=UniformSizes(task.num_shown), same_n=False)
    return Recipe(
        simulations,
        task.num_shown + 1,
        Budget(steps=steps),
        task.name,
        seed,
        network=NetworkSettings(layers=LAYERS),
        data=data,
        optimiser=OptimiserSettings(learning_rate=LEARNING_RATE),
    )


def settings_digest(task: Task) -> str:
    """A digest of what decides a training but for its budget, under which rows are kept."""
    empty = Simulations(task.prior, torch.zeros(1, task.num_shown), {})
    recipe = recipe_of(task, empty, 1, 0)
    return digest([describe(part) for part in (recipe.network, recipe.data, recipe.optimiser)])


def trained(task: Task, budget: Budgeted, seed: int) -> tuple[PFN, dict[str, Any]]:
    """A network within a budget, and what it used."""
    clock = Clock()
    count, steps = planned(task, budget, seed)
    planning = clock.seconds
    with seeded(seed, 20):
        simulations = simulated(task, count).shown(task)
    simulating = clock.seconds - planning
    left_out = max(1, round(LEFT_OUT * count))
    judged = EarlyStop(simulations.part(slice(0, left_out)), PATIENCE, min(left_out, JUDGED))
    model = train(recipe_of(task, simulations.part(slice(left_out, None)), steps, seed), stop=judged)
    assert isinstance(model, PFN)
    model.prior = task.prior if task.summary is None else None
    used = {"simulations_used": count, "steps": steps, "simulating_seconds": simulating, "seconds": clock.seconds}
    return model, used | {"left_out": model.card.training["left_out"]}


def fitted(task: Task, budget: Budgeted, seed: int) -> tuple[PFN, dict[str, Any]]:
    """What `fit` makes of the program itself within a budget: where it returns a law, cells are read off its code."""
    clock, num_points = Clock(), task.components + 1
    if budget.seconds is None:
        model = pf.fit(task.prior, num_points=num_points, steps=budget.steps, seed=seed, progress=False)
    else:
        network = suggested_network(task.prior)
        minutes = max(PLANNED * budget.seconds - clock.seconds, LEAST_SECONDS) / 60
        told = {"minutes": minutes, "seed": seed, "progress": False}
        model = pf.fit(task.prior, num_points=num_points, network=network or "auto", **told)
    training = model.card.training
    used = {"simulations_used": 0, "steps": training["steps"], "simulating_seconds": 0.0, "seconds": clock.seconds}
    return model, used | {"left_out": training.get("left_out")}


def planned(task: Task, budget: Budgeted, seed: int) -> tuple[int, int]:
    """The number of simulations and of steps of a budget; seconds are turned into steps by timing some."""
    if budget.steps is not None:
        return budget.simulations or budget.steps * BATCH * MICRO_BATCHES, budget.steps
    assert budget.seconds is not None
    whole = Clock()
    with seeded(seed, 21):
        some = simulated(task, TRIED).shown(task)
    each = whole.seconds / TRIED
    recipe = recipe_of(task, some, 4 * TIMED, seed)
    trial = Trainer(start_network(recipe, None), recipe, 4 * TIMED)
    for _ in range(TIMED // 4):
        trial.take_step()
    clock = Clock()
    for _ in range(TIMED):
        trial.take_step()
    step = clock.seconds / TIMED
    per_step = BATCH * MICRO_BATCHES
    seconds = PLANNED * budget.seconds - whole.seconds
    if budget.simulations is None:
        steps = max(1, int(seconds / (step + each * per_step)))
        return steps * per_step, steps
    return budget.simulations, max(1, int((seconds - each * budget.simulations) / step))


def conditioned(model: PFN, task: Task, observed: Float[Tensor, "observations components"]) -> list[PFNPosterior]:
    """The posterior of each observation; a network that learned from simulations has seen statistics of it."""
    seen = observed if model.prior is not None else task.shown(observed.float())
    x = torch.arange(seen.shape[1]).float()[:, None]
    return [model.condition(x, y.float()) for y in seen]


def plain_answers(
    model: PFN, task: Task, observed: Float[Tensor, "observations components"], count: int
) -> tuple[Draws, dict[str, Any]]:
    """Joint draws of the network's latents."""
    clock = Clock()
    draws = [task.parameters(each.latents.sample(count)).numpy() for each in conditioned(model, task, observed)]
    return np.stack(draws), {"drawing_seconds": clock.seconds / len(observed)}


def refined_answers(
    model: PFN, task: Task, observed: Float[Tensor, "observations components"], count: int, particles: int
) -> tuple[Draws, dict[str, Any]]:
    """The same draws corrected by exact weights, and how far they are to be believed."""
    clock, draws, k_hats, sizes = Clock(), [], [], []
    for posterior in conditioned(model, task, observed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainTruthWarning)  # k-hat is in the row
            refined = posterior.refined(particles)
        draws.append(task.parameters(refined.latents.sample(count)).numpy())
        k_hats.append(float(refined.k_hat))
        sizes.append(float(refined.effective_sample_size))
    drawing = clock.seconds / len(observed)
    return np.stack(draws), {"drawing_seconds": drawing, "k_hat": k_hats, "effective_sample_size": sizes}


@dataclass(frozen=True)
class Peer:
    """sbi's NPE with a neural spline flow, in an environment of its own."""

    python: Path
    threads: int
    epochs: int | None = None

    def answers(
        self, task: Task, observed: Float[Tensor, "observations components"], simulations: int, count: int, seed: int
    ) -> Answers:
        """Simulate, train, and draw for all observations."""
        clock = Clock()
        with seeded(seed, 20):
            bank = simulated(task, simulations)
        simulating = clock.seconds
        with tempfile.TemporaryDirectory() as folder:
            files = {"simulations": f"{folder}/simulations.npz", "answers": f"{folder}/answers.npy"}
            np.savez(
                files["simulations"],
                theta=task.parameters(bank.values).numpy(),
                x=task.shown(bank.y).numpy(),
                observed=task.shown(observed.float()).numpy(),
            )
            said = self._ask(folder, {**files, "prior": task.peer_prior, "draws": count, "seed": seed})
            draws = np.load(files["answers"])
        seconds = simulating + said["training_seconds"]
        return Answers(
            draws, {**said, "simulations_used": simulations, "simulating_seconds": simulating, "seconds": seconds}
        )

    def _ask(self, folder: str, request: Mapping[str, Any]) -> dict[str, float]:
        more = {"threads": self.threads, "epochs": self.epochs}
        worker = [str(self.python.absolute()), str(WORKER.absolute())]
        line = json.dumps({**request, **more}) + "\n"
        done = subprocess.run(worker, input=line, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"the worker of sbi failed: {done.stderr}")
        return json.loads(done.stdout)
