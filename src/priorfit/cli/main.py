"""The command line: parse, call one function, print."""

import sys
from typing import Annotated, cast

import typer
from rich.markup import escape

import priorfit
from priorfit.cli.demo import demo
from priorfit.cli.models import models
from priorfit.cli.predict import predict
from priorfit.cli.quickstart import quickstart
from priorfit.cli.terminal import errors
from priorfit.cli.train import train
from priorfit.cli.verify import verify
from priorfit.errors import PriorfitError

app = typer.Typer(
    help="Turn any prior you can sample from into a network that does Bayesian inference in one forward pass.",
    epilog="Begin with: priorfit quickstart. More on a command: priorfit COMMAND --help. "
    "Completion by the Tab key: priorfit --install-completion, then open a new shell.",
    pretty_exceptions_enable=False,
)
for command in (quickstart, train, predict, models, verify, demo):
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


UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # typer does not export it


def run() -> None:
    """The entry point: every error that a user can make or meet is one line and a non-zero exit."""
    is_debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # before or behind the command
    try:
        sys.exit(app(arguments or ["--help"], prog_name="priorfit", standalone_mode=False))
    except (PriorfitError, OSError, MemoryError, UsageError) as error:
        if is_debug:
            raise
        errors.print(f"[bold red]error:[/] {escape(sentence(error))}", highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)


def sentence(error: BaseException) -> str:
    """An error on one line; a wrong call also says where to look."""
    if isinstance(error, UsageError):
        message = cast(typer.BadParameter, error).format_message()
        return f"{message.rstrip('.')}. See priorfit --help, or --help behind a command."
    return " ".join(str(error).split())
