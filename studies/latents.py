"""Figure of issue 20: posteriors of latents beside sbi's neural posterior estimation, on six tasks of sbibm.

    python studies/latents.py --threads 1 --data FOLDER --sbi PYTHON

Claim: C2ST no worse than NPE's, within its spread over ten observations, on four of six tasks at equal time; with
`refined` below 0.55 on every task that has a likelihood and a k-hat below 0.7. The paper: none. All six tasks have one:
four by the law of each component, two moons and SLCP by that of all components together.

Two moons, Gaussian linear, Bernoulli GLM, SIR, Lotka-Volterra and SLCP, ten observations each, with 10,000 draws of the
reference posterior (`latents_data.py`: from the wheel of sbibm, which is never imported). NPE (sbi 0.27, ``nsf``, else
its defaults) gets 10,000 and 100,000 simulations. The network gets the same simulations and the same processor seconds,
simulating included; then the same seconds with as many simulations as it can use; then, where the program returns a
law, it is the model that `fit` makes of it in at most these seconds. ``--sbi`` names the Python of an environment with
sbi 0.27: ``python -m venv FOLDER``, ``pip install -c constraints.txt torch sbi==0.27.0``. Without it NPE is left out,
and the network gets ``--seconds``.

C2ST is the accuracy of a classifier between draws and reference: 0.5 is the best, 1 the worst. It takes some ten
processor seconds an observation with two parameters and more than three minutes with ten. Cost: an estimate of 25 hours
on one core, most of it C2ST; ``--tasks``, ``--methods``, ``--simulations`` and ``--observations`` choose, ``--kept``
tells the rows so far, and a run that was stopped goes on.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from latents_data import OBSERVATIONS, Benchmark, MadeUp, benchmark_in
from latents_methods import Answers, Budgeted, Peer, fitted, plain_answers, refined_answers, settings_digest, trained
from latents_results import LAW, METHODS, MORE, NPE, REFINED, draw, tell
from latents_scores import c2st
from latents_tasks import Task, tasks
from study import Row, Setup, Study

SIMULATIONS = (10_000, 100_000)
DRAWS = 10_000
PARTICLES = 65_536
"""Of `refined`: so many that 10,000 draws of them seldom repeat each other, which a classifier would see."""
SECONDS = 120.0
PEER_SETTINGS = "sbi 0.27.0, nsf"


@dataclass(frozen=True)
class Case:
    """One task with one number of simulations, for NPE and for the networks beside it."""

    task: Task
    simulations: int
    setup: Setup

    def key(self, method: str, number: int) -> dict[str, str | int]:
        """The key of a row."""
        return {
            "task": self.task.name,
            "simulations": self.simulations,
            "method": method,
            "observation": number,
            "settings": PEER_SETTINGS if method == NPE else settings_digest(self.task),
            "seed": self.setup.seed,
        }

    @property
    def observed(self) -> torch.Tensor:
        """The targets of all observations."""
        benchmark, task = benchmark_of(self.setup), self.task
        numbers = range(1, benchmark.num_observations + 1)
        return torch.stack([task.read(benchmark.observation(task.name, each, task.file)) for each in numbers])

    def methods(self) -> Iterator[str]:
        """The methods that this run can ask, NPE first, since its seconds are the budget of the others."""
        options = self.setup.options
        for method in METHODS:
            if self._can_ask(method) and method in (options.methods or ";".join(METHODS)).split(";"):
                yield method

    def _can_ask(self, method: str) -> bool:
        if method == NPE:
            return self.setup.options.sbi is not None
        if LAW in method:
            return self.task.prior.has_law
        return REFINED not in method or self._can_refine

    @property
    def _can_refine(self) -> bool:
        """Whether a network that learned from simulations can be refined: it has seen what the likelihood is of."""
        return self.task.prior.has_likelihood and self.task.summary is None

    def answers(self, method: str) -> Answers:
        """Draws for all observations, kept in a file that is not committed, so that a stopped run goes on."""
        if not self._file(method).exists():
            print(f"{self.task.name}, {self.simulations} simulations: {method}", flush=True)
            if method == NPE:
                self._asked_peer().save(self._file(method))
            else:
                self._train(method.removesuffix(REFINED))
        return Answers.load(self._file(method))

    def _file(self, method: str) -> Path:
        key = self.key(method, 0)
        name = "-".join(str(key[part]) for part in ("task", "simulations", "method", "settings", "seed"))
        return self.setup.models / "latents" / f"{name.replace(' ', '_').replace(',', '')}.npz"

    def _asked_peer(self) -> Answers:
        options = self.setup.options
        peer = Peer(options.sbi, options.threads, self.setup.choose(None, 1))
        return peer.answers(self.task, self.observed, self.simulations, self._draws, self.setup.seed)

    @property
    def _draws(self) -> int:
        return self.setup.choose(DRAWS, 100)

    def _train(self, method: str) -> None:
        """Train a network and keep its draws, with those of `refined` where there is a likelihood."""
        seconds = None if self.setup.quick else self._seconds()
        own = None if method == MORE else self.simulations
        budget = Budgeted(own, seconds, steps=self.setup.choose(None, 2))
        model, used = (fitted if method == LAW else trained)(self.task, budget, self.setup.seed)
        draws, found = plain_answers(model, self.task, self.observed, self._draws)
        Answers(draws, used | found).save(self._file(method))
        if self._can_refine or method == LAW:
            particles = self.setup.choose(PARTICLES, 128)
            draws, found = refined_answers(model, self.task, self.observed, self._draws, particles)
            Answers(draws, used | found).save(self._file(method + REFINED))

    def _seconds(self) -> float:
        """The processor seconds of NPE's simulating and training, or those that the command line names."""
        wanted = (self.task.name, self.simulations, NPE)
        every = self.setup.rows.every()
        found = [row["seconds"] for row in every if (row["task"], row["simulations"], row["method"]) == wanted]
        return self.setup.options.seconds or (found[0] if found else SECONDS)

    def row(self, method: str, number: int) -> dict[str, object]:
        """C2ST of one observation, and what the method used for all."""
        answers = self.answers(method)
        reference = benchmark_of(self.setup).reference(self.task.name, number).numpy()
        score = c2st(reference, answers.draws[number - 1].astype(float), most_epochs=self.setup.choose(10_000, 2))
        found = {name: of_observation(value, number) for name, value in answers.found.items()}
        return {"c2st": score, **found}


def of_observation(value: object, number: int) -> object:
    """What was found of one observation, where there is a list with one number for each."""
    return value[number - 1] if isinstance(value, list) else value


@cache
def wheel(data: Path | None) -> Benchmark:
    """The benchmark in the folder of data."""
    return benchmark_in(data)


def benchmark_of(setup: Setup) -> Benchmark:
    """The benchmark; in a quick run one that is made up."""
    return MadeUp() if setup.quick else wheel(setup.options.data)


def cases(setup: Setup) -> Iterator[tuple[Case, str, int]]:
    """All rows, in the order in which they are computed: few simulations first."""
    options, benchmark = setup.options, benchmark_of(setup)
    every = tasks(benchmark.design())
    chosen = setup.choose(options.tasks.split(",") if options.tasks else list(every), ["gaussian_linear"])
    sizes = setup.choose([int(each) for each in options.simulations.split(",")], [200])
    for simulations in sizes:
        for name in chosen:
            case = Case(every[name], simulations, setup)
            for method in case.methods():
                for number in range(1, min(options.observations, benchmark.num_observations) + 1):
                    yield case, method, number


def run(setup: Setup) -> list[Row]:
    """One row for each task, number of simulations, method and observation."""
    return [
        setup.rows.get(
            case.key(method, number), lambda case=case, method=method, number=number: case.row(method, number)
        )
        for case, method, number in cases(setup)
    ]


def kept(setup: Setup) -> list[Row]:
    """The rows found so far, of all methods."""
    return setup.rows.every()


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to run, and where sbi is."""
    parser.add_argument("--data", type=Path, default=None, help="the folder with the wheel of sbibm")
    parser.add_argument("--sbi", type=Path, default=None, help="the Python of an environment with sbi 0.27")
    parser.add_argument("--tasks", default=None, help="some tasks, by commas")
    parser.add_argument("--methods", default=None, help=f"some of {'; '.join(METHODS)}, by semicolons")
    parser.add_argument("--simulations", default=",".join(map(str, SIMULATIONS)))
    parser.add_argument("--observations", type=int, default=OBSERVATIONS, help="the first so many of ten")
    parser.add_argument("--seconds", type=float, default=None, help="of a network; else those of NPE, else 120")


STUDY = Study("latents", __doc__, run, tell, draw, kept, add_options)

if __name__ == "__main__":
    STUDY.main()
