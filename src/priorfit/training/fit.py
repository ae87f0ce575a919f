"""From a prior to a posterior, in one call."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from priorfit.errors import InputError
from priorfit.network import PFN, Model, NetworkSettings
from priorfit.paths import usable_path
from priorfit.priors import Prior
from priorfit.training.closing import close
from priorfit.training.defaults import candidates, default_data, default_optimiser, suggested_network
from priorfit.training.judge import kept_best
from priorfit.training.laws.reading import by_learned_law
from priorfit.training.loop import RunOptions
from priorfit.training.progress import Display, Silent
from priorfit.training.quality import FIRST_MINUTES, Aim, trained_until
from priorfit.training.race import race
from priorfit.training.recipe import Budget, DataSettings, Recipe, file_name, recipe_from
from priorfit.training.resume import RunFolder
from priorfit.training.stages import train

MOST_MINUTES = 30.0
"""The longest training for a gap, where no minutes are given."""

PLACEHOLDER = {"type": "BetaBernoulli"}
"""A prior that can be described: that of the user may be a function, which a file does not hold."""


def fit(  # noqa: PLR0913  the ten lines of a user's script name what matters to them
    prior: Prior,
    *,
    num_points: int = 100,
    minutes: float | None = None,
    steps: int | None = None,
    gap: float | None = None,
    seed: int = 0,
    targets: Literal["sampled", "expected"] = "sampled",
    network: NetworkSettings | Literal["auto"] = "auto",
    progress: bool = True,
    folder: str | Path | None = None,
    resume: bool = False,
    device: str | None = None,
) -> PFN:
    """Train a network on datasets of a prior; more settings live in a `Recipe` (see `train`).

    Args:
        prior: Any prior; write one with ``@priorfit.prior``.
        num_points: N: contexts of 0 to N - 1 points are trained.
        minutes: The training budget; 2 where neither minutes nor steps are given.
        steps: The training budget as a number of steps, for a result that does not depend on the machine's speed.
        gap: Train until the gap to the truth is surely below so many nats on new datasets, in rounds that double the
            time, with ``minutes`` (by default 30) as the most; a `GapWarning` says how far it is otherwise.
        seed: Decides data and initial weights.
        targets: ``"expected"`` takes the expectation over y where the prior knows it: the same aim, less noise.
        network: Size and parts of the network. By default it is what suits the prior (`suggested_network`); where
            nothing is known of the prior and the budget is in minutes, candidates race for a share of it.
        progress: Show a line with loss, gap and time left.
        folder: Save checkpoints and metrics here, so that a stopped run can go on; with ``gap`` the model alone.
        resume: Go on with the run in the folder, which the same call started; it ends in the same weights.
        device: Such as ``"cuda"``; by default a GPU where there is one.

    >>> import priorfit as pf
    >>> model = pf.fit(pf.GaussianProcess(), num_points=10, steps=2, progress=False)
    >>> model.card.trained_context
    (0, 9)
    """
    check_takes(prior)
    check_network(network)
    aim = None if gap is None else aim_of(gap, minutes, steps, resume)
    if minutes is None and steps is None:
        minutes = FIRST_MINUTES
    recipe = Recipe(
        prior=prior,
        num_points=num_points,
        budget=Budget(steps=steps, minutes=minutes if aim is None else min(aim.minutes, FIRST_MINUTES)),
        name=file_name(str(getattr(prior, "name", type(prior).__name__))),
        seed=seed,
        data=DataSettings(targets=targets),
    )
    options = RunOptions(None if folder is None else usable_path(folder), resume, device)
    display = screen() if progress else Silent()
    begun = None if options.folder is None or not resume else RunFolder(options.folder)
    recipe, start = as_begun(recipe, begun) if begun and begun.holds_run() else prepared(recipe, network, display)
    told = (recipe, options, display, start)
    model = train(*told, kept_best(recipe)) if aim is None else trained_until(*told, aim)
    if aim is None:
        close(model.card, display)
    return bound(model, prior)


def bound(model: Model, prior: Prior) -> PFN:
    """A network with the prior that it was trained on, and what trains it further."""
    assert isinstance(model, PFN)
    model.prior, model.more = prior, fit_more
    return model


def aim_of(gap: float, minutes: float | None, steps: int | None, resume: bool) -> Aim:
    """What a training by its gap aims at."""
    if steps is not None:
        raise InputError(f"a training by its gap has no fixed number of steps; got gap={gap} and steps={steps}.")
    if resume:
        raise InputError(
            "a training by its gap keeps no checkpoints to resume; go on with model.fit_more(minutes=...)."
        )
    return Aim(float(gap), MOST_MINUTES if minutes is None else minutes)


def fit_more(model: Model, minutes: float | None, steps: int | None) -> Model:
    """See `Model.fit_more`: the recipe on the model's card, with a new budget, seed and the prior that is bound."""
    if (minutes is None) == (steps is None):
        raise InputError(f"fit_more needs minutes or steps; got minutes={minutes}, steps={steps}.")
    assert model.prior is not None
    told = recipe_from({**model.card.recipe, "prior": PLACEHOLDER, "stages": None})
    recipe = replace(told, prior=model.prior, budget=Budget(steps=steps, minutes=minutes), seed=told.seed + 1)
    longer = train(recipe, RunOptions(), Silent(), model, kept_best(recipe))
    return bound(longer, model.prior)


def check_takes(prior: object) -> None:
    """Refuse what is no prior, and a prior whose batches differ in the number of columns."""
    if not isinstance(prior, Prior):
        raise InputError(
            f"fit takes a prior; got {type(prior).__name__}. Decorate a function that draws targets with "
            "@priorfit.prior(num_features=...)."
        )
    if prior.fewest_features is not None:
        raise InputError(
            f"fit builds networks for a fixed number of columns, and batches of {prior} differ in it. Use "
            "train(Recipe(prior, ..., network=TableSettings()))."
        )


def check_network(network: object) -> None:
    """Refuse what is neither settings nor the word for a choice."""
    if network != "auto" and not isinstance(network, NetworkSettings):
        raise InputError(f'network must be "auto" or a NetworkSettings; got {network!r}.')


def prepared(
    recipe: Recipe, network: NetworkSettings | Literal["auto"], display: Display
) -> tuple[Recipe, Model | None]:
    """The recipe with its network chosen, and the network to go on from where draws or a race chose it."""
    prior, targets = recipe.prior, recipe.data.targets
    settings = suggested_network(prior) if network == "auto" else network
    if settings is None and recipe.budget.minutes is None:
        settings = NetworkSettings()  # a budget in steps has no clock to share
    if settings is not None:
        data, optimiser = default_data(settings, targets), default_optimiser(settings, recipe.optimiser)
        return replace(recipe, network=settings, data=data, optimiser=optimiser), None
    recipe, start = by_learned_law(recipe, display)
    return (recipe, start) if start is not None else raced(recipe, display)


def raced(recipe: Recipe, display: Display) -> tuple[Recipe, Model]:
    """The recipe of the network that won a race, and that network, with what is left of the clock."""
    assert recipe.budget.minutes is not None
    seconds = 60 * recipe.budget.minutes
    found = race(recipe, candidates(recipe.prior), seconds)
    display.announce(f"{recipe.name}: {found}")
    left = max(0.1, 1 - found.seconds / seconds)
    return replace(found.winner.recipe, budget=Budget(minutes=left * recipe.budget.minutes)), found.winner.network


def as_begun(recipe: Recipe, folder: RunFolder) -> tuple[Recipe, None]:
    """The recipe with the network, the data and the budget of the run in a folder: a race may have chosen them."""
    begun = {**recipe.description(), **{name: folder.recipe().get(name) for name in ("network", "data", "budget")}}
    chosen = recipe_from({**begun, "prior": PLACEHOLDER})
    return replace(recipe, network=chosen.network, data=chosen.data, budget=chosen.budget), None


def screen() -> Display:
    """The display of a run for the caller of `fit`."""
    from rich.console import Console

    from priorfit.training.displays import display_for

    return display_for(Console(stderr=True))
