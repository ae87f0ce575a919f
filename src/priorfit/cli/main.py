"""The command line: parse, call one function, print."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

import priorfit
from priorfit.cli.models import models
from priorfit.cli.predict import predict
from priorfit.cli.quickstart import quickstart
from priorfit.cli.terminal import errors
from priorfit.cli.train import train
from priorfit.errors import PriorfitError

app = typer.Typer(
    help="Turn any prior you can sample from into a network that does Bayesian inference in one forward pass.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (quickstart, train, predict, models):
    app.command()(command)


def show_version(is_asked: bool) -> bool:
    """Print the version and stop."""
    if is_asked:
        typer.echo(f"priorfit {priorfit.__version__}")
        raise typer.Exit
    return is_asked


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole trace of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""


def run() -> None:
    """The entry point: an error of ours, of the file system or of memory is one line and a non-zero exit."""
    is_debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # before or behind the command
    try:
        app(arguments)
    except (PriorfitError, OSError, MemoryError) as error:
        if is_debug:
            raise
        errors.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
