"""The commands as typer sees them. A command's own file, and with it torch, is imported when the command is called."""

from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Annotated, Any, cast

import typer
from rich.markup import escape
from typer.core import TyperGroup
from typer.main import get_command

from priorfit.cli.terminal import errors, leaving_at_once, say
from priorfit.errors import PriorfitError

COMMANDS = {
    "quickstart": "Fit a network to a Gaussian process, compare it with the exact posterior, write a picture.",
    "train": "Train a network by a recipe, or fine-tune a model on tasks; under torchrun, on several processes.",
    "check": "Look for the usual faults of a prior of your own: FILE.py:NAME.",
    "fit": "Condition a model on the rows of a CSV file, once; `predict FOLDER new.csv` then answers at once.",
    "predict": "Predict the rows of a CSV file whose target is empty; the other rows are the context.",
    "models": "List the released models.",
    "verify": "Is a model's posterior right? Calibration, gap to the exact answer, and what must not matter.",
    "demo": "Open a live page: drag points, and see a network's posterior beside the exact one.",
    "export": "Write a page that runs these models in the browser without a server, or one model as an ONNX graph.",
}
"""The first line of each command's docstring, for the list of commands, which must not import them."""

UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # typer does not export it

OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "Storage size calculation overflowed")
"""Parts of the messages by which torch, in a bare RuntimeError, reports that memory ran out."""


class LateCommands(TyperGroup):
    """Commands of which only the one that is called is imported; the others are known by name and summary."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the first argument names, with all its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else imported(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Import and run the command; Ctrl-C, during either, is one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # typer would end without a word
            say("stopped by Ctrl-C.")
            raise typer.Exit(130) from None


def imported(name: str) -> Any:
    """The command of this name, from the file of this name."""
    alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    with leaving_at_once():
        alone.command(name)(getattr(import_module(f"priorfit.cli.{name}"), name))
    return get_command(alone)


def summary() -> None:
    """A placeholder for a command that is not imported yet."""


app = typer.Typer(
    cls=LateCommands,
    help="Turn any prior you can sample from into a network that does Bayesian inference in one forward pass.",
    epilog="Begin with: priorfit quickstart. More on a command: priorfit COMMAND --help. "
    "Completion by the Tab key: priorfit --install-completion, then open a new shell.",
    pretty_exceptions_enable=False,
)
for command, help in COMMANDS.items():
    app.command(command, help=help)(summary)


def show_version(is_asked: bool) -> bool:
    """Print the version and stop."""
    if is_asked:
        typer.echo(f"priorfit {installed_version('priorfit')}")
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


def execute(arguments: list[str]) -> int:
    """Run a command and return its exit code; an error is one line, or is raised with ``--debug``."""
    rest = [argument for argument in arguments if argument != "--debug"]  # before or behind the command
    try:
        return app(rest or ["--help"], prog_name="priorfit", standalone_mode=False) or 0
    except (PriorfitError, OSError, MemoryError, UnicodeError, UsageError, RuntimeError) as error:
        if len(rest) < len(arguments) or not is_of_a_user(error):
            raise
        errors.print(f"[bold red]error:[/] {escape(sentence(error))}", highlight=False, soft_wrap=True)
        return 2 if isinstance(error, UsageError) else 1


def is_of_a_user(error: Exception) -> bool:
    """Whether users can cause or meet the error; any other RuntimeError is a bug, and its trace is shown."""
    is_ours = isinstance(error, PriorfitError | OSError | UnicodeError | UsageError)
    return is_ours or is_out_of_memory(error)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def sentence(error: Exception) -> str:
    """An error on one line; a wrong call also says where to look."""
    if isinstance(error, UsageError):
        message = cast(typer.BadParameter, error).format_message()
        return f"{message.rstrip('.')}. See priorfit --help, or --help behind a command."
    text = " ".join(str(error).split())
    if is_out_of_memory(error) and not isinstance(error, PriorfitError):
        return (
            f"not enough memory: use smaller sizes, such as num_points, batch_size or width. ({text or 'no details'})"
        )
    return text
