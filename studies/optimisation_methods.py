"""The methods of `bayesian_optimisation`: how each proposes the next points."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from optimisation_objectives import Objective, Points
from torch import Tensor

from priorfit.integrations.botorch import PFNModel
from priorfit.network import Model

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # of linear_operator
    from botorch import fit_gpytorch_mll
    from botorch.acquisition import (
        AcquisitionFunction,
        LogExpectedImprovement,
        qLogNoisyExpectedImprovement,
    )
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf, optimize_acqf_discrete
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

Outcomes = Float[Tensor, "points 1"]

RESTARTS, RAW, STEPS, DRAWS = 4, 128, 50, 128
"""Starts and raw samples of the search for the best acquisition, its most steps, and draws of Monte Carlo: for all."""
MOST_CANDIDATES = 1024
"""Rows of a table that acquisition functions are evaluated at, drawn anew at each step, the same for all methods."""


class Method(ABC):
    """Proposes the next q points from the evaluations so far."""

    name: str

    @abstractmethod
    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """The next q points of the box, or rows of the table."""


@dataclass(frozen=True)
class RandomSearch(Method):
    """Uniform points."""

    name: str = "random"

    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """See `Method.propose`."""
        rows = free_rows(objective, x)
        if rows is not None:
            return rows[:q]
        lower, upper = objective.bounds
        return lower + (upper - lower) * torch.rand(q, len(lower), dtype=torch.float64)


@dataclass(frozen=True)
class GaussianProcess(Method):
    """BoTorch's `SingleTaskGP`, fitted anew at each step, with its own defaults, and qLogNEI."""

    name: str = "SingleTaskGP"

    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """See `Method.propose`."""
        columns = x.shape[-1]
        scaled = Normalize(columns, bounds=objective.bounds)
        model = SingleTaskGP(x, y, outcome_transform=Standardize(1), input_transform=scaled)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        sampler = SobolQMCNormalSampler(torch.Size([DRAWS]))
        return best_points(qLogNoisyExpectedImprovement(model, x, sampler=sampler), objective, x, q)


@dataclass(frozen=True)
class Network(Method):
    """A network by `PFNModel`, with LogEI over the best evaluation.

    Several points are chosen one after the other; the model sees those before with the values that it expects there
    (the kriging believer), which is cheaper than the Monte Carlo form over all of them.
    """

    name: str
    model: Model

    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """See `Method.propose`."""
        model = PFNModel(self.model, x, y, bounds=objective.bounds)
        for _ in range(q):
            chosen = best_points(LogExpectedImprovement(model, best_f=y.max()), objective, x, 1)
            with torch.no_grad():
                expected = model.outcome(chosen).mean
            model = model.condition_on_observations(chosen, expected)
            x, y = torch.cat([x, chosen]), torch.cat([y, expected])
        return x[-q:]


def best_points(acquisition: AcquisitionFunction, objective: Objective, x: Points, q: int) -> Points:
    """The points with the best acquisition, one after the other; rows of a table that were not asked yet."""
    rows = free_rows(objective, x)
    if rows is not None:
        return optimize_acqf_discrete(acquisition, q=q, choices=rows[:MOST_CANDIDATES])[0]
    options: dict[str, bool | float | int | str] = {"maxiter": STEPS}
    found, _ = optimize_acqf(
        acquisition, objective.bounds, q, RESTARTS, raw_samples=RAW, options=options, sequential=q > 1
    )
    return found.detach()


def free_rows(objective: Objective, x: Points) -> Points | None:
    """The rows of a table that were not asked yet, in random order; None where the objective is a function."""
    if objective.candidates is None:
        return None
    rows = objective.candidates[torch.randperm(len(objective.candidates))]
    return rows[torch.cdist(rows, x).amin(1) > 0]


@contextmanager
def without_advice() -> Iterator[None]:
    """Without BoTorch's warnings of the scale of data, of failed line searches and of numerical care."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
