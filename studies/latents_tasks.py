"""The tasks of `latents`: each simulator with what the benchmark calls its observation and parameters."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Num
from latents_laws import observed_root
from latents_simulators import (
    GAUSSIAN_VARIANCE,
    LIKELIHOODS,
    IndexInputs,
    Points,
    Values,
    bernoulli_glm,
    gaussian_linear,
    lotka_volterra,
    sir,
    slcp,
    smooth_precision,
    two_moons,
)
from torch import Tensor

import priorfit as pf
from priorfit.priors import Prior, ProgramPrior

Parameters = Float[Tensor, "draws parameters"]


@dataclass(frozen=True)
class Task:
    """One task: its prior, and how it reads what the benchmark has."""

    name: str
    prior: ProgramPrior
    components: int
    peer_prior: Mapping[str, Any]
    """The prior of the parameters, as plain data for the process that trains a peer."""
    file: str = "observation.csv"
    read: Callable[[Tensor], Tensor] = field(default=lambda observed: observed)
    """From an observation of the benchmark to the targets of the points."""
    mixing: Float[Tensor, "parameters latents"] | None = None
    """The matrix that makes the benchmark's parameters of the latents, where they are not the latents themselves."""
    summary: Float[Tensor, "components statistics"] | None = None
    """The matrix that makes the benchmark's statistics of the components."""

    @property
    def num_parameters(self) -> int:
        """How many parameters the benchmark has."""
        return sum(latent.size for latent in self.prior.latents)

    def parameters(self, latents: Mapping[str, Num[Tensor, "..."]]) -> Parameters:
        """The benchmark's parameters of draws of the latents, ``(draws)`` or ``(draws, size)`` each."""
        columns = [latents[each.name].reshape(-1, each.size) for each in self.prior.latents]
        joined = torch.cat([column.double() for column in columns], dim=-1)
        return joined if self.mixing is None else joined @ self.mixing.double().T

    def shown(self, components: Values) -> Values:
        """What methods that learn from simulations alone see of all components."""
        return components if self.summary is None else components.float() @ self.summary

    @property
    def num_shown(self) -> int:
        """How many numbers `shown` gives."""
        return self.components if self.summary is None else self.summary.shape[1]


@dataclass(frozen=True, eq=False)
class Simulations(Prior):
    """A fixed number of simulations of a task: all that a training sees of it."""

    program: ProgramPrior = field(metadata={"described": False})
    y: Num[Tensor, "simulations components"] = field(metadata={"described": False}, repr=False)
    values: Mapping[str, Num[Tensor, "simulations size"]] = field(metadata={"described": False}, repr=False)
    name: str = "simulations"

    num_features = 1
    draws_own_inputs = False

    def __post_init__(self) -> None:
        """Take over what the prior says of its latents, and of its targets where they are not statistics."""
        outcome = pf.Real() if self.y.is_floating_point() else self.program.outcome
        own = {"inputs": IndexInputs(self.y.shape[1]), "outcome": outcome, "latents": self.program.latents}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def draw(self, x: Points) -> pf.Datasets:
        """Random simulations, at the components that x names.

        A component that is asked about again is that of another simulation: a network would learn to repeat it ever
        more exactly, and its loss would be that alone.
        """
        rows, others = torch.randint(len(self.y), (2, len(x)))
        index, components = x[..., 0].long(), self.y.shape[1]
        first, again = index[:, :components], index[:, components:]
        y = torch.cat([self.y[rows].gather(1, first), self.y[others].gather(1, again)], dim=1)
        return pf.Datasets(x, y.to(x.dtype), latents={name: value[rows] for name, value in self.values.items()})

    def shown(self, task: Task) -> "Simulations":
        """The same simulations as statistics, where a task has some."""
        return replace(self, y=task.shown(self.y))

    def part(self, rows: slice) -> "Simulations":
        """Some of the simulations."""
        return Simulations(self.program, self.y[rows], {name: value[rows] for name, value in self.values.items()})


def simulated(task: Task, count: int, chunk: int = 16_384) -> Simulations:
    """Draw so many simulations, each with all components once."""
    order = torch.arange(task.components).float()[:, None]
    drawn = [task.prior.draw(order.expand(min(chunk, count - start), -1, 1)) for start in range(0, count, chunk)]
    values = {name: torch.cat([each.latents[name] for each in drawn]) for name in drawn[0].latents}
    return Simulations(task.prior, torch.cat([each.y for each in drawn]), values)


def tasks(design: Float[Tensor, "bins parameters"]) -> dict[str, Task]:
    """All tasks by name; ``design`` is that of the Bernoulli regression."""
    spikes, mixing = bernoulli_glm(design)
    made = [
        Task("two_moons", program(two_moons).with_likelihood(LIKELIHOODS["two_moons"]), 2, box(-1.0, 1.0, 2)),
        Task("gaussian_linear", program(gaussian_linear), 10, gaussian(torch.eye(10) / GAUSSIAN_VARIANCE)),
        Task(
            "bernoulli_glm",
            spikes,
            len(design),
            gaussian(smooth_precision(design.shape[1])),
            file="observation_raw.csv",
            mixing=mixing,
            summary=design,
        ),
        Task("sir", program(sir), 10, log_normal([math.log(0.4), math.log(0.125)], [0.5, 0.2]), read=observed_root),
        Task("lotka_volterra", program(lotka_volterra), 20, log_normal([-0.125, -3.0] * 2, [0.5] * 4), read=torch.log),
        Task("slcp", program(slcp).with_likelihood(LIKELIHOODS["slcp"]), 8, box(-3.0, 3.0, 5)),
    ]
    return {task.name: task for task in made}


def program(prior: Prior) -> ProgramPrior:
    """The prior as one with named latents."""
    assert isinstance(prior, ProgramPrior)
    return prior


def box(low: float, high: float, size: int) -> dict[str, Any]:
    """A uniform prior as plain data."""
    return {"family": "uniform", "low": [low] * size, "high": [high] * size}


def gaussian(precision: Float[Tensor, "size size"]) -> dict[str, Any]:
    """A Gaussian prior of mean 0 as plain data."""
    return {"family": "normal", "mean": [0.0] * len(precision), "precision": precision.tolist()}


def log_normal(loc: list[float], scale: list[float]) -> dict[str, Any]:
    """Independent log-normal parameters as plain data."""
    return {"family": "lognormal", "loc": loc, "scale": scale}
