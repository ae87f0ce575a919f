"""One training at a time in a folder, by a lock that dies with its process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from priorfit.errors import TrainingError

LOCK = ".lock"
"""The file that is locked. It stays behind, which means nothing: the system drops the lock of a process that ends."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other training out of an existing folder while this is open; refuse if one is in it."""
    with (folder / LOCK).open("a+b") as file:  # closing it gives the lock back
        if not is_taken(file):
            raise TrainingError(
                f"another training is running in {folder}. Wait until it has ended, or name another folder; nothing in "
                "it was touched."
            )
        yield


def is_taken(file: BinaryIO) -> bool:
    """Lock an open file for this process; False where somebody else has it.

    A file system that knows no locks, as some of networks, is no reason not to train.
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
