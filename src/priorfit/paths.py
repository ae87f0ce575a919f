"""Paths that people pass: checked once, where they come in."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from priorfit.errors import InputError

_threads = threading.Lock()


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Around writing into a folder: other threads and processes that do so wait.

    The lock is on the folder itself and dies with its process, so that no file of it is left behind. Where the
    system locks no folders, threads alone take turns.
    """
    with _threads:
        if sys.platform == "win32":
            yield
            return
        import fcntl

        opened = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system that knows no locks
                fcntl.flock(opened, fcntl.LOCK_EX)
            yield
        finally:
            os.close(opened)


def usable_path(path: object) -> Path:
    """A path as a `Path`; what the system cannot take as one is refused, whether or not anything is there.

    >>> usable_path("runs/waves").name
    'waves'
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
        raise InputError(f"expected a path, as text or a pathlib.Path; got {path!r}.")
    try:
        found = Path(path)
        found.resolve().exists()
    except (ValueError, RuntimeError, OSError) as error:  # a null byte, a loop of links, a name too long
        raise InputError(f"{str(path)!r} cannot be used as a path: {error}.") from error
    return found
