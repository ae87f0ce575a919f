"""Where the command line writes: answers to standard output, everything else to standard error."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from priorfit.training import Interrupted

answers = Console()
errors = Console(stderr=True)


@contextmanager
def readable_interruption() -> Iterator[None]:
    """A stopped run is one line and the exit code of Ctrl-C."""
    try:
        yield
    except Interrupted as stop:
        errors.print(f"[yellow]{stop}[/]", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
