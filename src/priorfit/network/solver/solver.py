"""What a solver is: Bayesian inference in a family of models that is itself learned, inside the network.

A solver conditions on a context and gives a first guess for any input; the network is told of it and corrects it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution

from priorfit.errors import InputError
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.problem import Problem
from priorfit.network.solver.joint import JointNormals
from priorfit.network.units import NoUnits, Units
from priorfit.priors import Prior

if TYPE_CHECKING:
    from priorfit.network.heads.head import HeadSettings

Points = Float[Tensor, "batch points features"]
Targets = Num[Tensor, "batch points"]

NO_POINTS = (
    "leaving points out needs the points of the context, and this posterior keeps what it needs for predictions alone: "
    "it was read from a file, or points were added to it. Condition on all points anew."
)


@dataclass(frozen=True)
class FirstGuess:
    """What a solver says about points, in the network's units of y.

    ``ppd`` is a Normal, a NormalMixture or a Categorical of batch shape (batch, points); ``features`` are the numbers
    that tokens are told of it, in the dtype of the weights.
    """

    ppd: Distribution
    features: Float[Tensor, "batch points numbers"]

    def surprise(self, y: Targets) -> Float[Tensor, "batch points"]:
        """How far targets lie from the guess, between -1 and 1."""
        return surprise(self.ppd, y).to(self.features.dtype)


@singledispatch
def surprise(ppd: Distribution, y: Targets) -> Float[Tensor, "batch points"]:
    """Residuals in standard deviations of a distribution over reals, squashed to (-1, 1)."""
    return torch.tanh((y - ppd.mean) / ppd.stddev / 3)


@surprise.register(Categorical)
def _class_surprise(ppd: Categorical, y: Targets) -> Float[Tensor, "batch points"]:
    """Label minus probability of class 1 for two classes; for more, the probability of all other classes."""
    probs = ppd.probs
    if probs.shape[-1] == 2:
        return y - probs[..., 1]
    return 1 - probs.gather(-1, y.long()[..., None])[..., 0]


class Solved(ABC):
    """What a solver keeps of a context."""

    @property
    @abstractmethod
    def log_evidence(self) -> Float[Tensor, " batch"]:
        """The log marginal likelihood of the context's targets under the family, up to a constant."""

    @abstractmethod
    def predict(self, x: Points) -> FirstGuess:
        """The first guess for queries."""

    @abstractmethod
    def leave_one_out(self) -> FirstGuess:
        """For each point of the context, the guess from all of its other points."""

    def joint(self, x: Points) -> JointNormals | None:
        """The joint Gaussian of a function of reals over queries, without noise; None where the family has none.

        ``x`` may hold several sets of queries, one set of all datasets after the other; each set has its own joint
        Gaussian.
        """
        return None

    def latent_guess(self, index: Sequence[int]) -> FirstGuess | None:
        """The first guess for some numbers of the latents, in their order; None where the family has no such latents.

        Its batch shape is (batch, numbers), in the coordinates that the network has of them.
        """
        return None

    def given(self, index: Sequence[int], numbers: Float[Tensor, "batch known"]) -> "Solved":
        """What is kept of the context together with known numbers of the latents; a family without them stays."""
        return self

    def given_draws(self, number: int, drawn: Float[Tensor, "batch draws"]) -> "Solved":
        """As `given` one number, for several draws of it: those of the first dataset, then those of the next."""
        return self

    def kept(self) -> object:
        """What a file keeps of a context: tensors in dataclasses that `Solver.resumed` takes; None: its points."""
        return None

    def with_points(self, x: Points, y: Targets) -> "Solved | None":
        """What is kept of the context and more points; None where the first points are needed again."""
        return None


class Solver(nn.Module, ABC):
    """A module that conditions on contexts; contexts are in the network's units."""

    num_numbers: int
    """How many features a first guess has."""

    guesses_latents: bool = False
    """Whether `Solved.latent_guess` knows the latents of the prior."""

    memory_per_query: int
    """How many 4-byte numbers a query takes while it is answered."""

    @abstractmethod
    def condition(self, x: Points, y: Targets) -> Solved:
        """Solve for a context; an empty one leaves the prior."""

    def resumed(self, statistics: Any) -> Solved:
        """What was kept of a context, from what `Solved.kept` gave."""
        raise InputError(f"a {type(self).__name__} keeps no statistics of a context. Condition it on the points.")

    def calibrate(self, prior: Prior, problem: Problem, units: Units | NoUnits) -> None:
        """Take from the prior's code what is not learned, before training; most families learn all of it."""
        return

    @abstractmethod
    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""


class SolverSettings(ABC):
    """The setting of a solver: a frozen dataclass; ``build`` makes the module."""

    reads_prior: ClassVar[bool] = False
    """Whether `Solver.calibrate` reads the prior's code, so that the network answers before it is trained."""

    evidence_weight: float
    """Weight of minus the context's log evidence per point in the loss. By the chain rule it is the family's own loss
    on every point given those before it."""

    @abstractmethod
    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """The module; ``encoder`` is the network's own encoder of x."""

    @abstractmethod
    def output_for(self, problem: Problem, output: "HeadSettings | None") -> "HeadSettings":
        """The head that corrects the guesses: ``output`` where it can, or an error that says why not."""


def linear_maps(module: nn.Module) -> Iterable[nn.Parameter]:
    """The matrices of a module."""
    return [weight for weight in module.parameters() if weight.ndim == 2]
