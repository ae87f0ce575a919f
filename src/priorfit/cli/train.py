"""``priorfit train`` of a recipe, of a prior of one's own (FILE.py:NAME), or of a model on tasks (--from, --tasks)."""

from pathlib import Path
from typing import Annotated, Any

import typer

from priorfit.cli.arguments import beginning_with, is_prior, prior_at

MINUTES = 3.0
"""The budget of a prior or of tasks where none is named."""


def train(  # noqa: PLR0913  one argument an option
    recipe: Annotated[
        str | None, typer.Argument(help="A TOML file, as recipes/ holds them, or a prior of your own: FILE.py:NAME.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="The run's folder; by default runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", help="Start from a model's weights: a name or a path.", autocompletion=beginning_with),
    ] = None,
    tasks: Annotated[
        Path | None,
        typer.Option(help="Fine-tune the model of --from on this folder: *.csv, or images in GROUP/CLASS/*.png."),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Such as cpu or cuda:1.")] = None,
    checkpoint_seconds: Annotated[float, typer.Option(help="How often the run is saved.")] = 120.0,
    workers: Annotated[int, typer.Option(help="Background processes that draw the prior; 0: this one does.")] = 0,
    minutes: Annotated[
        float | None,
        typer.Option(help="The budget, for a prior or tasks of your own; by default 3, and with --gap at most 30."),
    ] = None,
    gap: Annotated[
        float | None, typer.Option(help="Train a prior of your own until the gap to the truth is below so many nats.")
    ] = None,
    num_points: Annotated[int, typer.Option(help="Points of a dataset, for a prior of your own.")] = 100,
) -> None:
    """Train a network by a recipe, or fine-tune a model on tasks; under torchrun, on several processes."""
    from priorfit.cli.terminal import answers, errors, loading, readable_interruption

    with loading():
        from priorfit import training
        from priorfit.training.closing import close
        from priorfit.training.displays import display_for
        from priorfit.training.recipe import file_name
        from priorfit.zoo import load

    check_choice(recipe, tasks, start, gap)
    budget = MINUTES if minutes is None and gap is None else minutes
    if tasks is not None:
        assert start is not None
        model = load(start)
        place = folder or Path("runs") / f"{model.card.name}-tuned"
        with readable_interruption():
            training.finetune(model, tasks, minutes=budget or MINUTES, folder=place, resume=resume, device=device)
    elif recipe is not None and is_prior(recipe):
        prior = prior_at(recipe)
        place = folder or Path("runs") / file_name(recipe.rpartition(":")[-1])
        with readable_interruption():
            where: dict[str, Any] = {"folder": place, "resume": resume, "device": device}
            training.fit(prior, num_points=num_points, minutes=budget, gap=gap, **where)
    else:
        assert recipe is not None
        settings = training.read_recipe(recipe)
        place = folder or Path("runs") / settings.name
        options = training.RunOptions(place, resume, device, checkpoint_seconds, workers, resume_by="--resume")
        with readable_interruption():
            display = display_for(errors)
            model = training.train(settings, options, display, None if start is None else load(start))
        close(model.card, display)
    answers.print(f"{place / 'model'}", highlight=False, soft_wrap=True)


def check_choice(recipe: str | None, tasks: object, start: str | None, gap: float | None) -> None:
    """Refuse options that do not go together."""
    if (recipe is None) == (tasks is None) or (tasks is not None and start is None):
        raise typer.BadParameter("give a recipe, or a model and tasks: --from MODEL --tasks FOLDER.")
    if gap is not None and (recipe is None or not is_prior(recipe)):
        raise typer.BadParameter("--gap is for a prior of your own, FILE.py:NAME; a recipe has its own budget.")
