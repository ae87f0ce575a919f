"""What `bnn_time_vs_nll` compares: four Bayesian networks, and the methods with the budgets that each is given."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from bnn_results import COLLAPSED, PFN
from models import Entrant, Released, Trained, present
from study import Setup

from priorfit.baselines import CollapsedBNN
from priorfit.baselines.bnn.nuts_bnn import NutsBNN
from priorfit.baselines.bnn.svi_bnn import SviBNN
from priorfit.network import NetworkSettings
from priorfit.predictor import Predictor
from priorfit.priors import BayesianNetwork
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.training import Budget, Recipe

NUM_CONTEXT = 100
"""Context points of a dataset."""
Backend = Literal["numpyro", "pyro"]
NUTS: dict[Backend, str] = {"numpyro": "NUTS, NumPyro", "pyro": "NUTS, Pyro"}
MOST_DRAWS = 1_024
"""Most draws of a fitted guide; more would take time and change nothing."""


@dataclass(frozen=True)
class Case:
    """A prior, and how many datasets of it have a truth that can be paid for."""

    name: str
    prior: BayesianNetwork
    datasets: int


CASES = (
    Case("small", SMALL, 100),
    Case("large", LARGE, 100),
    Case("small-tanh", replace(SMALL, activation="tanh"), 30),
    Case("large-tanh", replace(LARGE, activation="tanh"), 20),
)


@dataclass(frozen=True)
class Method:
    """A predictor with a budget, and on how many datasets it is measured."""

    family: str
    budget: int
    """Steps or samples; 0 where there is no choice."""
    predictor: Callable[[], Predictor]
    datasets: int = 100
    at_once: int = 5
    """Datasets that one row holds."""
    version: str = ""
    """An identifier that changes whenever the answers do."""


Grid = tuple[tuple[int, int, int], ...]
"""For each budget, the number of all datasets and of those in a row."""
SVI: Grid = ((64, 50, 5), (256, 50, 5), (1_024, 20, 5), (4_096, 4, 1), (16_384, 1, 1))
NUMPYRO: Grid = ((4, 100, 5), (16, 100, 5), (64, 50, 5), (256, 20, 5), (1_024, 4, 1))
PYRO: Grid = ((4, 100, 1), (5, 100, 1), (8, 50, 1), (16, 20, 1), (64, 3, 1), (256, 1, 1))


def methods(setup: Setup, case: Case) -> list[Method]:
    """The methods from cheap to costly."""
    prior, seed = case.prior, setup.seed
    found = [Method(PFN, 0, model.model, 100, 100, model.fingerprint) for model in networks(setup, case)]
    if prior.activation is None:
        collapsed = CollapsedBNN(prior, setup.choose(8_192, 512), seed)
        found.append(Method(COLLAPSED, collapsed.num_samples, lambda: collapsed))
    for rate in setup.choose((1e-3, 1e-2), (1e-3,)):
        for steps, datasets, at_once in setup.choose(SVI, ((2, 2, 2), (4, 2, 1))):
            svi = SviBNN(prior, steps, min(steps, MOST_DRAWS), rate, seed)
            found.append(Method(f"SVI, learning rate {rate:g}", steps, lambda svi=svi: svi, datasets, at_once))
    grids: dict[Backend, Grid] = {"numpyro": setup.choose(NUMPYRO, ()), "pyro": setup.choose(PYRO, ((2, 2, 1),))}
    for backend, grid in grids.items():
        for samples, datasets, at_once in grid:
            nuts = NutsBNN(prior, samples, backend=backend, seed=seed)  # as many steps of warm-up as samples
            found.append(Method(NUTS[backend], samples, lambda nuts=nuts: nuts, datasets, at_once))
    return found


def networks(setup: Setup, case: Case) -> list[Entrant]:
    """The released PFN where there is one; a tiny one to try the study."""
    name, tiny = f"bnn-{case.name}", NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    recipe = Recipe(
        case.prior, num_points=NUM_CONTEXT + 1, budget=Budget(steps=2), name=name, network=tiny, seed=setup.seed
    )
    return [Trained(PFN, recipe, setup.models)] if setup.quick else present([Released(name)])
