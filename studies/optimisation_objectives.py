"""The objectives of `bayesian_optimisation`: functions of the literature, and columns of real tables.

All are maximised. A `Table` can be asked at its own rows alone; its columns are scaled to [0, 1].
"""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # of linear_operator
    from botorch.test_functions import Ackley, Branin, Hartmann, Rosenbrock, StyblinskiTang, SyntheticTestFunction

Points = Float[Tensor, "points columns"]


class Objective(ABC):
    """Something to be maximised over a box."""

    name: str

    @property
    @abstractmethod
    def bounds(self) -> Float[Tensor, "2 columns"]:
        """The box."""

    @property
    @abstractmethod
    def best(self) -> float:
        """The largest value there is."""

    @property
    def candidates(self) -> Points | None:
        """The points that may be asked, where they are finitely many."""
        return None

    @abstractmethod
    def values(self, x: Points) -> Float[Tensor, "points 1"]:
        """The objective at points."""


@dataclass(frozen=True)
class Function(Objective):
    """A function of the literature."""

    name: str
    function: SyntheticTestFunction

    @property
    def bounds(self) -> Float[Tensor, "2 columns"]:
        """See `Objective.bounds`."""
        return torch.as_tensor(self.function.bounds).double()

    @property
    def best(self) -> float:
        """See `Objective.best`."""
        return float(self.function.optimal_value)

    def values(self, x: Points) -> Float[Tensor, "points 1"]:
        """See `Objective.values`."""
        return self.function(x)[:, None]


@dataclass(frozen=True)
class Table(Objective):
    """The target of a real table, looked up at its rows by some columns; rows with gaps are left out."""

    name: str
    file: Path
    columns: tuple[str, ...]

    @cached_property
    def _rows(self) -> tuple[Points, Float[Tensor, "rows 1"]]:
        frame = pd.read_csv(self.file)[[*self.columns, "target"]].dropna()
        numbers = torch.tensor(frame.to_numpy(dtype="float64"))
        x, y = numbers[:, :-1], numbers[:, -1:]
        return (x - x.amin(0)) / (x.amax(0) - x.amin(0)), y

    @property
    def bounds(self) -> Float[Tensor, "2 columns"]:
        """See `Objective.bounds`."""
        return torch.tensor([[0.0] * len(self.columns), [1.0] * len(self.columns)], dtype=torch.float64)

    @property
    def best(self) -> float:
        """See `Objective.best`."""
        return float(self._rows[1].max())

    @property
    def candidates(self) -> Points:
        """See `Objective.candidates`."""
        return self._rows[0]

    def values(self, x: Points) -> Float[Tensor, "points 1"]:
        """See `Objective.values`: the target of the first row with these columns."""
        rows, targets = self._rows
        return targets[torch.cdist(x, rows).argmin(1)]


def functions() -> list[Objective]:
    """The six functions of the study, in float64."""
    made = {
        "Branin 2": Branin(negate=True),
        "Hartmann 3": Hartmann(dim=3, negate=True),
        "Hartmann 6": Hartmann(dim=6, negate=True),
        "Ackley 5": Ackley(dim=5, negate=True),
        "Rosenbrock 4": Rosenbrock(dim=4, negate=True),
        "Styblinski-Tang 5": StyblinskiTang(dim=5, negate=True),
    }
    return [Function(name, function.double()) for name, function in made.items()]


def tables(folder: Path) -> list[Objective]:
    """Two objectives from the development tables: miles per gallon of cars, and the reach of a robot's arm.

    The arm has eight joints, of which six are shown: the others are noise to the optimiser.
    """
    development = folder / "development"
    cars = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "model")
    joints = tuple(f"theta{i}" for i in range(3, 9))
    return [
        Table("auto-mpg", development / "auto-mpg.csv.gz", cars),
        Table("kin8nm", development / "kin8nm.csv.gz", joints),
    ]
