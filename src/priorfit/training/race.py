"""A race of networks for a prior of which nothing is known: each trains for a share of the clock, the best goes on."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from priorfit.data import Batch
from priorfit.errors import InputError, TrainingError
from priorfit.network import Model, NetworkSettings
from priorfit.predictor import predict
from priorfit.seeding import seeded
from priorfit.training.batches import RACE_STREAM
from priorfit.training.defaults import default_data
from priorfit.training.loop import card_of
from priorfit.training.networks import start_network
from priorfit.training.recipe import Budget, Recipe
from priorfit.training.trainer import Trainer

SHARE, MOST_SHARE = 0.08, 0.16
"""Share of the training budget that each candidate gets; three candidates leave three quarters for the winner. A short
budget has a larger share, which still leaves half of it."""

FEWEST_SECONDS = 10.0
"""What a candidate gets where `MOST_SHARE` allows it. After five seconds solvers lead by more than `LEAD` wherever one
learns fast: with one minute and a share of 0.08, linear solvers won for growth curves and change points, and ended 0.13
and 0.19 nats above the plain transformer (benchmarks/pilots/race.py --minutes 1)."""

LEAD = 0.5
"""Nats by which a solver must be ahead of the plain transformer to be chosen. A solver starts ahead, since it need not
learn to solve, and the lead shrinks: on damped waves, with one minute in all, a linear solver that led by more than 0.2
was 0.08 behind at the end (benchmarks/pilots/race.py)."""

TIE = 0.05
"""Solvers that are closer than so many nats are alike after their share; the one that took fewer steps will gain more.
On a user's own GP, with three minutes, the linear solver won by 0.01 nats and ended 0.024 nats from the truth at n = 3,
where the latent solver ends below 0.001 (benchmarks/pilots/race.py)."""

ALIKE = f" Solvers within {TIE:g} are alike; this one took fewer steps."

FEWEST_STEPS = 12
"""A candidate that cannot take so many steps in its share shows nothing, and takes so many."""

JUDGED_SIZES, JUDGED_DATASETS = 6, 64
"""Context sizes, and datasets for each, that candidates are judged on; all see the same ones."""


@dataclass(frozen=True)
class Runner:
    """A candidate after its share of the clock, and its NLL on datasets that nobody trained on."""

    name: str
    recipe: Recipe
    network: Model
    nll: float
    steps: int

    @property
    def is_plain(self) -> bool:
        """Whether it is a transformer without a solver."""
        return isinstance(self.recipe.network, NetworkSettings) and self.recipe.network.solver is None


@dataclass(frozen=True)
class Race:
    """What every candidate came to, the best first."""

    runners: tuple[Runner, ...]
    seconds: float
    share: float = SHARE
    """Share of the clock that each had."""

    @property
    def winner(self) -> Runner:
        """The candidate of the lowest NLL; a solver must lead the plain transformer by `LEAD`, and others by `TIE`."""
        alike = [runner for runner in self.runners if runner.nll < self.runners[0].nll + TIE and not runner.is_plain]
        best = min(alike, key=lambda runner: runner.steps, default=self.runners[0])
        plain = next((runner for runner in self.runners if runner.is_plain), best)
        return plain if plain.nll < self.runners[0].nll + LEAD else best

    def __str__(self) -> str:
        winner = self.winner
        others = ", ".join(f"{runner.name} {runner.nll:.3f}" for runner in self.runners if runner is not winner)
        rule = ""
        if winner is not self.runners[0]:
            rule = f" A solver must lead by {LEAD:g}, since its lead shrinks." if winner.is_plain else ALIKE
        best = f"NLL {winner.nll:.3f} after {self.share:.0%} of the clock"
        return f"chose the {winner.name}: {best}; others after as long: {others}.{rule}"


def race(recipe: Recipe, candidates: Mapping[str, NetworkSettings], seconds: float) -> Race:
    """Train each candidate for its share of ``seconds``, on data of the same seeds; judge all on the same datasets."""
    started = time.perf_counter()
    judged, share = judged_batches(recipe), share_of(seconds)
    runners = [ran(name, entrant(recipe, network), share * seconds, judged) for name, network in candidates.items()]
    return Race(tuple(sorted(runners, key=lambda runner: runner.nll)), time.perf_counter() - started, share)


def share_of(seconds: float) -> float:
    """The share of a budget that each candidate gets.

    >>> share_of(180.0), share_of(100.0), share_of(30.0)
    (0.08, 0.1, 0.16)
    """
    return min(MOST_SHARE, max(SHARE, FEWEST_SECONDS / seconds))


def entrant(recipe: Recipe, network: NetworkSettings) -> Recipe:
    """The recipe with a candidate's network, and the data that suit it."""
    return replace(recipe, network=network, data=default_data(network, recipe.data.targets))


def ran(name: str, recipe: Recipe, seconds: float, judged: list[Batch]) -> Runner:
    """A candidate after its share: a whole small training, since only a decayed learning rate shows what it can do."""
    network = start_network(recipe, None)
    started = time.perf_counter()
    trainer = Trainer(network, recipe, FEWEST_STEPS)
    try:
        while trainer.step < trainer.steps:
            trainer.take_step()
            per_step = (time.perf_counter() - started) / trainer.step
            trainer.steps = max(FEWEST_STEPS, trainer.step, int(seconds / per_step))
    except TrainingError:  # its gradients were not finite
        return Runner(name, recipe, network, float("inf"), 0)
    taken = replace(recipe, budget=Budget(steps=trainer.steps))
    network.card = card_of(taken, trainer, time.perf_counter() - started, None)
    return Runner(name, recipe, network, mean_loss(network, judged), trainer.steps)


def judged_batches(recipe: Recipe) -> list[Batch]:
    """Datasets of several context sizes that no training draws."""
    low, high = recipe.data.context_sizes.range(recipe.num_points)
    sizes = sorted({round(low + (high - low) * part / (JUDGED_SIZES - 1)) for part in range(JUDGED_SIZES)})
    batches = []
    for size in sizes:
        with seeded(recipe.seed, RACE_STREAM, size):
            drawn = recipe.prior.sample(JUDGED_DATASETS, size + 8).split(size)
        batches.append(replace(drawn, query_law=None))
    return batches


@torch.no_grad()
def mean_loss(network: Model, batches: list[Batch]) -> float:
    """The mean NLL of a query over context sizes; infinite where an answer is not finite."""
    view = network.in_model_units()
    try:
        losses = [-predict(view, batch).log_prob(batch.query_y).mean() for batch in batches]
    except InputError:  # of numbers that overflow inside
        return float("inf")
    mean = torch.stack(losses).mean()
    return float(mean) if bool(mean.isfinite()) else float("inf")
