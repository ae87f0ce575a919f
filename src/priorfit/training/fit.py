"""From a prior to a posterior, in one call."""

from pathlib import Path
from typing import Literal

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.network import PFN, LatentRegression, NetworkSettings, Regression
from priorfit.paths import usable_path
from priorfit.priors import Prior
from priorfit.training.loop import RunOptions
from priorfit.training.progress import Display, Silent
from priorfit.training.recipe import Budget, DataSettings, Recipe, file_name
from priorfit.training.stages import train


def fit(  # noqa: PLR0913  the ten lines of a user's script name what matters to them
    prior: Prior,
    *,
    num_points: int = 100,
    minutes: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    targets: Literal["sampled", "expected"] = "sampled",
    network: NetworkSettings | None = None,
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
        seed: Decides data and initial weights.
        targets: ``"expected"`` takes the expectation over y where the prior knows it: the same aim, less noise.
        network: Size and parts of the network; by default `default_network`.
        progress: Show a line with loss, gap and time left.
        folder: Save checkpoints and metrics here, so that a stopped run can go on.
        resume: Go on with the run in the folder, which the same call started; it ends in the same weights.
        device: Such as ``"cuda"``; by default a GPU where there is one.

    >>> import priorfit as pf
    >>> model = pf.fit(pf.GaussianProcess(), num_points=10, steps=2, progress=False)
    >>> model.card.trained_context
    (0, 9)
    """
    if not isinstance(prior, Prior):
        raise InputError(
            f"fit takes a prior; got {type(prior).__name__}. Decorate a function that draws targets with "
            "@priorfit.prior(num_features=...)."
        )
    if minutes is None and steps is None:
        minutes = 2.0
    if network is None:
        network = default_network(prior)
    elif not isinstance(network, NetworkSettings):
        raise InputError(f"network must be a NetworkSettings; got {network!r}.")
    recipe = Recipe(
        prior=prior,
        num_points=num_points,
        budget=Budget(steps=steps, minutes=minutes),
        name=file_name(str(getattr(prior, "name", type(prior).__name__))),
        seed=seed,
        network=network,
        data=default_data(network, targets),
    )
    options = RunOptions(None if folder is None else usable_path(folder), resume, device)
    model = train(recipe, options, screen() if progress else Silent())
    assert isinstance(model, PFN)
    return model


def default_network(prior: Prior) -> NetworkSettings:
    """What won the pilots: a regression layer for Gaussian processes and linear models, a plain transformer for others.

    Labels are regressed on fewer features, since each needs several rounds. Kernels whose hyper-parameters are drawn
    too are a family with latents.

    >>> import priorfit as pf
    >>> default_network(pf.GaussianProcess()).regression
    Regression(features=64, heads=1, hidden=128, evidence=0.0)
    """
    if prior.regression_latents and prior.num_features == 1 and prior.inputs.range is not None:
        return NetworkSettings(layers=2, regression=LatentRegression(latents=prior.regression_latents))
    if prior.regression_heads == 0:
        return NetworkSettings()
    features, hidden = (16, 32) if isinstance(prior.outcome, Classes) else (64, 128)
    return NetworkSettings(regression=Regression(features, prior.regression_heads, hidden))


def default_data(network: NetworkSettings, targets: Literal["sampled", "expected"]) -> DataSettings:
    """What won the pilots: four n in a step for a plain transformer, else each step would pull all weights to its n.

    A regression layer knows how to answer to any n, and is better off with one.
    """
    if network.regression is None:
        return DataSettings(batch_size=16, micro_batches=4, targets=targets, one_size=False)
    return DataSettings(batch_size=64, targets=targets)


def screen() -> Display:
    """What shows a run to the person who called `fit`."""
    from rich.console import Console

    from priorfit.training.displays import display_for

    return display_for(Console(stderr=True))
