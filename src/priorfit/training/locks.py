"""One training at a time in a folder, by a lock that dies with its process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from priorfit.errors import TrainingError

LOCK = ".lock"
"""The file that is locked. It remains after a run, but the system releases the lock when the process ends."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other trainings out of an existing folder while this is open; raise if one is already there."""
    with (folder / LOCK).open("a+b") as file:  # closing the file releases the lock
        if not is_taken(file):
            raise TrainingError(
                f"another training is running in {folder}. Wait until it has ended, or name another folder; nothing in "
                "it was touched."
            )
        yield


def is_taken(file: BinaryIO) -> bool:
    """Lock an open file for this process; False where another process holds it.

    A file system without locks, as some network file systems are, does not prevent a training.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
