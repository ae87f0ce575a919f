"""What `fit` makes of a simulator: its law is learned from draws, and cells are read off it."""

import time
from dataclasses import replace

from priorfit.network import PFN, Model, NetworkSettings
from priorfit.network.solver.grids import NODES
from priorfit.training.defaults import LAYERS_BEHIND_CELLS, cell_solver, default_data, default_optimiser
from priorfit.training.laws.contradiction import CONTRADICTED, contradiction
from priorfit.training.laws.learned import LearnedLaw, is_learnable, learned_law
from priorfit.training.networks import start_network
from priorfit.training.progress import Display
from priorfit.training.recipe import Budget, Recipe

SHARE, FEWEST_SECONDS, MOST_SHARE = 0.15, 5.0, 0.5
"""Share of a budget in which a law is learned, at least so many seconds of it, and at most so much of a short one."""

FEWEST_MINUTES = 1e-3
"""What is left to train for, however long all before it took."""


def by_learned_law(recipe: Recipe, display: Display) -> tuple[Recipe, Model | None]:
    """The recipe with cells that are read off a learned law, and the network that answers by them.

    Where there is no such law the network is None, and the recipe has what is left of its minutes.
    """
    prior, minutes = recipe.prior, recipe.budget.minutes
    assert minutes is not None
    if not is_learnable(prior) or prior.num_features not in NODES:
        return recipe, None
    started = time.perf_counter()
    law = learned_law(prior, share_of(60 * minutes) * 60 * minutes, recipe.seed)
    solver = cell_solver(law) if law.factorises else None
    if solver is None:
        display.announce(f"{recipe.name}: {reason(law)}")
        return left_of(recipe, time.perf_counter() - started), None
    network = NetworkSettings(layers=LAYERS_BEHIND_CELLS, solver=solver)
    data, optimiser = default_data(network, recipe.data.targets), default_optimiser(network, recipe.optimiser)
    told = replace(recipe, network=network, data=data, optimiser=optimiser)
    model = start_network(replace(told, prior=law), None)
    assert isinstance(model, PFN)
    worst = contradiction(model, prior, recipe.num_points, recipe.seed)
    if worst > CONTRADICTED:
        display.announce(
            f"{recipe.name}: cells on a law that was learned from draws are contradicted by new draws, one of which is "
            f"e^{worst:.0f} times less likely than before its data, so candidates race."
        )
        return left_of(recipe, time.perf_counter() - started), None
    model.card = replace(model.card, name=recipe.name, training={"law": law.record})
    display.announce(
        f"{recipe.name}: learned the law of its targets given latents from draws, and laid {solver.cells} cells."
    )
    return left_of(told, time.perf_counter() - started), model


def share_of(seconds: float) -> float:
    """The share of a budget in which a law is learned.

    >>> share_of(180.0), share_of(20.0), share_of(4.0)
    (0.15, 0.25, 0.5)
    """
    return min(MOST_SHARE, max(SHARE, FEWEST_SECONDS / seconds))


def reason(law: LearnedLaw) -> str:
    """Why no cells are read off a law."""
    if law.factorises:
        return "its law is too rough for cells, so candidates race."
    return (
        f"another point of a dataset tells {law.told:.2g} nats of a point whose latents are known, so no product over "
        "points is its likelihood, and candidates race. Name what joins the points as a latent, if it can be named."
    )


def left_of(recipe: Recipe, seconds: float) -> Recipe:
    """The recipe with what is left of its minutes."""
    assert recipe.budget.minutes is not None
    return replace(recipe, budget=Budget(minutes=max(FEWEST_MINUTES, recipe.budget.minutes - seconds / 60)))
