"""Where the command line writes: answers to standard output, everything else to standard error."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

answers = Console()
errors = Console(stderr=True)


def say(words: str) -> None:
    """Write one line about the progress to standard error."""
    errors.print(words, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def loading() -> Iterator[None]:
    """Show a temporary line on a terminal while torch is imported, which takes seconds."""
    with errors.status("loading torch ..."), leaving_at_once():
        yield


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """During imports Ctrl-C ends the process with one line; an exception inside torch's own start would abort it."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def leave(*_: object) -> None:
    """End the process now with the exit code of Ctrl-C; no file is open yet."""
    errors.show_cursor(True)
    sys.stderr.write("stopped by Ctrl-C.\n")
    sys.stderr.flush()
    os._exit(130)


@contextmanager
def readable_interruption() -> Iterator[None]:
    """Turn an interrupted run into one line and the exit code of Ctrl-C."""
    from priorfit.training import Interrupted  # imports torch

    try:
        yield
    except Interrupted as stop:
        errors.print(f"[yellow]{stop}[/]", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None
