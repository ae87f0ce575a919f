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
from priorfit.integrations.botorch_search import best_point
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
    from botorch.models.model import Model as BotorchModel
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf, optimize_acqf_discrete
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

Outcomes = Float[Tensor, "points 1"]

RESTARTS, RAW, STEPS, DRAWS = 4, 128, 50, 128
"""Starts and raw samples of `optimize_acqf`, its most steps, and draws of Monte Carlo."""
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
    """BoTorch's `SingleTaskGP`, fitted anew at each step, with its own defaults, and qLogNEI by `optimize_acqf`."""

    name: str = "SingleTaskGP"

    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """See `Method.propose`."""
        sampler = SobolQMCNormalSampler(torch.Size([DRAWS]))
        acquisition = qLogNoisyExpectedImprovement(fitted_process(objective, x, y), x, sampler=sampler)
        rows = free_rows(objective, x)
        if rows is not None:
            return optimize_acqf_discrete(acquisition, q=q, choices=rows[:MOST_CANDIDATES])[0]
        options: dict[str, bool | float | int | str] = {"maxiter": STEPS}
        found, _ = optimize_acqf(
            acquisition, objective.bounds, q, RESTARTS, raw_samples=RAW, options=options, sequential=q > 1
        )
        return found.detach()


class Believer(Method):
    """LogEI over the best evaluation by `best_point`.

    Several points are chosen one after the other; the model sees those before with the values that it expects there
    (the kriging believer), which is cheaper than the Monte Carlo form over all of them.
    """

    @abstractmethod
    def conditioned(self, objective: Objective, x: Points, y: Outcomes) -> BotorchModel:
        """The model after the evaluations so far."""

    def propose(self, objective: Objective, x: Points, y: Outcomes, q: int) -> Points:
        """See `Method.propose`."""
        model, seen = self.conditioned(objective, x, y), len(x)
        while True:
            acquisition = LogExpectedImprovement(model, best_f=y.max())
            x = torch.cat([x, best_of(acquisition, objective, x)])
            if len(x) == seen + q:
                return x[seen:]
            with torch.no_grad():
                expected = model.posterior(x[-1:]).mean  # pyright: ignore[reportAttributeAccessIssue]: both kinds have it
            model, y = model.condition_on_observations(x[-1:], expected), torch.cat([y, expected])


@dataclass(frozen=True)
class Network(Believer):
    """A network by `PFNModel`: nothing is fitted."""

    name: str
    model: Model

    def conditioned(self, objective: Objective, x: Points, y: Outcomes) -> BotorchModel:
        """See `Believer.conditioned`."""
        return PFNModel(self.model, x, y, bounds=objective.bounds)


@dataclass(frozen=True)
class BelievedProcess(Believer):
    """`SingleTaskGP`, fitted anew at each step, with the acquisition and the search of the network: what they gain."""

    name: str = "SingleTaskGP, LogEI"

    def conditioned(self, objective: Objective, x: Points, y: Outcomes) -> BotorchModel:
        """See `Believer.conditioned`."""
        model = fitted_process(objective, x, y)
        with torch.no_grad():
            model.posterior(x[:1])  # BoTorch adds evaluations to models that have answered once
        return model


def fitted_process(objective: Objective, x: Points, y: Outcomes) -> SingleTaskGP:
    """A Gaussian process whose hyper-parameters are fitted to the evaluations so far."""
    scaled = Normalize(x.shape[-1], bounds=objective.bounds)
    model = SingleTaskGP(x, y, outcome_transform=Standardize(1), input_transform=scaled)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def best_of(acquisition: AcquisitionFunction, objective: Objective, x: Points) -> Points:
    """The point with the best acquisition, or the row of a table that was not asked yet."""
    rows = free_rows(objective, x)
    if rows is not None:
        return optimize_acqf_discrete(acquisition, q=1, choices=rows[:MOST_CANDIDATES])[0]
    return best_point(acquisition, objective.bounds, seed=int(torch.randint(2**31, ())))[0]


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
