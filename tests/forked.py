"""Python in a process of its own without the wait for torch: forked from a server that has loaded it."""

import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

LOADED = ("torch", "numpy", "safetensors.torch", "jaxtyping", "rich.console", "rich.progress", "typer")
"""What the server imports, once for all tests of a worker. It is nothing of priorfit, and no extra: a child imports
those as a fresh interpreter would."""

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
SERVER: Any = multiprocessing.get_context(METHOD)
SERVER.set_forkserver_preload(list(LOADED))

COMMAND_LINE = "from priorfit.cli.main import run; run()"


class Forked:
    """Code that runs in another process, with arguments and changes of the environment."""

    def __init__(self, folder: Path, code: str, arguments: tuple[object, ...], environment: dict[str, str]) -> None:
        self._files = (folder / "stdout", folder / "stderr")
        words = [str(argument) for argument in arguments]
        self._process = SERVER.Process(target=live, args=(code, words, environment, *map(str, self._files)))
        self._process.start()

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the code runs."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, as Ctrl-C does."""
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Kill the process in the midst of whatever it does, and wait for its end."""
        self._process.kill()
        self._process.join(60)

    def said(self) -> list[str]:
        """What was written to standard output and to standard error so far."""
        return [file.read_text(encoding="utf-8") if file.exists() else "" for file in self._files]

    def wait_for(self, what: Any, seconds: float = 90) -> Any:
        """The first value of a function that is true; the process must not end before."""
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert self.poll() is None and time.monotonic() < deadline, f"it ended or stalled: {self.said()}"
            time.sleep(0.005)
        return found

    def finish(self, seconds: float = 90) -> "CompletedProcess[str]":
        """Wait for the end."""
        self._process.join(seconds)
        code = self.poll()
        assert code is not None, f"it does not end: {self.said()}"
        return CompletedProcess([], code, *self.said())


@contextmanager
def forked(code: str, *arguments: object, **environment: str) -> Iterator[Forked]:
    """Start code in a process of its own; behind the block it is dead."""
    with tempfile.TemporaryDirectory() as folder:
        process = Forked(Path(folder), code, arguments, environment)
        try:
            yield process
        finally:
            process.kill()


def run_forked(code: str, *arguments: object, **environment: str) -> "CompletedProcess[str]":
    """Run code in a process of its own to its end."""
    with forked(code, *arguments, **environment) as process:
        return process.finish()


def live(code: str, arguments: list[str], environment: dict[str, str], out: str, err: str) -> None:
    """What the child does."""
    os.environ.update(environment)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8") for number in (1, 2))
    sys.argv = ["-c", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test that runs in the background ignores Ctrl-C
    try:
        exec(compile(code, "<forked>", "exec"), {"__name__": "__main__"})
    except Exception:
        traceback.print_exc()  # as an interpreter would, without the words that multiprocessing puts before
        sys.exit(1)
