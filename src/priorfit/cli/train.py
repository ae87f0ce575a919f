"""``priorfit train RECIPE.toml``."""

from pathlib import Path
from typing import Annotated

import typer

from priorfit.cli.arguments import beginning_with


def train(  # noqa: PLR0913  one argument an option
    recipe: Annotated[Path, typer.Argument(help="A TOML file; recipes/ holds those of the released models.")],
    folder: Annotated[Path | None, typer.Option(help="The run's folder; by default runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", help="Start from a model's weights: a name or a path.", autocompletion=beginning_with),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1.")] = None,
    checkpoint_seconds: Annotated[float, typer.Option(help="How often the run is saved.")] = 120.0,
    workers: Annotated[int, typer.Option(help="Background processes that draw the prior; 0: this one does.")] = 0,
) -> None:
    """Train a network by a recipe; under torchrun, on several processes."""
    from priorfit.cli.terminal import answers, errors, loading, readable_interruption

    with loading():
        from priorfit import training
        from priorfit.training.displays import display_for
        from priorfit.zoo import load

    settings = training.read_recipe(recipe)
    place = folder or Path("runs") / settings.name
    options = training.RunOptions(place, resume, device, checkpoint_seconds, workers, resume_by="--resume")
    with readable_interruption():
        training.train(settings, options, display_for(errors), None if start is None else load(start))
    answers.print(f"{place / 'model'}", highlight=False, soft_wrap=True)
